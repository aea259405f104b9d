"""Rate limits per provider and account, for all runs of a client.

Hundreds of runs share one vendor's rate limit, so a limiter belongs to the provider's account, not to a run. With
`leadline.permits` of several processes, the limits hold for all of them.
"""

from __future__ import annotations

import asyncio
import time
from asyncio import Future
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from math import inf

from leadline._runtime.calls.retry import AccountHealth
from leadline.encoding import digest
from leadline.errors import LeadlineError, RateLimited
from leadline.permits import Permits


class Slots:
    """At most `at_once` calls at a time; first come, first served."""

    def __init__(self, at_once: int) -> None:
        if at_once < 1:
            raise ValueError(f"at_once is at least 1, not {at_once}")
        self.at_once = at_once
        self.held = 0
        self._line: deque[Future[None]] = deque()

    @asynccontextmanager
    async def permit(self) -> AsyncIterator[None]:
        """Hold a permit. Retries wait without one."""
        turn: Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        self.pass_on()
        try:
            await turn
            yield
        finally:
            if turn.done() and not turn.cancelled():
                self.held -= 1
                self.pass_on()
            elif turn in self._line:
                self._line.remove(turn)

    def pass_on(self) -> None:
        """Give the free permits to the next in line."""
        while self._line and self.held < self.at_once:
            turn = self._line.popleft()
            if not turn.done():  # else its call was cancelled
                turn.set_result(None)
                self.held += 1


class Limiter:
    """Slots whose calls start when the health of the account allows it."""

    def __init__(self, at_once: int, interval: float = 0.0, *, name: str = "", rests: bool = False) -> None:
        self.slots = Slots(at_once)
        self.health = AccountHealth(name, interval, rests=rests)

    @asynccontextmanager
    async def permit(self, run: Slots | None = None) -> AsyncIterator[None]:
        """Hold a permit, after one of the run, and learn from the outcome of the call. Raises `Resting`."""
        self.health.admit()  # not only after the wait
        if run:
            async with run.permit(), self.permit():
                yield
            return
        async with self.slots.permit():
            await self.health.turn()
            with self.health.attempt():
                yield


class ClientLimits:
    """The limiters of one client by account and limits; several runtimes may use the same account.

    With `permits`, the limits hold for all processes that share them.
    """

    def __init__(self, permits: Permits | None = None) -> None:
        self._permits = permits
        self._limiters: dict[tuple[object, ...], Limiter] = {}

    def limiter(
        self, owner: tuple[str, ...], at_once: int, interval: float, *, name: str, rests: bool, local: bool
    ) -> Limiter:
        """Return the limiter of an account. With `rests`, it takes no calls for a while after failures in a row.

        A `local` one limits work on this machine, which other processes do not share.
        """
        key = (*owner, at_once, interval)
        if key not in self._limiters:
            make: Callable[..., Limiter] = Limiter
            if self._permits and not local:
                make = partial(SharedLimiter, self._permits, digest(repr(key).encode()))
            self._limiters[key] = make(at_once, interval, name=name, rests=rests)
        return self._limiters[key]


# --- limits over several processes ------------------------------------------------------------------------------------


# Seconds between two renewals of a share, and between two requests for a larger one.
RENEWAL, _RETRY = 1.0, 0.1
# Seconds of starts that are reserved at once.
_BLOCK = 1.0
# Seconds by which two ends of a delay may differ and be the same: clocks are read twice.
_SAME = 1.0


class SharedSlots(Slots):
    """Places of this process: none at first, then the share that is renewed while somebody needs it."""

    def __init__(self, permits: Permits, key: str, limit: int, delayed: Callable[[float], None]) -> None:
        super().__init__(limit)
        self.at_once = 0
        self._permits, self._key, self._limit, self._delayed = permits, key, limit, delayed
        self._wanted = self._peak = 0
        self._more = asyncio.Event()
        self._renewing: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def permit(self) -> AsyncIterator[None]:
        """Hold a permit."""
        self._wanted += 1
        self._peak = max(self._peak, self._wanted)
        if self._wanted > self.at_once:
            self._more.set()
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.get_running_loop().create_task(self._renew(), name="permits")
        try:
            async with super().permit():
                yield
        finally:
            self._wanted -= 1

    async def _renew(self) -> None:
        """Renew the share until nobody has needed it since the last renewal."""
        while True:
            self._more.clear()
            wanted, self._peak = max(self._peak, self._wanted), self._wanted
            with suppress(LeadlineError):
                lease = await self._permits.lease(self._key, self._limit, self.held, wanted)
                self.at_once = lease.slots
                if lease.delay > 0:
                    self._delayed(lease.delay)
                self.pass_on()
            if wanted == self._wanted == 0:
                self._renewing = None
                return
            if self._wanted > self.at_once:
                await asyncio.sleep(_RETRY)
            else:
                with suppress(TimeoutError):
                    async with asyncio.timeout(RENEWAL):
                        await self._more.wait()


class SharedHealth(AccountHealth):
    """Starts that are apart from those of the other processes as well; a 429 delays all of them."""

    def __init__(self, permits: Permits, key: str, name: str, interval: float, *, rests: bool) -> None:
        super().__init__(name, interval, rests=rests)
        self._permits, self._key = permits, key
        # The end of the last delay that was told, here or by another process.
        self._told_until = -inf
        self._starts: deque[float] = deque()
        self._telling: set[asyncio.Task[None]] = set()

    async def _reserved(self) -> float:
        """Return the time of the next reserved start."""
        if self.interval <= 0:
            return -inf
        now = time.monotonic()
        while self._starts and self._starts[0] < now - self.interval:  # its call was cancelled
            self._starts.popleft()
        if not self._starts:
            count = max(1, min(self._waiting, int(_BLOCK / self.interval)))
            with suppress(LeadlineError):
                first = time.monotonic() + await self._permits.reserve(self._key, self.interval, count)
                self._starts.extend(first + number * self.interval for number in range(count))
        return self._starts.popleft() if self._starts else now

    def too_fast(self, error: RateLimited, began: float) -> None:
        """Learn from a 429, and tell the other processes."""
        super().too_fast(error, began)
        seconds = max(self.wait(), self.blocked_for())
        if seconds > 0:
            self._told_until = time.monotonic() + seconds
            task = asyncio.get_running_loop().create_task(self._tell(seconds))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _tell(self, seconds: float) -> None:
        with suppress(LeadlineError):
            await self._permits.delay(self._key, seconds)

    def delayed(self, seconds: float) -> None:
        """Learn from another process that no call may start for so many seconds."""
        now = time.monotonic()
        if now + seconds > self._told_until + _SAME:
            self._told_until = now + seconds
            self._delay(now, seconds)


class SharedLimiter(Limiter):
    """A limiter whose limits hold for all processes that share the permits."""

    def __init__(
        self, permits: Permits, key: str, at_once: int, interval: float = 0.0, *, name: str = "", rests: bool = False
    ) -> None:
        health = SharedHealth(permits, key, name, interval, rests=rests)
        self.health, self.slots = health, SharedSlots(permits, key, at_once, health.delayed)
