"""The desk at which tools work: what was there before, and what one exploration adds to the findings.

Everything lies in the order of the calls, whatever the order of arrival: so a resumed exploration is the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from leadline.contracts import Run
from leadline.findings import Found, Plan, PlannedSection, Query, Question, SearchTask, Unread
from leadline.records import Hit, Source
from leadline_plugins.canonical import canonical
from leadline_plugins.stages.fetch import source_id
from leadline_plugins.stages.query import fresh

_ADDRESS = re.compile(r"https?://[^\s<>\"'()\[\]（）「」]+")
_BEHIND = ".,;:!?。，、；：！？"
"""What stands behind an address in a sentence, and is no part of it."""


@dataclass
class Desk:
    """One exploration; `past`, `before` and `read_before` are the searches, results and sources of earlier rounds."""

    run: Run
    question: Question
    plan: Plan
    past: tuple[SearchTask, ...] = ()
    before: tuple[Found, ...] = ()
    read_before: tuple[Source, ...] = ()
    page: int = 4_000
    """Characters of a text that are shown at once."""
    tasks: list[SearchTask] = field(default_factory=list)
    pages: int = 0
    """Pages asked for."""
    answer: str | None = None
    """What was found out, once the model has said so."""
    missing: tuple[str, ...] = ()
    _found: dict[str, Found] = field(default_factory=dict)
    _read: dict[str, Source | Unread | None] = field(default_factory=dict)

    @property
    def untouched(self) -> bool:
        """Whether nothing was searched or read, here or in an earlier round."""
        return not (self.past or self.tasks or self.pages)

    # --- searches ---

    @property
    def searches_left(self) -> int:
        """How many searches the run may still make."""
        return self.run.settings.research.max_queries - len(self.past) - len(self.tasks)

    def task(self, query: Query) -> SearchTask | None:
        """Return the next search task, numbered at once; None for a query that was searched before."""
        known = {section.id for section in self.plan.sections}
        query = query.model_copy(update={"section": query.section if query.section in known else ""})
        new = fresh((query,), (*self.past, *self.tasks), 1)
        for task in new:
            number = self.past[-1].round + 1 if self.past else 1
            self.tasks.append(
                task.model_copy(update={"id": f"q{number}.{len(self.tasks) + 1}", "round": number}),
            )
        return self.tasks[-1] if new else None

    def keep(self, found: Found) -> None:
        """Keep what a search brought."""
        self._found[found.id] = found

    @property
    def found(self) -> tuple[Found, ...]:
        """What the searches brought, in the order in which they were asked for."""
        return tuple(self._found[task.id] for task in self.tasks if task.id in self._found)

    # --- pages ---

    @property
    def pages_left(self) -> int:
        """How many pages may still be asked for: as many as the stages `search` and `fetch` would read at most."""
        research = self.run.settings.research
        return research.max_queries * research.pages_per_query - self.pages

    def hit(self, url: str) -> tuple[Hit, str] | None:
        """Return the first result at an address, with its search task; an address of the question's own is one too.

        It is read by the address it was found by: what a model adds to it that `canonical` leaves out goes nowhere.
        """
        wanted = canonical(url)
        for found in (*self.before, *self.found):
            for hit in found.hits:
                if canonical(hit.url) == wanted:
                    return hit, found.task.id
        named = (found.rstrip(_BEHIND) for found in _ADDRESS.findall(self.question.text))
        return next(((Hit(url=own), "") for own in named if canonical(own) == wanted), None)

    def source(self, url: str) -> Source | None:
        """Return the source at an address, where it was read."""
        name = source_id(url)
        mine = self._read.get(name)
        return mine if isinstance(mine, Source) else next((one for one in self.read_before if one.id == name), None)

    def reserve(self, url: str) -> None:
        """Give a page its place among those that are read."""
        self._read.setdefault(source_id(url), None)
        self.pages += 1

    def place(self, item: Source | Unread) -> None:
        """Keep what became of a page."""
        self._read[item.id] = item

    @property
    def sources(self) -> tuple[Source, ...]:
        """The pages that were read, in the order in which they were asked for."""
        return tuple(item for item in self._read.values() if isinstance(item, Source))

    @property
    def unread(self) -> tuple[Unread, ...]:
        """The pages that could not be read."""
        return tuple(item for item in self._read.values() if isinstance(item, Unread))

    # --- what is open ---

    def open_points(self) -> Iterator[PlannedSection]:
        """Yield the sections of the plan for which nothing was read yet."""
        sections = {task.id: task.section for task in (*self.past, *self.tasks)}
        served = {sections.get(source.task_id) for source in (*self.read_before, *self.sources)}
        return (section for section in self.plan.sections if section.id not in served)
