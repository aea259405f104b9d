"""The records of replies."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from leadline.inventory import InstalledPlugin, Setting
from leadline.records import Record
from leadline.records.reports import VerdictKind
from leadline.run_summary import RunSummary
from leadline.runs import Metadata, Order, StepError
from leadline_server.board import Entry


class Links(Record):
    """The addresses of a run."""

    self: str
    events: str
    files: str

    @classmethod
    def of(cls, run_id: str) -> Links:
        """Return the links of a run."""
        top = f"/v1/runs/{run_id}"
        return cls(self=top, events=f"{top}/events", files=f"{top}/files/")


class Accepted(Record):
    """An order that was accepted: its run is found under this id from now on."""

    id: str
    links: Links


class Done(Record):
    """A request that was carried out."""

    ok: Literal[True] = True


class RunView(Record):
    """A run as of now: the fields of `metadata.json`, with links.

    `status` is also `interrupted` if the process that worked on the run is gone.
    """

    id: str
    trace_id: str
    question: str
    pipeline: str
    status: str
    reason: str = ""
    exit_code: int = 0
    began: datetime
    ended: datetime | None = None
    seconds: float = 0.0
    sessions: int = 1
    interrupted_calls: int = 0
    steps: tuple[JsonValue, ...] = ()
    current_step: str = ""
    iterations: int = 0
    choices: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    calls: dict[str, int] = {}
    usage: dict[str, JsonValue] = {}
    budget: dict[str, JsonValue] = {}
    retention: float | None = None
    citations: dict[str, JsonValue] = {}
    verification: dict[str, JsonValue] = {}
    audit: dict[str, JsonValue] = {}
    targets: dict[str, JsonValue] = {}
    files: tuple[str, ...] = ()
    errors: tuple[StepError, ...] = ()
    versions: dict[str, str] = {}
    tags: dict[str, str] = {}
    questions: tuple[JsonValue, ...] = ()
    links: Links

    @classmethod
    def of(cls, metadata: Metadata, status: str = "") -> RunView:
        """Return the view of a run. Tracebacks stay with the operator."""
        data = metadata.model_dump(mode="json", exclude={"run_id", "principal", "errors"})
        errors = tuple(error.model_copy(update={"traceback": ""}) for error in metadata.errors)
        status = status or metadata.status
        more = {"id": metadata.run_id, "status": status, "errors": errors, "links": Links.of(metadata.run_id)}
        return cls.model_validate({**data, **more})

    @classmethod
    def of_order(cls, order: Order, problem: str = "") -> RunView:
        """Return the view of a run that has no folder yet, or could not be started."""
        metadata = Metadata(
            **{name: getattr(order, name) for name in ("run_id", "trace_id", "question", "pipeline", "began", "tags")},
            status="failed" if problem else "pending",
            reason=problem,
        )
        return cls.of(metadata)


class RunItem(Record):
    """A run in a list. `excerpt` is text of the report around a word that was searched for."""

    id: str
    status: str
    question: str = ""
    pipeline: str = ""
    reason: str = ""
    began: datetime | None = None
    ended: datetime | None = None
    seconds: float = 0.0
    tags: Mapping[str, str] = {}
    excerpt: str = ""
    links: Links

    @classmethod
    def of(cls, run: RunSummary) -> RunItem:
        """Return the item of a run on disk."""
        names = ("id", "status", "question", "pipeline", "reason", "began", "ended", "seconds", "tags", "excerpt")
        return cls.model_validate({**{name: getattr(run, name) for name in names}, "links": Links.of(run.id)})

    @classmethod
    def of_entry(cls, entry: Entry) -> RunItem | None:
        """Return the item of a run that is about to start."""
        order = entry.order
        if order is None:
            return None
        links = Links.of(order.run_id)
        return cls(
            id=order.run_id,
            status="pending",
            question=order.question,
            pipeline=order.pipeline,
            began=order.began,
            tags=order.tags,
            links=links,
        )


class RunPage(Record):
    """Runs, newest first, or the best first if a text was searched for; `next` is `after` of the following page."""

    runs: tuple[RunItem, ...]
    next: str | None = None


class SourceView(Record):
    """The source of a passage."""

    id: str
    url: str
    title: str
    engine: str
    tier: int
    published: str | None = None


class VerdictView(Record):
    """The verdict on a claim that cites the passage.

    `spans` are the places of the judge's words in the text of the source: offsets in characters, end exclusive.
    """

    claim: str
    verdict: VerdictKind
    quote: str
    spans: tuple[tuple[int, int], ...] = ()
    reason: str
    confidence: float
    judge: str


class EvidenceView(Record):
    """A passage in its stored source.

    `text` is a part of the source's text that begins at character `text_begins` of `text_length`; the passage is from
    `span[0]` to `span[1]` of the whole text.
    """

    id: str
    quote: str
    span: tuple[int, int]
    path: tuple[str, ...] = ()
    page: int | None = None
    lead: str = ""
    source: SourceView
    text: str
    text_begins: int
    text_length: int
    verdicts: tuple[VerdictView, ...] = ()


class SettingsView(Record):
    """All settings by dotted key, without secrets. `changeable` are those that a request may set."""

    settings: dict[str, Setting]
    changeable: tuple[str, ...]


class PluginsView(Record):
    """The installed plugins."""

    plugins: tuple[InstalledPlugin, ...]


class Health(Record):
    """The state of the server."""

    status: Literal["ok", "ready", "closing"]


class Who(Record):
    """The principal of a request; null on a server without tokens."""

    principal: str | None


class TaskStarted(Record):
    """A task that was started."""

    task_id: str
    status: str


class TaskStatus(Record):
    """The state of a task; `progress` is the share of finished steps in percent."""

    task_id: str
    status: str
    step: str
    progress: int
    errors: tuple[str, ...] = ()
