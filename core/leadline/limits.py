"""How many calls at once, and how soon after one another: per provider, for the whole process.

Two hundred runs share one vendor's rate limit, so a limiter belongs to the provider and never to a run.
"""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, Semaphore
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Protocol
from weakref import WeakKeyDictionary


class Permits(Protocol):
    """Whatever lets calls through."""

    def permit(self) -> AbstractAsyncContextManager[None]:
        """Hold a permit."""
        ...


class Limiter:
    """Lets `at_once` calls through at a time, their starts at least `interval` seconds apart."""

    def __init__(self, at_once: int, interval: float = 0.0) -> None:
        if at_once < 1 or interval < 0:
            raise ValueError(f"at_once is at least 1 and interval at least 0, not {at_once} and {interval}")
        self.at_once = at_once
        self.interval = interval
        self._next = 0.0
        # A semaphore belongs to one event loop; the synchronous API starts a new one for each run.
        self._permits: WeakKeyDictionary[AbstractEventLoop, Semaphore] = WeakKeyDictionary()

    @asynccontextmanager
    async def permit(self) -> AsyncIterator[None]:
        """Hold a permit. Retries sleep outside of it."""
        loop = asyncio.get_running_loop()
        async with self._permits.setdefault(loop, Semaphore(self.at_once)):
            if self.interval:
                await self._turn(loop.time())
            yield

    async def _turn(self, now: float) -> None:
        start = max(now, self._next)
        self._next = start + self.interval
        await asyncio.sleep(start - now)


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
