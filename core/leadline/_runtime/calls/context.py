"""The context of running code: its stage, its call, and the `call` argument of providers."""

from __future__ import annotations

import logging
import math
import os
import random
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from leadline._runtime.replies.streamed_text import StreamedText
from leadline.contracts import Run
from leadline.records import Usage

if TYPE_CHECKING:
    from leadline._runtime.event_bus import Bus

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


def total(usages: list[Usage]) -> Usage | None:
    """Return the sum, or None if nothing was reported; its cost is None unless one was reported."""
    if not usages:
        return None
    costs = [usage.cost for usage in usages if usage.cost is not None]
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in usages),
        cached_tokens=sum(usage.cached_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        reasoning_tokens=sum(usage.reasoning_tokens for usage in usages),
        cost=sum(costs[1:], costs[0]) if costs else None,
    )


@dataclass
class ActiveCall:
    """One attempt at a call; implements `leadline.contracts.Call`."""

    run: Run
    task: str
    key: str
    traceparent: str
    span: str
    composite: bool
    # On the clock `monotonic`; infinite for a composite.
    deadline: float
    monotonic: Callable[[], float]
    bus: Bus
    attempt: int = 1
    # False holds back the deltas: a middleware must see the reply first.
    live: bool = True
    price: Callable[[Usage], Usage] | None = None
    # Receives each piece of the reply at once, with the number of its attempt.
    listener: Callable[[int, str], None] | None = None
    # Extracts the text that people read from a JSON reply.
    prose: StreamedText | None = None
    # That text is the answer of the run.
    answers: bool = False
    usages: list[Usage] = field(default_factory=list)
    # Stored with the reply: a replay does not run the code that emitted them.
    notices: list[str] = field(default_factory=list)
    streamed: bool = False
    closed: bool = False
    _pieces: list[str] = field(default_factory=list)
    _pieces_kind: str = ""
    _last_event: float = -math.inf

    def remaining(self) -> float:
        return max(0.0, self.deadline - self.monotonic())

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
        if self.monotonic() - self._last_event >= _DELTA_INTERVAL:
            self._flush()

    def close(self) -> None:
        """Emit the last pieces, and ignore later ones."""
        self._flush()
        self.closed = True

    def _flush(self) -> None:
        pieces, self._pieces = self._pieces, []
        if text := "".join(pieces):
            self._last_event = self.monotonic()
            kind = self._pieces_kind
            data = {"kind": kind, "text": text, "attempt": self.attempt, "key": self.key, "task": self.task}
            if not self.bus.follows_deltas:
                self.prose = None  # a later reader begins in the middle, where it cannot be parsed
            elif self.prose and kind == "text":
                data |= {"said": self.prose.take(text)} | ({"answers": True} if self.answers else {})
            self.bus.emit_soon("call.delta", data, span_id=self.span)

    def spend(self, usage: Usage) -> None:
        """Count a usage. Raises `TypeError` and `ValueError` for an invalid one: it could give budget back."""
        if not isinstance(usage, Usage):
            raise TypeError(f"spend() takes a Usage, not {type(usage).__name__}")
        figures = (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens)
        if min(figures) < 0 or not (usage.cost is None or (usage.cost.is_finite() and usage.cost >= 0)):
            raise ValueError(f"spend() takes no negative figures: {usage}")
        self.usages.append(self.price(usage) if self.price else usage)
