"""The call that runs now: what a provider is handed, and how the code below it knows where it stands."""

from __future__ import annotations

import logging
import math
import os
import random
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from leadline.contracts import Run
from leadline.records import Usage
from leadline.replies.prose import Prose

if TYPE_CHECKING:
    from leadline.events import Bus

GATHERED = 0.05
"""Seconds over which the pieces of a streamed reply are told as one: vendors send an event a token, a hundred a second,
and a run reads ten replies at once."""
log = logging.getLogger(__name__)
_chance = random.Random()  # noqa: S311 - no secret; the system's own lets go of the interpreter for each id
os.register_at_fork(after_in_child=_chance.seed)
stage_now: ContextVar[str] = ContextVar("stage_now", default="")
"""The name of the stage that runs."""
call_now: ContextVar[ActiveCall | None] = ContextVar("call_now", default=None)
"""The call below which the code runs; None in a stage."""


def within_context(heard: Callable[[int, str], None] | None) -> Callable[[int, str], None] | None:
    """Return a listener that runs in the context that is now: what it begins is its own, and not the call's.

    What it raises is its own too: the reply goes on, and it hears no more of it.
    """
    if heard is None:
        return None
    here, failed = copy_context(), False

    def run(attempt: int, piece: str) -> None:
        nonlocal failed
        if failed:
            return
        try:
            here.run(heard, attempt, piece)
        except Exception:
            failed = True
            log.info("what hears a reply failed, and hears no more of it", exc_info=True)

    return run


def new_span() -> str:
    """Return a W3C span id: 16 hexadecimal digits. Chance is allowed: no reply and no kept key depends on it."""
    return f"{_chance.getrandbits(64):016x}"


def total(usages: list[Usage]) -> Usage | None:
    """Return the sum, or None where nothing was reported; its cost is None unless one was told."""
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
    """One attempt at a call; fulfils `leadline.contracts.Call`."""

    run: Run
    task: str
    key: str
    traceparent: str
    span: str
    composite: bool
    deadline: float
    """By `monotonic`; infinite for a composite."""
    monotonic: Callable[[], float]
    bus: Bus
    attempt: int = 1
    live: bool = True
    """False holds back the deltas: a middleware must see the reply first."""
    price: Callable[[Usage], Usage] | None = None
    heard: Callable[[int, str], None] | None = None
    """Takes each piece of the reply at once, with the number of the attempt it belongs to."""
    prose: Prose | None = None
    """Reads what people read of a reply in JSON."""
    usages: list[Usage] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    """What people were told meanwhile: kept with the reply, since what comes from the journal runs nothing again."""
    streamed: bool = False
    closed: bool = False
    _held: list[str] = field(default_factory=list)
    _held_kind: str = ""
    _told: float = -math.inf

    def remaining(self) -> float:
        return max(0.0, self.deadline - self.monotonic())

    @property
    def followed(self) -> bool:
        return self.live and (self.heard is not None or self.bus.follows_deltas)

    def emit(self, kind: Literal["text", "reasoning"], delta: str) -> None:
        if self.closed or not self.live:  # a thread may still stream into an attempt that was given up
            return
        if not isinstance(delta, str):
            raise TypeError(f"emit() takes the pieces of a reply as text, not {type(delta).__name__}")
        self.streamed = True
        if self.heard and kind == "text":
            self.bus.soon(self.heard, self.attempt, delta)
        if kind != self._held_kind:
            self._tell()
        self._held_kind = kind
        self._held.append(delta)
        if self.monotonic() - self._told >= GATHERED:
            self._tell()

    def close(self) -> None:
        """Tell what is still held, and nothing after it."""
        self._tell()
        self.closed = True

    def _tell(self) -> None:
        pieces, self._held = self._held, []
        if text := "".join(pieces):
            self._told = self.monotonic()
            data = {"kind": self._held_kind, "text": text, "attempt": self.attempt, "key": self.key, "task": self.task}
            if not self.bus.follows_deltas:
                self.prose = None  # who begins to read later begins in the middle
            elif self.prose and self._held_kind == "text":
                data |= {"said": self.prose.take(text)}
            self.bus.emit_soon("call.delta", data, span_id=self.span)

    def spend(self, usage: Usage) -> None:
        """Count a usage. Raises `TypeError` and `ValueError` for one that is none: it would give budget back."""
        if not isinstance(usage, Usage):
            raise TypeError(f"spend() takes a Usage, not {type(usage).__name__}")
        figures = (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens)
        if min(figures) < 0 or not (usage.cost is None or (usage.cost.is_finite() and usage.cost >= 0)):
            raise ValueError(f"spend() takes no negative figures: {usage}")
        self.usages.append(self.price(usage) if self.price else usage)
