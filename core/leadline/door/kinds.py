"""What a call is, before it is made: its kind, who answers it, what it asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from pydantic import JsonValue

from leadline.contracts import Call
from leadline.door.active import ActiveCall, new_span
from leadline.door.keys import call_text, digest, outline, plain
from leadline.door.limits import Limiter, Permits
from leadline.journal.wire import compact
from leadline.records import Record, Usage
from leadline.runs.budget import Need

R = TypeVar("R", bound=Record)
TASK, CHAT = "task", "chat"
"""The kinds of a typed task that a chain of models is asked to do, and of one request to one of them."""


def _no_need(_: Any) -> Need:
    return Need()


def _always(_: Any) -> bool:
    return True


@dataclass(frozen=True)
class Maker:
    """Who answers: a plugin's instance, with its limits (of the process), its seconds a call, its fingerprint."""

    name: str
    fingerprint: str = ""
    """Of the settings that change its answers."""
    limiter: Permits | None = None
    timeout: float = 30.0
    priced: bool = False
    account: str = ""
    """Tells accounts at the same provider apart in the cache across runs."""
    who: str = ""
    """The plugin with its distribution and version, for what is told of its faults."""
    restart: Callable[[], Awaitable[None]] | None = None
    """Leaves the plugin and enters it anew: called after `Disconnected`, before the next attempt."""

    def permit(self) -> AbstractAsyncContextManager[None]:
        """Hold one of the calls it lets through at once."""
        return self.limiter.permit() if self.limiter else nullcontext()

    def held(self) -> float:
        """Return the seconds for which its limits hold a call back that is made now."""
        return self.limiter.held() if isinstance(self.limiter, Limiter) else 0.0

    def away(self) -> float:
        """Return for how many seconds it has asked to be left alone, where that is longer than it is waited for."""
        return self.limiter.away() if isinstance(self.limiter, Limiter) else 0.0


@dataclass(frozen=True)
class Kind(Generic[R]):
    """A kind of call, and what comes back.

    A composite calls leaves, or other composites; it has no permit, timeout, middleware or retry of its own.
    """

    name: str
    reply: type[R]
    composite: bool = False
    keep: bool = True
    """False: not journalled; what it makes is made again (formatting)."""
    alone: bool = False
    """Nobody asks the same at the same time, and it is not kept: its key may be any."""
    effect: bool = False
    """It changes something outside: its start is noted, and a wind-down does not cut it off."""
    need: Callable[[Any], Need] = _no_need
    """What a call may use of the budget, by its request: the lease of each attempt."""
    price: Callable[[Any, Usage], Usage] | None = None
    """Puts the cost to a usage, by the request, where the provider did not tell it."""
    text: Callable[[Any], str] | None = None
    """The text of a reply, for those who follow the deltas of a call that did not stream."""
    ttl: float = 0.0
    """Seconds for which its replies serve other runs too."""
    whole: Callable[[Any], bool] = _always
    """Whether a reply is good enough to serve other runs."""
    once: bool = False
    """No attempt but one, unless the provider asks for another: it has been silent time and again."""
    free: bool = False
    """It costs nothing and asks nobody: what is found already is still read when a run winds down, for a while."""
    quiet: bool = False
    """The house's own bookkeeping: no events, no counts, never refused."""


@dataclass(frozen=True)
class Job:
    """One call as it was asked for."""

    kind: Kind[Any]
    maker: Maker
    request: Any
    do: Callable[[Any, Call], Awaitable[Any]]
    sample: int
    task: str
    parent: ActiveCall | None
    heard: Callable[[int, str], None] | None = None
    """Takes the pieces of the reply while it is streamed; a reply that was kept comes whole, and not here."""
    shows: tuple[str, ...] = ()
    """Fields of the reply, in JSON, that people read while it is streamed."""
    span: str = field(default_factory=new_span)

    @cached_property
    def tree(self) -> JsonValue:
        """The request as plain JSON. Raises TypeError for a request that has none."""
        return plain(self.request)

    @cached_property
    def asked(self) -> bytes:
        """All that its key is made of, long texts cut: what the journal keeps for people."""
        request = outline(self.tree)
        return call_text(self.kind.name, self.maker.name, self.maker.fingerprint, request, self.sample)

    @cached_property
    def key(self) -> str:
        """The name of the call. One that is not kept needs none to be found by again: less work."""
        if self.kind.keep:
            return digest(self.asked)
        if self.kind.alone:
            return self.span + new_span()
        return digest(f"{self.kind.name} {self.maker.name} {self.sample} ".encode() + compact(self.request))

    @property
    def what(self) -> str:
        """The call in words."""
        return f"{self.kind.name} by {self.maker.name}"
