"""Retries: everything that decides whether and when a failed call, a provider or a run is tried again.

The class of a provider's error says whether the same request may be sent again; errors of httpx and of the operating
system are translated into these classes. Any other error of a plugin is a bug, and is not retried.

`RetryPolicy` decides about the attempts at one call and the repetitions of a run, `AccountHealth` about the next call
to an account of a client, `RunHealth` about the next task of a provider in a run. A call waits for the longest of the
pause of its attempt, the time that its server asked for, and the pace of its account.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from json import JSONDecodeError
from math import inf
from typing import TYPE_CHECKING, Any

from leadline._hosting.faults import Held, words
from leadline._runtime.journal.rows import CHAT
from leadline.errors import (
    BadReply,
    CallFailed,
    Denied,
    Disconnected,
    PluginError,
    ProviderError,
    QuotaSpent,
    RateLimited,
    Resting,
    Severed,
    Unavailable,
    Unsupported,
)
from leadline.http import http_error
from leadline.records import Notice

if TYPE_CHECKING:
    from leadline.records import Failure

# How often a run is repeated after a temporary failure.
RUN_REPEATS = 2
# Seconds between two starts after the first 429.
FIRST_INTERVAL = 0.1
# The longest that calls are delayed. A server that asks for more gets no calls: another provider is faster.
PATIENCE = 30.0
# The factor by which each success shortens a learned interval: with one 429 in ten calls it still shrinks.
EASING = 0.8
# Consecutive failures after which an account rests, and for how many seconds.
FAILURES, REST = 3, 60.0
# Seconds over which an account must have failed before it rests. With 2, three random failures on a busy machine
# stopped the only engine of 58 runs.
LEAST_SPAN = 5.0
# Errors of the provider; other errors are about the request.
PROVIDER_FAULTS = (Unavailable, RateLimited, QuotaSpent, Denied)
# The kind of a failure of `traits()`: the provider cannot describe its model, and repeating does not help.
TRAITS = "traits"
# Consecutive tasks with network failures after which a provider is left out, or tried only once a task.
_MAX_UNREACHABLE = 2
# Failures of a wrong address, key or model: a provider that never answered is left out at the first of them.
_NEVER_REACHED = {
    error.__name__ for error in (Unavailable, Disconnected, Resting, Severed, QuotaSpent, Denied, Unsupported)
}
# Failures that last for the run: a rejected key, a plugin that cannot be created.
_PERMANENT = {Denied.__name__, PluginError.__name__}


@dataclass(frozen=True)
class RetryPolicy:
    """The number of attempts, and the pauses between them: `base`, then times `factor`, at most `maximum` seconds."""

    attempts: int = 3
    base: float = 2.0
    factor: float = 2.0
    maximum: float = PATIENCE
    sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep

    def delay(self, attempt: int, error: ProviderError, *, single_attempt: bool = False) -> float | None:
        """Return the seconds to wait after the failed attempt (from 1), or None to give up.

        A server that asks for more than `maximum` gets no other attempt: another provider is faster. With
        `single_attempt` only a server that asked for a pause gets one, or a plugin that must be entered again.
        """
        if not error.retry or attempt >= self.attempts:
            return None
        if single_attempt and error.retry_after is None and not isinstance(error, RateLimited | Disconnected):
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.maximum else None
        return self._backoff(attempt)

    def run_delay(self, attempt: int, failure: Failure) -> float | None:
        """Return the seconds to wait before a run that failed (from 1) is repeated, or None to give up."""
        temporary = failure.category in ("NETWORK", "LLM")
        return self._backoff(attempt) if temporary and attempt <= RUN_REPEATS else None

    def _backoff(self, attempt: int) -> float:
        return min(self.base * self.factor ** (attempt - 1), self.maximum)


class AccountHealth:
    """When calls to one account of a provider may start.

    A 429 doubles the seconds between two starts and each success shortens them again. With `rests`, an account that
    failed `FAILURES` times in a row over at least `LEAST_SPAN` seconds rests: its calls fail at once until the time is
    over and one trial has succeeded. Only errors of the provider count, and of concurrent ones only the first.
    """

    def __init__(
        self,
        name: str = "",
        interval: float = 0.0,
        *,
        rests: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if interval < 0:
            raise ValueError(f"interval is at least 0, not {interval}")
        self.interval = self._base = interval
        self._name = name
        self._rests = rests
        self._clock = clock
        # One call at a time waits for the next start.
        self._line = asyncio.Lock()
        self._waiting = 0
        self._last_start = -inf
        # No call starts until then, and none is worth waiting for until then: the provider asked for it.
        self._delayed_until = self._blocked_until = -inf
        self._learned_at = -inf
        self._failures = 0
        self._first_failure = self._last_failure = -inf
        self._rest_until: float | None = None
        self._reason = ""

    def wait(self) -> float:
        """Return the seconds until the next call may start."""
        return max(0.0, max(self._delayed_until, self._last_start + self.interval) - self._clock())

    def blocked_for(self) -> float:
        """Return the seconds for which the provider asked for no calls, if that is longer than a call waits; else 0."""
        return max(0.0, self._blocked_until - self._clock())

    def admit(self) -> None:
        """Raise `Resting` while the account rests."""
        if self._rest_until is not None and self._clock() < self._rest_until:
            raise Resting(self._reason)

    async def turn(self) -> None:
        """Wait for the next start, and take it."""
        self._waiting += 1
        try:
            async with self._line:
                wait = max(await self._reserved() - self._clock(), self.wait())
                while wait > 0:
                    await asyncio.sleep(wait)
                    wait = self.wait()  # the provider may have asked for another time meanwhile
                self._last_start = self._clock()
        finally:
            self._waiting -= 1

    async def _reserved(self) -> float:
        """Return the earliest time of the next start that other processes allow."""
        return -inf

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Learn from the outcome of one request. If its failure begins a rest, raise `Resting`: no other attempt."""
        self.admit()
        began, trial = self._clock(), self._rest_until is not None
        if trial:  # the others fail until it has ended
            self._rest_until = inf
        try:
            yield
        except Exception as error:
            known = translate(error)
            if isinstance(known, RateLimited):
                self.too_fast(known, began)
            if self._rests and isinstance(known, PROVIDER_FAULTS):
                if trial:
                    self._rest_until = self._clock()
                self._count(known, began, trial=trial)
                if self._rest_until is not None and self._clock() < self._rest_until:
                    raise Resting(self._reason) from error
            raise
        else:
            self._failures, self._rest_until = 0, None
            extra = (self.interval - self._base) * EASING
            self.interval = self._base + (extra if extra > FIRST_INTERVAL / 10 else 0.0)
        finally:
            if trial and self._rest_until == inf:  # cancelled, or a fault of the request: the next one is the trial
                self._rest_until = self._clock()

    def too_fast(self, error: RateLimited, began: float) -> None:
        """Learn from a 429. Calls that began before the last one was learned only set the delay."""
        now, pause = self._clock(), error.retry_after or 0.0
        if began >= self._learned_at:
            self._learned_at = now
            self.interval = min(PATIENCE, max(FIRST_INTERVAL, self.interval * 2))
        self._delay(now, max(self.interval, pause))

    def _delay(self, now: float, seconds: float) -> None:
        self._delayed_until = max(self._delayed_until, now + min(PATIENCE, seconds))
        if seconds > PATIENCE:
            self._blocked_until = max(self._blocked_until, now + seconds)

    def _count(self, error: ProviderError, began: float, *, trial: bool) -> None:
        if self._failures and began < self._last_failure:  # it ran beside a failure that counted
            return
        now, pause = self._clock(), error.retry_after or 0.0
        if not self._failures:
            self._first_failure = began
        self._failures, self._last_failure = self._failures + 1, now
        # A refused key or a spent quota does not pass, and neither does the failure of a trial.
        may_pass = isinstance(error, Unavailable | RateLimited) and not trial
        lasts = not may_pass or now - self._first_failure >= LEAST_SPAN
        if (self._failures >= FAILURES and lasts) or pause > PATIENCE:
            rest = max(REST, pause)
            self._rest_until = now + rest
            times = f"{self._failures} failures in a row" if self._failures > 1 else "a failure"
            self._reason = f"{self._name} rests for {rest:g} s after {times}, the last: {error}"


