"""A call before it is made: its kind, its provider, its request and its key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from pydantic import JsonValue

from leadline._runtime.calls.context import ActiveCall, new_span
from leadline._runtime.calls.keys import call_text, outline, plain
from leadline._runtime.calls.limits import Limiter, Slots
from leadline._runtime.journal import rows
from leadline._runtime.journal.rows import Need
from leadline.contracts import Call
from leadline.encoding import digest, json_bytes
from leadline.records import Record, Usage

R = TypeVar("R", bound=Record)
# The kinds of a typed task for a chain of models, and of one request to one of them.
TASK, CHAT = rows.TASK, rows.CHAT


def _no_need(_: Any) -> Need:
    return Need()


def _always(_: Any) -> bool:
    return True


@dataclass(frozen=True)
class ProviderIdentity:
    """The plugin instance that answers a call, with its limits and the settings that change its answers."""

    name: str
    # Digest of the settings that change the answers.
    fingerprint: str = ""
    limiter: Limiter | None = None
    # The slots of the run, for which its calls wait first.
    run_slots: Slots | None = None
    # Seconds for one attempt.
    timeout: float = 30.0
    priced: bool = False
    # True if it contacts nobody outside: middleware does not see its calls.
    local: bool = False
    # Separates accounts at the same provider in the cache across runs.
    account: str = ""
    # Its answers depend on the principal: without one, no other run reuses them.
    per_user: bool = False
    # Plugin, distribution and version, for messages about its faults.
    who: str = ""
    # The origin of its key, for messages about refused keys.
    key_origin: str = ""
    # Exits the plugin if it was created before a time of the event loop: called after `Disconnected`, before the next
    # attempt, with the start of the last one.
    restart: Callable[[float], Awaitable[None]] | None = None

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
    need: Callable[[Any], Need] = _no_need
    # Adds the cost to a usage, by the request, if the provider did not report it.
    price: Callable[[Any, Usage], Usage] | None = None
    # The text of a reply, for readers of the deltas of a call that did not stream.
    text: Callable[[Any], str] | None = None
    # Seconds for which its replies serve other runs too.
    ttl: float = 0.0
    # True if a reply is good enough to serve other runs.
    shareable: Callable[[Any], bool] = _always
    # A single attempt, unless the provider asks for another: it did not answer several times.
    single_attempt: bool = False
    # It costs nothing and asks nobody outside: after a shutdown it goes on for a grace period.
    free: bool = False
    # Bookkeeping of the core: no events, no statistics, never refused.
    internal: bool = False


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
    # Receives the pieces of a reply while it is streamed, each with the number of its attempt.
    listener: Callable[[int, str], None] | None = None
    # Fields of a JSON reply that people read while it is streamed.
    shows: tuple[str, ...] = ()
    # They are the answer of the run.
    answers: bool = False
    # The id of the principal: calls on behalf of different users are different calls.
    principal: str = ""
    span: str = field(default_factory=new_span)

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
