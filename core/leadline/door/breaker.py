"""A breaker for each search engine: one that fails time and again rests, and its calls fail at once.

It belongs to the process, as limits do. Only what is the engine's own trouble counts, and of failures side by side only
one: five requests into one short outage are no proof, three in a row are, where nothing went well for a while. For an
engine that fails one time in ten has three in a row as well, once a thousand requests are made of it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from leadline.door.limits import PATIENCE, Permits
from leadline.door.retry import translate
from leadline.door.shared import Shared
from leadline.errors import Denied, ProviderError, QuotaSpent, RateLimited, Resting, Unavailable

_ITS_OWN = (Unavailable, RateLimited, QuotaSpent, Denied)
"""Errors that say something about the engine; others say it about the request."""
LASTING = 5.0
"""Seconds for which an engine has failed, at the least, before it rests. With 2, three random failures on a busy
machine let the only engine of 58 runs rest."""


class Breaker:
    """Counts an engine's failures in a row; after `after` of them, over 5 s or more, it rests `rest` seconds.

    Then one request goes out to see, and while it is under way the others still fail. An `after` of 0 lets it never
    rest.
    """

    def __init__(self, name: str, after: int, rest: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._after = after
        self._rest = rest
        self._clock = clock
        self._failures = 0
        self._first = 0.0
        self._known = 0.0
        self._until: float | None = None
        self._trying = False
        self._why = ""

    def admit(self) -> None:
        """Raise `Resting` while the engine rests."""
        if self._until is not None and (self._trying or self._clock() < self._until):
            raise Resting(self._why)

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[None]:
        """Watch one request. Its failure is raised as `Resting`, and so not repeated, where the engine rests by now."""
        self.admit()
        began, trying = self._clock(), self._until is not None
        self._trying = trying
        try:
            yield
        except Exception as error:
            known = translate(error)
            if isinstance(known, _ITS_OWN):
                self._failed(known, began)
                self._trying = False
                if self._after and self._until is not None and self._clock() < self._until:
                    raise Resting(self._why) from error
            raise
        else:
            self._failures, self._until = 0, None
        finally:
            self._trying = self._trying and not trying

    def _failed(self, error: ProviderError, began: float) -> None:
        now, pause = self._clock(), error.retry_after or 0.0
        if not self._after or (self._failures and began < self._known):
            return
        if not self._failures:
            self._first = began
        self._failures, self._known = self._failures + 1, now
        passing = isinstance(error, Unavailable | RateLimited) and self._until is None
        lasting = not passing or now - self._first >= LASTING
        if (self._failures >= self._after and lasting) or pause > PATIENCE:
            rest = max(self._rest, pause)
            self._until = now + rest
            times = f"{self._failures} failures in a row" if self._failures > 1 else "a failure"
            self._why = f"{self._name} rests for {rest:g} s after {times}, the last: {error}"


class Guarded:
    """Limits behind a breaker: whoever rests is told so before the wait in line, and again at its end."""

    def __init__(self, breaker: Breaker, permits: Permits) -> None:
        self._breaker = breaker
        self._permits = permits

    @asynccontextmanager
    async def permit(self) -> AsyncIterator[None]:
        """Hold a permit; raises `Resting`."""
        self._breaker.admit()
        async with self._permits.permit(), self._breaker.attempt():
            yield


BREAKERS: Shared[Breaker] = Shared()
"""Those of the process, by plugin, account and how soon it rests."""
