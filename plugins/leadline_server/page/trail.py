"""The trail of a run: its events added up to what a reader wants to see. It is plain data for templates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from leadline.records import REPORT_PARTS, Event, Notice
from leadline_server.page.languages import gettext
from leadline_server.page.wording import plural, site, stage

# Calls in flight that are shown; the others are counted.
_SHOWN = 6
DOING = {
    "chat": "asking a model",
    "perform": "working",
    "search": "searching",
    "fetch": "fetching a page",
    "parse": "reading a page",
    "judge": "judging claims",
    "draw": "drawing a chart",
    "format": "writing a file",
}


@dataclass
class Step:
    """A stage: `state` is pending, started, finished, skipped or failed. `spans` are its times in seconds of work."""

    name: str
    state: str = "pending"
    times: int = 0
    spans: list[list[float]] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """How long it worked."""
        return sum(end - begin for begin, end in self.spans)

    @property
    def title(self) -> str:
        return stage(self.name)


@dataclass
class Page:
    """A source that was read; `passages` is None until it is cut."""

    id: str
    url: str
    title: str
    tier: int
    published: str = ""
    passages: int | None = None

    @property
    def site(self) -> str:
        """The name of its site; empty for a document."""
        return site(self.url)


@dataclass
class Search:
    """A query; `hits` is None while it is under way."""

    id: str
    query: str
    section: str = ""
    round: int = 0
    hits: int | None = None
    failure: str = ""
    pages: dict[str, Page] = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)


@dataclass
class Unread:
    """A page that could not be read."""

    url: str
    reason: str


@dataclass
class Failing:
    """A failure, and how often it occurred."""

    message: str
    category: str = ""
    times: int = 1


@dataclass
class Aspect:
    """A section of the plan with the searches for it; `coverage` is that of the last review, empty before it."""

    id: str
    title: str
    coverage: str = ""
    searches: list[Search] = field(default_factory=list)


@dataclass
class Trail:
    """What a run has done so far; `last` is the number of the last event."""

    last: int = -1
    steps: dict[str, Step] = field(default_factory=dict)
    sections: dict[str, Aspect] = field(default_factory=dict)
    searches: dict[str, Search] = field(default_factory=dict)
    pages: dict[str, Page] = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)
    failures: dict[str, Failing] = field(default_factory=dict)
    # Why it waits, and for how many seconds.
    waits: tuple[str, float] = ("", 0)
    tokens: int = 0
    cost: float = 0.0
    model_calls: int = 0
    round: int = 0
    # The pipeline that was chosen for the question, and why.
    route: tuple[str, str] = ("", "")
    finished: bool = False
    # Its user ended the search: stages that were refused since then did not fail.
    stopped: bool = False
    # The calls in flight: kind, and the task and provider.
    running: dict[str, tuple[str, str]] = field(default_factory=dict)
    # The text of the report that is being written: by call and section.
    drafts: dict[str, dict[str, str]] = field(default_factory=dict)
    # The ids of the sources of the passages that it cites by number.
    cited: tuple[str, ...] = ()
    # What the last review left open, where it found sources to disagree, and why no round follows.
    gaps: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    loop_end: str = ""
    # Seconds of work until the last event, without those between two sessions.
    clock: float = 0.0
    # How long runs of its pipeline take; 0 if none has ended.
    usual: float | None = None
    _since: datetime | None = None
    _before: float = 0.0

    def add(self, event: Event) -> None:
        """Add an event; events of a kind that is not known change nothing."""
        if event.seq >= 0:
            self.last = max(self.last, event.seq)
        if event.kind == "run.started" or self._since is None:
            self._since, self._before = event.time, self.clock
        self.clock = max(self.clock, self._before + (event.time - self._since).total_seconds())
        handle = getattr(self, f"_on_{event.kind.replace('.', '_')}", None)
        if handle:
            handle(event.data, event)

    @property
    def aspects(self) -> list[Aspect]:
        """The sections of the plan with their searches; the last one, without a title, has the searches for none."""
        sections = {name: replace(section, searches=[]) for name, section in self.sections.items()}
        rest = Aspect("", "")
        for search in self.searches.values():
            sections.get(search.section, rest).searches.append(search)
        return [*sections.values(), *([rest] if rest.searches else [])]

    @property
    def passages(self) -> int:
        """The number of passages of all sources."""
        return sum(page.passages or 0 for page in self.pages.values())

    @property
    def loose_pages(self) -> list[Page]:
        """Sources that belong to no known search."""
        known = {url for search in self.searches.values() for url in search.pages}
        return [page for url, page in self.pages.items() if url not in known]

    @property
    def now(self) -> list[str]:
        """What is under way."""
        return list(dict.fromkeys(gettext(DOING[kind]) + text for kind, text in self.running.values()))[:_SHOWN]

    @property
    def doing(self) -> str:
        """What is under way, in one sentence."""
        kinds = Counter(kind for kind, _ in self.running.values())
        searches, sources = plural(kinds["search"], "search", "searches"), plural(kinds["fetch"], "source")
        parts = [gettext("making %(searches)s", searches=searches)] if kinds["search"] else []
        parts += [gettext("reading %(sources)s", sources=sources)] if kinds["fetch"] else []
        text = gettext(" and ").join(parts) or (self.current.title if self.current else gettext("Going on"))
        return text[:1].upper() + text[1:]

    @property
    def waiting(self) -> str:
        """Why it waits, in one sentence."""
        text, seconds = self.waits
        return gettext(text, seconds=f"{seconds:.0f}") if text else ""

    @property
    def draft(self) -> list[tuple[str, str]]:
        """Title and text of the sections that are being written, in the order of the report."""
        texts = {section: text.strip() for parts in self.drafts.values() for section, text in parts.items()}
        known = (*REPORT_PARTS[:2], *self.sections, *REPORT_PARTS[2:])
        order = [*REPORT_PARTS[:2], *self.sections, *(name for name in texts if name not in known), *REPORT_PARTS[2:]]
        titles = {name: section.title for name, section in self.sections.items()}
        return [(titles.get(name, ""), texts[name]) for name in order if texts.get(name) and name != "keywords"]

    @property
    def current(self) -> Step | None:
        """The stage that is at work; of several the last."""
        return next((step for step in reversed(self.steps.values()) if step.state == "started"), None)

    def progress(self, now: datetime) -> tuple[int, float]:
        """Return the progress in percent, and the seconds that are left: 0 if it takes longer than usual or unknown."""
        seconds = self._before + (now - self._since).total_seconds() if self._since else 0.0
        if self.usual:
            return min(97, round(100 * seconds / self.usual)), max(0.0, self.usual - seconds)
        done = sum(step.state in ("finished", "failed") for step in self.steps.values())
        return round(100 * done / max(1, len(self.steps))), 0.0

    # --- events --------------------------------------------------------------------------------------------------

    def _on_run_started(self, data: Mapping[str, Any], _: Event) -> None:
        names = [str(name) for name in data.get("steps") or ()]
        self.steps = {name: self.steps.get(name, Step(name)) for name in names}
        for step in self.steps.values():
            step.state = "pending" if step.state == "started" else step.state
        self.running.clear()
        self.drafts.clear()
        self.stopped = False
        self.finished = False

    def _on_run_finished(self, _: Mapping[str, Any], __: Event) -> None:
        self.finished = True
        self.running.clear()

    def _on_progress(self, data: Mapping[str, Any], _: Event) -> None:
        step = self.steps.setdefault(str(data["step"]), Step(str(data["step"])))
        step.state = str(data["status"])
        if step.state == "started":
            step.times += 1
            step.spans.append([self.clock, self.clock])
        elif step.spans:
            step.spans[-1][1] = self.clock
        about = data.get("data") or {}
        self.round = max(self.round, int(about.get("round") or 0))
        self.loop_end = str(about.get("loop_end") or self.loop_end)
        if step.state == "failed" and self.stopped:
            step.state = "skipped"
        self.waits = "", 0

    def _on_route(self, data: Mapping[str, Any], _: Event) -> None:
        self.route = str(data["pipeline"]), str(data.get("reason", ""))
        for name in data.get("steps") or ():
            self.steps.setdefault(str(name), Step(str(name)))

    def _on_message(self, data: Mapping[str, Any], _: Event) -> None:
        if data.get("kind") == "plan":
            sections = data.get("sections") or ()
            self.sections = {
                str(section["id"]): Aspect(str(section["id"]), str(section["title"])) for section in sections
            }
        elif data.get("kind") == "learning" and (page := self.pages.get(str(data.get("source")))):
            page.passages = int(data.get("passages") or 0)
        elif data.get("kind") == "passages":
            self.cited = tuple(map(str, data.get("sources") or ()))
        elif data.get("kind") == "report" and not self.drafts:
            self.drafts["report"] = {"": str(data["text"])}

    def _on_review(self, data: Mapping[str, Any], _: Event) -> None:
        self.gaps, self.conflicts = (tuple(map(str, data.get(name) or ())) for name in ("gaps", "conflicts"))
        for review in data["sections"]:
            if section := self.sections.get(str(review["id"])):
                section.coverage = str(review["coverage"])

    def _on_query(self, data: Mapping[str, Any], _: Event) -> None:
        search = Search(str(data["id"]), str(data["query"]), str(data.get("section", "")))
        search.round = int(data.get("round") or 0)
        self.searches.setdefault(search.id, search)

    def _on_found(self, data: Mapping[str, Any], _: Event) -> None:
        if search := self.searches.get(str(data["id"])):
            search.hits, search.failure = int(data.get("hits") or 0), str(data.get("failure") or "")

    def _on_source(self, data: Mapping[str, Any], _: Event) -> None:
        url = str(data["url"])
        title, published = (str(data.get(name) or "") for name in ("title", "published"))
        page = Page(str(data.get("id", "")), url, title or url, int(data.get("tier") or 3), published)
        page = self.pages.setdefault(url, page)
        if search := self.searches.get(str(data.get("query", ""))):
            search.pages[url] = page

    def _on_unread(self, data: Mapping[str, Any], _: Event) -> None:
        unread = Unread(str(data["url"]), str(data["reason"]))
        self.unread.append(unread)
        if search := self.searches.get(str(data.get("query", ""))):
            search.unread.append(unread)

    def _on_call_started(self, data: Mapping[str, Any], _: Event) -> None:
        kind, provider = str(data.get("kind")), str(data.get("provider"))
        if kind in DOING:
            task = f" ({data['task']})" if kind == "chat" else ""
            self.running[str(data["key"])] = kind, f"{task} · {data.get('model') or provider}"
        self.drafts.pop(str(data["key"]), None)

    def _on_call_restart(self, data: Mapping[str, Any], _: Event) -> None:
        self.drafts.pop(str(data["key"]), None)

    def _on_call_delta(self, data: Mapping[str, Any], _: Event) -> None:
        for part in data.get("draft") or ():
            texts = self.drafts.setdefault(str(data["key"]), {})
            texts[str(part["section"])] = texts.get(str(part["section"]), "") + str(part["text"])

    def _on_call_finished(self, data: Mapping[str, Any], _: Event) -> None:
        self.running.pop(str(data["key"]), None)
        if data.get("outcome") != "reply":
            self.drafts.pop(str(data["key"]), None)
        self.waits = "", 0
        if data.get("kind") == "chat" and data.get("from") == "live":
            self.model_calls += 1

    def _on_call_retried(self, data: Mapping[str, Any], _: Event) -> None:
        self.waits = "A service did not answer. Trying again in %(seconds)s s.", data["seconds"]

    def _on_call_held(self, data: Mapping[str, Any], _: Event) -> None:
        self.waits = "A service is busy. Going on in %(seconds)s s.", data["seconds"]

    def _on_usage(self, data: Mapping[str, Any], _: Event) -> None:
        spent = data.get("spent") or {}
        self.tokens = int(spent.get("tokens") or self.tokens)
        self.cost = float(spent.get("money") or self.cost)

    def _on_error(self, data: Mapping[str, Any], _: Event) -> None:
        message = Notice.of(str(data["message"]), str(data.get("code", "text")), {})
        if message in self.failures:
            self.failures[message].times += 1
        else:
            self.failures[message] = Failing(message, str(data.get("category", "")))

    def _on_notice(self, data: Mapping[str, Any], _: Event) -> None:
        self.stopped = self.stopped or data.get("code") == "stopped"
