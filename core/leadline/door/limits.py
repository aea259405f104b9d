"""How many calls at once, and how soon after one another: per provider, for the whole process.

Two hundred runs share one vendor's rate limit, so a limiter belongs to the provider's account and never to a run, a
client or an event loop: `LIMITERS` has them. It learns: a 429 lets the next calls wait longer, and what goes well
shortens the wait again, slowly.
"""

from __future__ import annotations

import asyncio
import time
from asyncio import AbstractEventLoop, Future
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from math import inf
from threading import RLock
from typing import Protocol

from leadline.door.retry import translate
from leadline.door.shared import Shared
from leadline.errors import RateLimited

FIRST_LESSON = 0.1
"""Seconds between two starts after the first 429."""
PATIENCE = 30.0
"""The longest that calls are held back; a server that asks for more is better left alone."""
EASING = 0.8
"""What is left of a learned interval after each call that went well: with one 429 in ten calls it still shrinks."""


class Permits(Protocol):
    """Whatever lets calls through."""

    def permit(self) -> AbstractAsyncContextManager[None]:
        """Hold a permit."""
        ...


class Pace:
    """Seconds between two starts: `base`, doubled by each 429 and eased back by each call that goes well.

    One call at a time waits for the next start, and looks again when it comes: a start that was given out as a call
    came in would stand though the provider has asked since for more patience, or for less.
    """

    def __init__(self, base: float) -> None:
        self.base = base
        self.interval = base
        self._last = -inf
        """When the last call started."""
        self._held = -inf
        """Until when a 429 holds all of them back."""
        self._away = -inf
        """Until when the provider wants to be left alone, for longer than anybody waits."""
        self._learned = -inf
        self._line = Slots(1)

    async def turn(self) -> None:
        """Wait for the next start, and take it."""
        async with self._line.permit():
            wait = self.wait(time.monotonic())
            while wait > 0:
                await asyncio.sleep(wait)
                wait = self.wait(time.monotonic())
            self._last = time.monotonic()

    def wait(self, now: float) -> float:
        """Return the seconds until the next start; 0 or less: at once."""
        return max(self._held, self._last + self.interval) - now

    def went_well(self) -> None:
        """Ease a learned interval."""
        extra = (self.interval - self.base) * EASING
        self.interval = self.base + (extra if extra > FIRST_LESSON / 10 else 0.0)

    def too_fast(self, error: RateLimited, began: float, now: float) -> None:
        """Learn from a 429; of calls that had begun before the last lesson only how long to hold back."""
        if began >= self._learned:
            self._learned = now
            self.interval = min(PATIENCE, max(FIRST_LESSON, self.interval * 2))
        wait = min(PATIENCE, max(self.interval, error.retry_after or 0.0))
        self._held = max(self._held, now + wait)
        if (error.retry_after or 0.0) > PATIENCE:
            self._away = max(self._away, now + (error.retry_after or 0.0))

    def away(self, now: float) -> float:
        """Return for how long the provider wants to be left alone; 0 unless it is for longer than anybody waits."""
        return max(0.0, self._away - now)


class Slots:
    """Lets `at_once` calls through at a time, of all event loops of the process together, the first come first."""

    def __init__(self, at_once: int) -> None:
        if at_once < 1:
            raise ValueError(f"at_once is at least 1, not {at_once}")
        self.at_once = at_once
        self._held: Counter[AbstractEventLoop] = Counter()
        self._line: deque[tuple[AbstractEventLoop, Future[None]]] = deque()
        self._lock = RLock()  # a call that is dropped with its loop lets go wherever the collector finds it

    @asynccontextmanager
    async def permit(self) -> AsyncIterator[None]:
        """Hold a permit. Retries sleep outside of it."""
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
                else:  # its turn had come as it was called off
                    self._give(loop)
            raise

    def _free(self) -> bool:
        """Return whether nobody has to wait; what a loop held that is closed is nobody's."""
        if self._held.total() >= self.at_once:
            for loop in [loop for loop in self._held if loop.is_closed()]:
                del self._held[loop]
        return self._held.total() < self.at_once

    def _give(self, loop: AbstractEventLoop) -> None:
        """Take a permit back, and let the next in line through."""
        with self._lock:
            self._held[loop] -= 1
            if self._held[loop] <= 0:
                del self._held[loop]
            while self._line and self._free():
                other, turn = self._line.popleft()
                if _tell(other, turn):
                    self._held[other] += 1


def _tell(loop: AbstractEventLoop, turn: Future[None]) -> bool:
    """Tell a call that its turn has come; returns whether its loop can still hear it."""
    with suppress(RuntimeError):  # none runs here
        if asyncio.get_running_loop() is loop:
            _come(turn)
            return True
    with suppress(RuntimeError):  # closed
        loop.call_soon_threadsafe(_come, turn)
        return True
    return False


def _come(turn: Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


class Limiter:
    """Slots whose calls start at least `interval` seconds apart, and further where the provider says so."""

    def __init__(self, at_once: int, interval: float = 0.0) -> None:
        if interval < 0:
            raise ValueError(f"interval is at least 0, not {interval}")
        self._slots = Slots(at_once)
        self.pace = Pace(interval)

    def held(self) -> float:
        """Return the seconds until the next call may start."""
        return max(0.0, self.pace.wait(time.monotonic()))

    def away(self) -> float:
        """Return for how long the provider wants to be left alone."""
        return self.pace.away(time.monotonic())

    @asynccontextmanager
    async def permit(self) -> AsyncIterator[None]:
        """Hold a permit, and learn from how its call goes."""
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


class Both:
    """Two limits at once: the run's own before the provider's, so that a run waits in its own line first."""

    def __init__(self, run: Permits, provider: Permits | None) -> None:
        self._run = run
        self._provider = provider

    @asynccontextmanager
    async def permit(self) -> AsyncIterator[None]:
        """Hold a permit of each."""
        async with self._run.permit(), self._provider.permit() if self._provider else nullcontext():
            yield


LIMITERS: Shared[Limiter] = Shared()
"""Those of the process, by plugin, account and limits."""
