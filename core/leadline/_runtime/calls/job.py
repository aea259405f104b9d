"""A call: its kind, provider, request and key; the context of running code, and the `call` argument of providers."""

from __future__ import annotations

import logging
import math
import os
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar
from weakref import ReferenceType

from pydantic import JsonValue

from leadline._hosting.faults import line_of, words
from leadline._runtime.calls.keys import call_text, outline, plain
from leadline._runtime.calls.limits import Limiter, Slots
from leadline._runtime.event_bus import Bus
from leadline._runtime.journal import rows
from leadline._runtime.journal.rows import Need
from leadline._runtime.replies.streamed_text import StreamedText
from leadline.contracts import Call, Run
from leadline.encoding import digest, json_bytes
from leadline.errors import LeadlineError
from leadline.records import Record, Usage

# Pieces of a streamed reply are collected for so many seconds into one event: vendors send a hundred pieces a second,
# and a run reads ten replies at once.
_DELTA_INTERVAL = 0.05
log = logging.getLogger(__name__)
_chance = random.Random()  # noqa: S311 - span ids are no secrets; a system call for each would release the interpreter
os.register_at_fork(after_in_child=_chance.seed)
# The name of the running stage.
current_stage: ContextVar[str] = ContextVar("current_stage", default="")
# The span of the running stage; empty outside of stages.
stage_span: ContextVar[str] = ContextVar("stage_span", default="")
# The call in which the code runs; None in a stage.
current_call: ContextVar[ActiveCall | None] = ContextVar("current_call", default=None)


def within_context(listener: Callable[[int, str], None] | None) -> Callable[[int, str], None] | None:
    """Return a listener that runs in the present context: calls that it starts are not below the streaming call.

    If it raises an error, the reply continues without it.
    """
    if listener is None:
        return None
    here, failed = copy_context(), False

    def run(attempt: int, piece: str) -> None:
        nonlocal failed
        if failed:
            return
        try:
            here.run(listener, attempt, piece)
        except Exception:
            failed = True
            log.info("the listener of a reply failed; it gets no more pieces", exc_info=True)

    return run


def new_span() -> str:
    """Return a W3C span id: 16 hexadecimal digits. It may be random: no reply and no stored key depends on it."""
    return f"{_chance.getrandbits(64):016x}"


# How an attempt ended.
Ended = Literal["reply", "error", "cut"]


