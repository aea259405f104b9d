"""Rate limits per provider and account, for the whole process.

Hundreds of runs share one vendor's rate limit, so a limiter belongs to the provider's account, not to a run, a client
or an event loop: `LIMITERS` holds them. It adapts: a 429 makes the next calls wait longer, and each success slowly
shortens the wait again.
"""

from __future__ import annotations

import asyncio
import time
from asyncio import AbstractEventLoop, Future
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from math import inf
from threading import Lock, RLock
from typing import Generic, Protocol, TypeVar
from weakref import WeakSet

from leadline._runtime.calls.retry import translate
from leadline.errors import RateLimited

T = TypeVar("T")
# Seconds between two starts after the first 429.
FIRST_INTERVAL = 0.1
# The longest that calls are delayed. A server that asks for more gets no calls: another provider is faster.
PATIENCE = 30.0
# The factor by which each success shortens a learned interval: with one 429 in ten calls it still shrinks.
EASING = 0.8


class ProcessRegistry(Generic[T]):
    """Objects that the clients of a process share by key, each kept while somebody uses it; thread-safe."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[T, WeakSet[object]]] = {}
        self._lock = Lock()

    def take(self, key: Hashable, user: object, make: Callable[[], T]) -> T:
        """Return the object with this key, created if nobody uses one; `user` holds it until it leaves or is gone."""
        with self._lock:
            thing, users = self._kept.get(key, (None, None))
            if thing is None or not users:
                thing, users = self._kept[key] = make(), WeakSet()
            users.add(user)
            return thing

    def leave(self, user: object) -> None:
        """Release everything that a user holds; drop the objects that nobody uses any more."""
        with self._lock:
            for _, users in self._kept.values():
                users.discard(user)
            self._kept = {key: (thing, users) for key, (thing, users) in self._kept.items() if users}


class Limit(Protocol):
    """A limit of concurrent calls."""

    def permit(self) -> AbstractAsyncContextManager[None]:
        """Hold a permit."""
        ...


class Pace:
    """Seconds between two starts: `base`, doubled by each 429 and shortened by each success.

    One call at a time waits for the next start and computes it again after the wait: the provider may have asked for
    a longer or a shorter one meanwhile.
    """

    def __init__(self, base: float) -> None:
        self.base = base
        self.interval = base
        self._last_start = -inf
        # A 429 delays all calls until then.
        self._delayed_until = -inf
        # The provider asked for no calls until then, for longer than a call waits.
        self._blocked_until = -inf
        self._learned_at = -inf
        self._line = Slots(1)

    async def turn(self) -> None:
        """Wait for the next start, and take it."""
        async with self._line.permit():
            wait = self.wait(time.monotonic())
            while wait > 0:
                await asyncio.sleep(wait)
                wait = self.wait(time.monotonic())
            self._last_start = time.monotonic()

    def wait(self, now: float) -> float:
        """Return the seconds until the next start; 0 or less: at once."""
        return max(self._delayed_until, self._last_start + self.interval) - now

    def went_well(self) -> None:
        """Ease a learned interval."""
        extra = (self.interval - self.base) * EASING
        self.interval = self.base + (extra if extra > FIRST_INTERVAL / 10 else 0.0)

    def too_fast(self, error: RateLimited, began: float, now: float) -> None:
        """Learn from a 429. Calls that began before the last one was learned only set the delay."""
        if began >= self._learned_at:
            self._learned_at = now
            self.interval = min(PATIENCE, max(FIRST_INTERVAL, self.interval * 2))
        wait = min(PATIENCE, max(self.interval, error.retry_after or 0.0))
        self._delayed_until = max(self._delayed_until, now + wait)
        if (error.retry_after or 0.0) > PATIENCE:
            self._blocked_until = max(self._blocked_until, now + (error.retry_after or 0.0))

    def blocked_for(self, now: float) -> float:
        """Return the seconds for which the provider asked for no calls, if that is longer than a call waits; else 0."""
        return max(0.0, self._blocked_until - now)


class Slots:
    """At most `at_once` calls at a time over all event loops of the process; first come, first served."""

    def __init__(self, at_once: int) -> None:
        if at_once < 1:
            raise ValueError(f"at_once is at least 1, not {at_once}")
        self.at_once = at_once
        self._held: Counter[AbstractEventLoop] = Counter()
        self._line: deque[tuple[AbstractEventLoop, Future[None]]] = deque()
        self._lock = RLock()  # the garbage collector may release the permit of a call whose loop is gone, anywhere

    @asynccontextmanager
    async def permit(self) -> AsyncIterator[None]:
        """Hold a permit. Retries wait without one."""
        loop = asyncio.get_running_loop()
        await self._take(loop)
        try:
            yield
        finally:
            self._give(loop)

    async def _take(self, loop: AbstractEventLoop) -> None:
        with self._lock:
            if self._free():
                self._held[loop] += 1
                return
            turn = loop.create_future()
            self._line.append((loop, turn))
        try:
            await turn
        except BaseException:
            with self._lock:
                if (loop, turn) in self._line:
                    self._line.remove((loop, turn))
                else:  # its turn came while it was cancelled
                    self._give(loop)
            raise

    def _free(self) -> bool:
        """Return True if a permit is free; drop those of closed loops."""
        if self._held.total() >= self.at_once:
            for loop in [loop for loop in self._held if loop.is_closed()]:
                del self._held[loop]
        return self._held.total() < self.at_once

    def _give(self, loop: AbstractEventLoop) -> None:
        """Return a permit, and pass it to the next in line."""
        with self._lock:
            self._held[loop] -= 1
            if self._held[loop] <= 0:
                del self._held[loop]
            self.pass_on()

    def pass_on(self) -> None:
        """Pass the free permits to the next in line."""
        with self._lock:
            while self._line and self._free():
                other, turn = self._line.popleft()
                if _wake(other, turn):
                    self._held[other] += 1


def _wake(loop: AbstractEventLoop, turn: Future[None]) -> bool:
    """Wake a call whose turn has come; return False if its loop is closed."""
    with suppress(RuntimeError):  # none runs here
        if asyncio.get_running_loop() is loop:
            _set(turn)
            return True
    with suppress(RuntimeError):  # closed
        loop.call_soon_threadsafe(_set, turn)
        return True
    return False


def _set(turn: Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


class Limiter:
    """Slots whose calls start at least `interval` seconds apart, and further apart after a 429."""

    def __init__(self, at_once: int, interval: float = 0.0) -> None:
        if interval < 0:
            raise ValueError(f"interval is at least 0, not {interval}")
        self._slots = Slots(at_once)
        self.pace = Pace(interval)

    def wait_time(self) -> float:
        """Return the seconds until the next call may start."""
        return max(0.0, self.pace.wait(time.monotonic()))

    def blocked_for(self) -> float:
        """Return the seconds for which the provider asked for no calls, if that is longer than a call waits."""
        return self.pace.blocked_for(time.monotonic())

    @asynccontextmanager
    async def permit(self) -> AsyncIterator[None]:
        """Hold a permit, and learn from the outcome of its call."""
        clock = time.monotonic  # an event loop may have a time of its own
        async with self._slots.permit():
            await self.pace.turn()
            began = clock()
            try:
                yield
            except Exception as error:
                if isinstance(known := translate(error), RateLimited):
                    self.pace.too_fast(known, began, clock())
                raise
            self.pace.went_well()


class RunAndProviderLimit:
    """The limit of the run, then that of the provider: a run waits in its own line first."""

    def __init__(self, run: Limit, provider: Limit | None) -> None:
        self._run = run
        self._provider = provider

    @asynccontextmanager
    async def permit(self) -> AsyncIterator[None]:
        """Hold a permit of each."""
        async with self._run.permit(), self._provider.permit() if self._provider else nullcontext():
            yield


# By plugin, account and limits.
LIMITERS: ProcessRegistry[Limiter] = ProcessRegistry()
