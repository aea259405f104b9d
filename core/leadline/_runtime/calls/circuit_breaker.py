"""Circuit breakers: a search engine that fails repeatedly gets no calls for a while; they fail at once.

Breakers belong to the process, as limits do. Only errors of the engine itself count, and of concurrent failures only
one: five requests during one short outage prove nothing, three in a row without a success do. Those must be spread over
some time, for an engine that fails one time in ten also fails three times in a row once in a thousand requests.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from leadline._runtime.calls.limits import PATIENCE, Limit, ProcessRegistry
from leadline._runtime.calls.retry import translate
from leadline.errors import Denied, ProviderError, QuotaSpent, RateLimited, Resting, Unavailable

# Errors of the engine; other errors are about the request.
_ENGINE_ERRORS = (Unavailable, RateLimited, QuotaSpent, Denied)
# Seconds over which an engine must have failed before its breaker opens. With 2, three random failures on a busy
# machine stopped the only engine of 58 runs.
LEAST_SPAN = 5.0


class CircuitBreaker:
    """Opens for `rest` seconds after `after` consecutive failures over at least 5 s.

    Then one trial request is made; the others fail until it has succeeded.
    """

    def __init__(
        self, name: str, after: int = 3, rest: float = 60.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._name = name
        self._after = after
        self._rest = rest
        self._clock = clock
        self._failures = 0
        self._first_failure = 0.0
        self._last_counted = 0.0
        self._open_until: float | None = None
        self._in_trial = False
        self._message = ""

    def admit(self) -> None:
        """Raise `Resting` while the breaker is open."""
        if self._open_until is not None and (self._in_trial or self._clock() < self._open_until):
            raise Resting(self._message)

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[None]:
        """Watch one request. If its failure opens the breaker, raise `Resting`, which is not retried."""
        self.admit()
        began, is_trial = self._clock(), self._open_until is not None
        self._in_trial = is_trial
        try:
            yield
        except Exception as error:
            known = translate(error)
            if isinstance(known, _ENGINE_ERRORS):
                self._count(known, began)
                self._in_trial = False
                if self._open_until is not None and self._clock() < self._open_until:
                    raise Resting(self._message) from error
            raise
        else:
            self._failures, self._open_until = 0, None
        finally:
            self._in_trial = self._in_trial and not is_trial

    def _count(self, error: ProviderError, began: float) -> None:
        if self._failures and began < self._last_counted:  # it ran beside a failure that counted
            return
        now, pause = self._clock(), error.retry_after or 0.0
        if not self._failures:
            self._first_failure = began
        self._failures, self._last_counted = self._failures + 1, now
        # A refused key or a spent quota does not pass, and neither does the failure of a trial.
        may_pass = isinstance(error, Unavailable | RateLimited) and self._open_until is None
        long_enough = not may_pass or now - self._first_failure >= LEAST_SPAN
        if (self._failures >= self._after and long_enough) or pause > PATIENCE:
            rest = max(self._rest, pause)
            self._open_until = now + rest
            times = f"{self._failures} failures in a row" if self._failures > 1 else "a failure"
            self._message = f"{self._name} rests for {rest:g} s after {times}, the last: {error}"


class BreakerLimit:
    """A limit with a circuit breaker, which is checked before and after the wait for a permit."""

    def __init__(self, breaker: CircuitBreaker, limit: Limit) -> None:
        self._breaker = breaker
        self._limit = limit

    @asynccontextmanager
    async def permit(self) -> AsyncIterator[None]:
        """Hold a permit; raises `Resting`."""
        self._breaker.admit()
        async with self._limit.permit(), self._breaker.attempt():
            yield


# By plugin and account.
BREAKERS: ProcessRegistry[CircuitBreaker] = ProcessRegistry()
