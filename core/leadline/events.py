"""Events: one stream that reports everything a run does.

`DATA` has the type of an event's `data` for each kind.

A call that is answered by the journal, by the cache across runs or by an identical call in flight has no
`call.started`; its text arrives as one `call.delta`. Deltas are sent to observers without `deltas = False` and to
readers from the moment they begin to read; without either, replies need not be streamed. Readers in other processes get
them through a socket, if the run was published (`Run.publish`), in their order among the other events. Append
them by `key`: `call.started` and `call.restart` begin the text of a call anew, `call.finished` ends it. They are not
stored and not sent again: who reads again gets the replies in flight from their beginning.

Sessions, stages and calls are spans of one trace per run. `span_id` of `run.started` and `run.finished` is that of the
session; of `progress` that of the stage, from `started` to `finished` or `failed` (empty if it could not start); of a
call's events that of the call. `parent_id` of a call is the composite call around it or else its stage; what has none
is below the session. `seq` increases by one over all sessions of a run; a delta has the number of the event before it.
Secrets are masked in every text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from leadline.records import Event, Json

_ahead = timedelta(0)


def utc_now() -> datetime:
    """Return the current time in UTC: by the clock of this machine, or the one that `use_clock` was told of."""
    return datetime.now(UTC) + _ahead


def use_clock(ahead: float) -> None:
    """Take times from a clock that several machines share, and that is so many seconds ahead of this machine's."""
    global _ahead
    _ahead = timedelta(seconds=ahead)


class Subscription:
    """An async iterator over the events from now on; it ends when the run ends or `close` is called.

    The queue is unbounded: a slow reader loses nothing, and a run is finite.
    """

    # Not an async generator: one that is left by `break` would keep its resources until it is collected.

    def __init__(self, leave: Callable[[Subscription], None], *, deltas: bool = True) -> None:
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._leave, self._deltas = leave, deltas
        self._ended = False
        # Many callers never read a run's own stream. Until somebody does, it stores no pieces of replies.
        self.read = False

    def __aiter__(self) -> Subscription:
        self.read = self._deltas
        return self

    async def __anext__(self) -> Event:
        self.read = self._deltas
        event = None if self._ended else await self._queue.get()
        if event is None:
            self._ended = True
            raise StopAsyncIteration
        return event

    def put(self, event: Event | None) -> None:
        """Add an event; None ends the stream after the queued events."""
        self._queue.put_nowait(event)

    def close(self) -> None:
        """End the stream, also for a reader that is waiting."""
        self._leave(self)
        self._ended = True
        self.put(None)


# --- the data of each kind --------------------------------------------------------------------------------------------


class RunStarted(TypedDict):
    """A session begins; `previous` is the last one of a resumed run, {span_id, began, ended}: null if it was killed."""

    folder: NotRequired[str]
    question: str
    pipeline: str
    steps: list[str]
    choices: list[str]
    replay: bool
    principal: str | None
    previous: Json | None


class RunFinished(TypedDict):
    """A session ends; `claims` are the numbers of claims by verdict."""

    status: str
    reason: str
    claims: NotRequired[dict[str, int]]


class Progress(TypedDict):
    """A stage works; in `data`, `idle`: it had nothing to do, and `loop_end`: why no further round follows."""

    step: str
    status: Literal["started", "finished", "failed"]
    data: Json


class Route(TypedDict):
    """The run continues with this pipeline."""

    pipeline: str
    reason: str
    by: Literal["rules", "model", "default"]
    steps: list[str]


class MessageSent(TypedDict):
    """A text for people, by `kind`: a plan, a learning, a report, the state of an `index` of the user's documents.

    `sections` of a plan are {id, title, questions}; the learning from a page has its address as `source` and the number
    of its `passages`. `sources` of the kind `passages` are the ids of the sources of the passages that a draft cites by
    number, from 1.
    """

    kind: str
    text: str
    sections: NotRequired[list[Json]]
    source: NotRequired[str]
    passages: NotRequired[int]
    sources: NotRequired[list[str]]
    step: NotRequired[str]


class RoundReview(TypedDict):
    """What a round left open: sections, {id, coverage, depth, questions}; questions to search for; conflicts."""

    round: int
    sections: list[Json]
    gaps: list[str]
    conflicts: list[str]