@dataclass
class ActiveCall:
    """One attempt at a call; implements `leadline.contracts.Call`."""

    # Weak, because cancelled timers keep the context of a call for minutes after the end of its run.
    _run: ReferenceType[Run]
    task: str
    key: str
    traceparent: str
    span: str
    composite: bool
    # By `time.monotonic`; infinite for a composite.
    deadline: float
    bus: Bus
    attempt: int = 1
    # False holds back the deltas: a middleware must see the reply first.
    live: bool = True
    price: Callable[[Usage], Usage] | None = None
    # Receives each piece of the reply at once, with the number of its attempt.
    listener: Callable[[int, str], None] | None = None
    # What people read of the reply.
    readable: ReadableReply | None = None
    usages: list[Usage] = field(default_factory=list)
    # Stored with the reply: a replay does not run the code that emitted them.
    notices: list[str] = field(default_factory=list)
    streamed: bool = False
    closed: bool = False
    # With an unusable reply too; cut off if neither this nor an error came.
    ended: Ended = "cut"
    _pieces: list[str] = field(default_factory=list)
    _pieces_kind: str = ""
    _last_event: float = -math.inf

    @property
    def run(self) -> Run:
        if (run := self._run()) is None:
            raise LeadlineError("the run of this call has ended")
        return run

    def remaining(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    @property
    def followed(self) -> bool:
        return self.live and (self.listener is not None or self.bus.follows_deltas)

    def emit(self, kind: Literal["text", "reasoning"], delta: str) -> None:
        if self.closed or not self.live:  # a thread may still stream into an attempt that was abandoned
            return
        if not isinstance(delta, str):
            raise TypeError(f"emit() takes the pieces of a reply as text, not {type(delta).__name__}")
        self.streamed = True
        if self.listener and kind == "text":
            self.bus.soon(self.listener, self.attempt, delta)
        if kind != self._pieces_kind:
            self._flush()
        self._pieces_kind = kind
        self._pieces.append(delta)
        if time.monotonic() - self._last_event >= _DELTA_INTERVAL:
            self._flush()

    def close(self) -> None:
        """Emit the last pieces, and ignore later ones."""
        self._flush()
        self.closed = True

    def _flush(self) -> None:
        pieces, self._pieces = self._pieces, []
        if text := "".join(pieces):
            self._last_event = time.monotonic()
            kind = self._pieces_kind
            data = {"kind": kind, "text": text, "attempt": self.attempt, "key": self.key, "task": self.task}
            if self.readable and kind == "text":
                data |= self.readable.take(text)
            self.bus.emit_soon("call.delta", data, span_id=self.span)

    def spend(self, usage: Usage) -> None:
        """Count a usage. Raises `TypeError` and `ValueError` for an invalid one."""
        check_usage(usage)
        self.usages.append(self.price(usage) if self.price else usage)


R = TypeVar("R", bound=Record)
# The kinds of a typed task for a chain of models, and of one request to one of them.
TASK, CHAT = rows.TASK, rows.CHAT


@dataclass(frozen=True)
class ProviderIdentity:
    """The plugin instance that answers a call, with its limits and the settings that change its answers."""

    name: str
    # Digest of the settings that change the answers.
    fingerprint: str = ""
    limiter: Limiter | None = None
    # The slots of the run, for which its calls wait first.
    run_slots: Slots | None = None
    # Seconds for one attempt, and the setting that changes them.
    timeout: float = 30.0
    timeout_setting: str = ""
    priced: bool = False
    # True if it contacts nobody outside: middleware does not see its calls.
    local: bool = False
    # Separates accounts at the same provider, and versions of its code, in the cache across runs.
    account: str = ""
    revision: str = ""
    # Its answers depend on the principal: without one, no other run reuses them.
    per_user: bool = False
    # Plugin, distribution and version, and its file or the folder of its package, for messages about its faults.
    who: str = ""
    root: Path | None = None
    # The origin of its key, for messages about refused keys.
    key_origin: str = ""
    # Exits the plugin if it was created before a time of the event loop: called after `Disconnected`, before the next
    # attempt, with the start of the last one.
    restart: Callable[[float], Awaitable[None]] | None = None

    def fault(self, error: BaseException) -> str:
        """Return an error with the plugin whose fault it is, and its line."""
        return f"{words(error)}; this is a fault of {self.who}{self.line_of(error)}"

    def line_of(self, error: BaseException) -> str:
        """Return the innermost line of the plugin in the traceback of an error, as ` at file:line, in name`."""
        root = self.root
        line = line_of(error, lambda file: Path(file).is_relative_to(root)) if root else ""
        return line.replace(f"{root.parent}{os.sep}", "", 1) if root else ""

    def permit(self) -> AbstractAsyncContextManager[None]:
        """Hold one of the concurrent calls that its limits allow."""
        return self.limiter.permit(self.run_slots) if self.limiter else nullcontext()

    def wait_time(self) -> float:
        """Return the seconds for which its limits delay a call that starts now."""
        return self.limiter.health.wait() if self.limiter else 0.0

    def blocked_for(self) -> float:
        """Return the seconds for which it asked for no calls, if that is longer than a call waits; else 0."""
        return self.limiter.health.blocked_for() if self.limiter else 0.0


@dataclass(frozen=True)
class Stream:
    """Those who follow a streamed reply."""

    # Receives the pieces, each with the number of its attempt, in the context of the caller.
    listener: Callable[[int, str], None] | None = None
    # Fields of a JSON reply that people read.
    shows: tuple[str, ...] = ()
    # They are text of the report.
    drafts: bool = False
    # They are the answer of the run.
    answers: bool = False


class ReadableReply:
    """Extracts from a JSON reply, piece by piece, what events tell of it to people."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self._texts = stream, StreamedText(stream.shows)

    def take(self, piece: str) -> dict[str, Any]:
        """Return what the event of a piece has beside the piece; nothing if people do not read the reply."""
        if not self._stream.shows:
            return {}
        texts = self._texts.take(piece)
        data: dict[str, Any] = {"said": "".join(text for _, text in texts)}
        if self._stream.drafts:
            data["draft"] = [{"section": section, "text": text} for section, text in texts]
        return data | ({"answers": True} if self._stream.answers else {})


@dataclass(frozen=True)
class Kind(Generic[R]):
    """A kind of call and its reply.

    A composite makes leaf calls, or other composite calls; it has no permit, timeout, middleware or retries.
    """

    name: str
    reply: type[R]
    composite: bool = False
    # False: not journalled; a replay makes the call again (formatting).
    keep: bool = True
    # True: not kept, and nobody makes the same call at the same time, so that it needs no content key.
    unshared: bool = False
    # It changes something outside: its start is journalled, and a shutdown does not interrupt it.
    effect: bool = False
    # Reserved for each attempt, by the request.
    need: Callable[[Any], Need] = lambda _: Need()
    # Adds the cost to a usage, by the request, if the provider did not report it.
    price: Callable[[Any, Usage], Usage] | None = None
    # The text of a reply, for readers of the deltas of a call that did not stream.
    text: Callable[[Any], str] | None = None
    # Seconds for which its replies serve other runs too.
    ttl: float = 0.0
    # True if a reply is good enough to serve other runs.
    shareable: Callable[[Any], bool] = lambda _: True
    # A single attempt, unless the provider asks for another: it did not answer several times.
    single_attempt: bool = False
    # It costs nothing and asks nobody outside: after a shutdown it goes on for a grace period.
    free: bool = False
    # Bookkeeping of the core: no events, no statistics, never refused.
    internal: bool = False
    stream: Stream = Stream()


@dataclass(frozen=True)
class Job:
    """One call to make."""

    kind: Kind[Any]
    provider: ProviderIdentity
    request: Any
    do: Callable[[Any, Call], Awaitable[Any]]
    sample: int
    task: str
    parent: ActiveCall | None
    # The id of the principal: calls on behalf of different users are different calls.
    principal: str = ""
    span: str = field(default_factory=new_span)
    listener: Callable[[int, str], None] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "listener", within_context(self.kind.stream.listener))

    @cached_property
    def tree(self) -> JsonValue:
        """The request as plain JSON. Raises TypeError if it has no JSON form."""
        return plain(self.request)

    @cached_property
    def key_text(self) -> bytes:
        """Everything that the key is made of, as JSON with long texts cut; the journal stores it for people."""
        request = outline(self.tree)
        fingerprint = self.provider.fingerprint
        return call_text(self.kind.name, self.provider.name, fingerprint, request, self.sample, self.principal)

    @cached_property
    def key(self) -> str:
        """The content key of the call; a call that is not kept has a cheaper one."""
        if self.kind.keep:
            return digest(self.key_text)
        if self.kind.unshared:
            return self.span + new_span()
        return digest(f"{self.kind.name} {self.provider.name} {self.sample} ".encode() + json_bytes(self.request))

    @property
    def label(self) -> str:
        """The kind and the provider, for messages."""
        return f"{self.kind.name} by {self.provider.name}"


def check_usage(usage: Usage) -> None:
    """Raise `TypeError` or `ValueError` for an invalid usage: it could give budget back."""
    if not isinstance(usage, Usage):
        raise TypeError(f"spend() takes a Usage, not {type(usage).__name__}")
    figures = (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens)
    if min(figures) < 0 or not (usage.cost is None or (usage.cost.is_finite() and usage.cost >= 0)):
        raise ValueError(f"spend() takes no negative figures: {usage}")