class RunHealth:
    """The providers that are left out of one run, after failures that will repeat, by name.

    `notice` receives a message for each; `answered` returns the names of those that have answered a chat in this run.
    """

    def __init__(self, notice: Callable[[str], Awaitable[None]], answered: Callable[[], frozenset[str]]) -> None:
        self._notice = notice
        self._answered = answered
        # The last failure of each excluded provider.
        self.excluded: dict[str, CallFailed] = {}
        # Excluded providers that never answered and whose substitute was named in a notice.
        self.never_reached: set[str] = set()
        # Consecutive tasks with network failures by provider, each after all its attempts.
        self._unreachable: Counter[str] = Counter()

    def usable(self, chain: Sequence[str]) -> list[str]:
        """Return the providers of a chain that are not excluded, or else those with network failures.

        Providers with a rejected key or a spent quota are never used again, so the list may be empty.
        """
        usable = [name for name in chain if name not in self.excluded]
        return usable or [name for name in chain if self.excluded[name].record.category == "NETWORK"]

    async def record_failure(self, name: str, failed: CallFailed, chain: Sequence[str]) -> None:
        """Record a failure in a chain, and exclude the provider if further tasks would fail as well."""
        alone, failure = self.usable(chain) == [name], failed.record
        self._unreachable[name] = self._unreachable[name] + 1 if failure.category == "NETWORK" else 0
        # A failure without a key is not a call: no request was sent.
        sent = bool(failed.key) and failure.kind == CHAT
        never_reached = sent and failure.type in _NEVER_REACHED and name not in self._answered()
        lost = never_reached or failure.type == QuotaSpent.__name__ or self.is_unreachable(name)
        permanent = failure.type in _PERMANENT or failure.kind == TRAITS
        if name in self.excluded or not (permanent or (lost and not alone)):
            return
        self.excluded[name] = failed
        others = [other for other in chain if other not in self.excluded]
        absent = "{provider} is left out of this run: {reason}"
        notices = [Notice(absent, "absent", provider=name, reason=failure.message)]
        if never_reached and others:
            self.never_reached.add(name)
            notices.append(Notice("{provider} does its tasks", "substitute", provider=others[0]))
        await self._notice(Notice.several(notices))

    def record_success(self, name: str) -> None:
        """Record that the provider did a task."""
        self._unreachable.pop(name, None)

    def is_unreachable(self, name: str) -> bool:
        """Return whether recent tasks of the provider had network failures, so that one attempt is enough."""
        return self._unreachable[name] >= _MAX_UNREACHABLE


def translate(error: BaseException) -> ProviderError | None:
    """Return the error as a ProviderError, or None if it is a bug of the plugin."""
    match error:
        case ProviderError():
            return error
        case Held(__cause__=BaseException() as cause):
            return translate(cause)
        case BaseExceptionGroup(exceptions=[only]):  # a task group of the plugin, with a single error
            return translate(only)
        case JSONDecodeError():
            return BadReply(f"the body is not JSON: {error}")
        case FileNotFoundError():
            return Unsupported(words(error))
        case PermissionError():
            return Denied(words(error))
        case OSError():  # TimeoutError is one
            return Unavailable(words(error))
    return http_error(error)