class Query(TypedDict):
    """A search begins; `section` is the id of a section of the plan."""

    id: str
    query: str
    goal: str
    section: str
    round: int


class Found(TypedDict):
    """A search has ended with so many hits, or failed."""

    id: str
    hits: int
    failure: str


class PageRead(TypedDict):
    """A page was read; `query` is the id of the search."""

    id: str
    url: str
    title: str
    engine: str
    tier: int
    published: NotRequired[str | None]
    query: NotRequired[str]


class PageUnread(TypedDict):
    """A page could not be read."""

    url: str
    reason: str
    query: str


class Question(TypedDict):
    """A question to a person, which `Run.answer` answers, within so many seconds if there is a limit.

    The `call.finished` with its id as `key` tells that it is closed.
    """

    id: str
    message: str
    schema: Json
    seconds: float | None


class Call(TypedDict):
    """A call: the kind of its provider, the provider, the task, and the key of the call."""

    kind: str
    provider: str
    task: str
    key: str


class CallUsage(Call):
    """What a call used, and what the run has spent so far."""

    usage: Json
    spent: Json


class Error(TypedDict):
    """A failure; that of a call has the fields of the call, and `type` is the class of the failure."""

    message: str
    category: str
    step: str
    kind: NotRequired[str]
    provider: NotRequired[str]
    task: NotRequired[str]
    key: NotRequired[str]
    type: NotRequired[str]
    attempts: NotRequired[int]
    replayed: NotRequired[bool]
    code: NotRequired[str]
    parameters: NotRequired[Json]


class NoticeSent(TypedDict):
    """A notice; `code` and `parameters` only if the message has a code."""

    message: str
    code: NotRequired[str]
    parameters: NotRequired[Json]


class CallStarted(Call):
    """A call begins; a chat has the model that is asked."""

    model: NotRequired[str]


class CallDelta(TypedDict):
    """A piece of a reply; with `answers`, of the answer of the run.

    `said` is its readable part if the reply is JSON and its task names readable fields, such as the titles of a plan.
    With `draft` it is text of the report, by section: {section, text}; nothing else is a draft.
    """

    kind: Literal["text", "reasoning"]
    text: str
    attempt: int
    key: str
    task: str
    provider: NotRequired[str]
    said: NotRequired[str]
    draft: NotRequired[list[Json]]
    answers: NotRequired[bool]


class CallRetried(Call):
    """An attempt failed, and the next one follows after so many seconds."""

    attempt: int
    category: str
    type: str
    seconds: float


class CallRestart(TypedDict):
    """Discard what earlier attempts streamed."""

    attempt: int
    key: str
    task: str


class CallHeld(Call):
    """The provider asked to wait this long before the next request."""

    seconds: float


_From = TypedDict("_From", {"from": Literal["live", "journal", "cache", "shared"]})


class CallFinished(Call, _From):
    """A call ends, with what its reply is from; a reply of a model has `model` and `finish_reason`."""

    outcome: Literal["reply", "failure", "refusal"]
    seconds: float
    attempts: int
    usage: Json
    model: NotRequired[str]
    finish_reason: NotRequired[str]


class Knowledge(TypedDict):
    """Files of an addition of documents, which is no run."""

    done: int
    total: int
    problems: int


class Gap(TypedDict):
    """The events between these numbers are lost; only `Client.events` reports it."""

    after: int
    before: int


DATA: Mapping[str, type[Any]] = {
    "run.started": RunStarted,
    "run.finished": RunFinished,
    "progress": Progress,
    "route": Route,
    "message": MessageSent,
    "review": RoundReview,
    "query": Query,
    "found": Found,
    "source": PageRead,
    "unread": PageUnread,
    "question": Question,
    "usage": CallUsage,
    "error": Error,
    "notice": NoticeSent,
    "call.started": CallStarted,
    "call.delta": CallDelta,
    "call.retried": CallRetried,
    "call.restart": CallRestart,
    "call.held": CallHeld,
    "call.finished": CallFinished,
    "knowledge": Knowledge,
    "gap": Gap,
}
