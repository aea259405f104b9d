"""The records of replies."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from pydantic import Field

from leadline.inventory import InstalledPlugin, Setting
from leadline.records import Record
from leadline.records.reports import VerdictKind
from leadline.run_summary import ACTIVE, RunSummary
from leadline.runs import Metadata, Order
from leadline_server.remedies import record_for_readers


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
    """An order that was accepted: its run is found under this id from now on.

    `place`: at most so many runs of all users begin before it; null if it does not wait. `id` is `run_id`.
    `webhook_secret`: verifies what a webhook gets, and is the same for all orders of a user; empty without one.
    """

    run_id: str
    id: str
    status: str
    place: int | None = None
    webhook_secret: str = ""
    links: Links


class Done(Record):
    """A request that was carried out."""

    ok: Literal[True] = True


# What an order and the metadata of its run have in common.
_OF_ORDERS = ("run_id", "trace_id", "question", "pipeline", "began", "tags", "conversation", "follows")


class RunView(Metadata):
    """A run as of now: the fields of `metadata.json`, and links. `id` is `run_id`.

    `status` is also `interrupted` if the process that worked on the run is gone.
    """

    id: str
    status: str  # type: ignore[assignment]
    links: Links
    principal: str = Field("", exclude=True)

    @property
    def name(self) -> str:
        """What people call the run."""
        return self.title or self.question

    @property
    def is_active(self) -> bool:
        """Whether the run goes on by itself."""
        return self.status in ACTIVE and self.ended is None

    @classmethod
    def of(cls, metadata: Metadata, status: str = "") -> RunView:
        """Return the view of a run. Tracebacks stay with the operator."""
        run_id = metadata.run_id
        errors = tuple(error.model_copy(update={"traceback": ""}) for error in metadata.errors)
        own = {"id": run_id, "status": status or metadata.status, "errors": errors, "links": Links.of(run_id)}
        asked = metadata.questions if own["status"] == "waiting" else ()
        return cls.model_construct(**{**dict(metadata), **own, "questions": asked})

    @classmethod
    def of_order(cls, order: Order, status: str, reason: str = "") -> RunView:
        """Return the view of a run that has no folder: it waits, was withdrawn, or could not be started."""
        known = {name: getattr(order, name) for name in _OF_ORDERS}
        return cls.of(Metadata(**known, status=status, reason=reason))


def readable(view: RunView, folder: str) -> RunView:
    """Return a view whose messages are for readers without a shell, who do not see this folder."""
    return record_for_readers(view, "reason", "notices", folder=folder).model_copy(
        update={
            "errors": tuple(record_for_readers(error, "message", folder=folder) for error in view.errors),
            "steps": tuple(record_for_readers(step, "reason", folder=folder) for step in view.steps),
        }
    )


class RunItem(Record):
    """A run in a list. `excerpt` is text of the report around a word that was searched for."""

    run_id: str
    id: str
    """The same."""
    status: str
    question: str = ""
    pipeline: str = ""
    reason: str = ""
    began: datetime | None = None
    ended: datetime | None = None
    seconds: float = 0.0
    tags: Mapping[str, str] = {}
    excerpt: str = ""
    conversation: str = ""
    follows: str = ""
    title: str = ""
    """The name that its user gave the run."""
    pinned: bool = False
    links: Links

    @property
    def name(self) -> str:
        """What people call the run."""
        return self.title or self.question or self.id

    @classmethod
    def of(cls, run: RunSummary) -> RunItem:
        """Return the item of a run on disk."""
        names = cls.model_fields.keys() - {"links", "run_id"}
        own = {"run_id": run.id, "links": Links.of(run.id)}
        return cls.model_validate({**{name: getattr(run, name) for name in names}, **own})

    @classmethod
    def of_order(cls, order: Order) -> RunItem:
        """Return the item of a run that waits for a worker."""
        known = {name: getattr(order, name) for name in _OF_ORDERS if name in cls.model_fields}
        return cls(**known, id=order.run_id, status="pending", links=Links.of(order.run_id))


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
    """The principal of a request, null on a server without tokens, with its role and the models that it may choose."""

    principal: str | None
    role: str
    models: tuple[str, ...] = ()


class TaskStarted(Record):
    """A task that was started."""

    task_id: str
    status: str


class TaskStatus(Record):
    """The state of a task; `progress` is the share of finished steps in percent.

    `reason` is why it is not complete, `errors` are failures, from most of which it recovered, and `files` are those of
    the run so far.
    """

    task_id: str
    status: str
    step: str
    progress: int
    reason: str = ""
    errors: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
