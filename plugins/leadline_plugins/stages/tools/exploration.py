"""The state of one exploration: the findings before it, and those that it adds.

Everything is in the order of the calls, not of the arrivals, so that a resumed exploration has the same results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from leadline.contracts import StageRun
from leadline.records import Hit, Source
from leadline.research_findings import Found, Plan, PlannedSection, Query, Question, SearchTask, Unread
from leadline_plugins.canonical import canonical, source_id
from leadline_plugins.stages.query import new_tasks

_ADDRESS = re.compile(r"https?://[^\s<>\"'()\[\]（）「」]+")
# Punctuation after an address in a sentence.
_PUNCTUATION = ".,;:!?。，、；：！？"


@dataclass
class Exploration:
    """One exploration; `past`, `before` and `read_before` are the searches, results and sources of earlier rounds."""

    run: StageRun
    question: Question
    plan: Plan
    past: tuple[SearchTask, ...] = ()
    before: tuple[Found, ...] = ()
    read_before: tuple[Source, ...] = ()
    # Characters of a text that a tool returns at once.
    page: int = 4_000
    tasks: list[SearchTask] = field(default_factory=list)
    # Pages that were requested.
    pages: int = 0
    # The result, after the model has reported it.
    answer: str | None = None
    missing: tuple[str, ...] = ()
    _found: dict[str, Found] = field(default_factory=dict)
    _read: dict[str, Source | Unread | None] = field(default_factory=dict)

    @property
    def untouched(self) -> bool:
        """True if no search was made and no page read, here or in an earlier round."""
        return not (self.past or self.tasks or self.pages)

    # --- searches ---

    @property
    def searches_left(self) -> int:
        """Searches that the run may still make."""
        return self.run.settings.research.max_queries - len(self.past) - len(self.tasks)

    def add_task(self, query: Query) -> SearchTask | None:
        """Add and return the task of a query, numbered at once; None if it was searched before."""
        known = {section.id for section in self.plan.sections}
        query = query.model_copy(update={"section": query.section if query.section in known else ""})
        new = new_tasks((query,), (*self.past, *self.tasks), 1)
        for task in new:
            number = self.past[-1].round + 1 if self.past else 1
            self.tasks.append(
                task.model_copy(update={"id": f"q{number}.{len(self.tasks) + 1}", "round": number}),
            )
        return self.tasks[-1] if new else None

    def add_result(self, result: Found) -> None:
        """Add the result of a search."""
        self._found[result.id] = result

    @property
    def found(self) -> tuple[Found, ...]:
        """The results of the searches, in the order of the requests."""
        return tuple(self._found[task.id] for task in self.tasks if task.id in self._found)

    # --- pages ---

    @property
    def pages_left(self) -> int:
        """Pages that may still be requested; in total as many as the stages `search` and `fetch` would read."""
        research = self.run.settings.research
        return research.max_queries * research.pages_per_query - self.pages

    def hit(self, url: str) -> tuple[Hit, str] | None:
        """Return the first hit at an address, with the id of its task; addresses in the question are hits too.

        The page is read by the address of the hit, so that anything a model adds to it is not sent.
        """
        wanted = canonical(url)
        for result in (*self.before, *self.found):
            for hit in result.hits:
                if canonical(hit.url) == wanted:
                    return hit, result.task.id
        named = (address.rstrip(_PUNCTUATION) for address in _ADDRESS.findall(self.question.text))
        return next(((Hit(url=own), "") for own in named if canonical(own) == wanted), None)

    def source(self, url: str) -> Source | None:
        """Return the source at an address, if it was read."""
        name = source_id(url)
        item = self._read.get(name)
        if isinstance(item, Source):
            return item
        return next((source for source in self.read_before if source.id == name), None)

    def reserve_page(self, url: str) -> None:
        """Reserve the place of a page in the order of requests."""
        self._read.setdefault(source_id(url), None)
        self.pages += 1

    def add_page(self, item: Source | Unread) -> None:
        """Add the outcome of a request for a page."""
        self._read[item.id] = item

    @property
    def sources(self) -> tuple[Source, ...]:
        """The pages that were read, in the order of the requests."""
        return tuple(item for item in self._read.values() if isinstance(item, Source))

    @property
    def unread(self) -> tuple[Unread, ...]:
        """The pages that could not be read."""
        return tuple(item for item in self._read.values() if isinstance(item, Unread))

    # --- open sections ---

    def open_points(self) -> Iterator[PlannedSection]:
        """Yield the sections of the plan without a source."""
        sections = {task.id: task.section for task in (*self.past, *self.tasks)}
        served = {sections.get(source.task_id) for source in (*self.read_before, *self.sources)}
        return (section for section in self.plan.sections if section.id not in served)
