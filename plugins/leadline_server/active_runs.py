"""The active orders of the queue, as the server last saw them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from leadline_server.queue import Queue, QueuedRun, QueueUnavailable

log = logging.getLogger("leadline.server")
# Seconds that a look at the queue waits for a change.
_WAIT = 1.0
# Seconds between two looks at least: many small changes are seen together.
_PAUSE = 0.02


class ActiveRuns:
    """The active orders by run id. Use it on one event loop."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        # Called with every order that has ended.
        self.when_ended: Callable[[QueuedRun], Awaitable[None]] | None = None
        # Increases with every change.
        self.version = 0
        self._known: dict[str, QueuedRun] = {}
        self._changed = asyncio.Event()
        self._refreshing = asyncio.Lock()
        self._watcher = ThreadPoolExecutor(1, "queue watcher")
        self._telling: set[asyncio.Task[None]] = set()

    async def follow(self) -> None:
        """Follow the queue until this is cancelled. Raises `QueueUnavailable` if it does not answer at first."""
        await self.refresh()
        loop = asyncio.get_running_loop()
        try:
            while True:
                with suppress(QueueUnavailable):
                    await loop.run_in_executor(self._watcher, self.queue.wait, _WAIT)
                    await self.refresh()
                await asyncio.sleep(_PAUSE)
        finally:
            self._watcher.shutdown(wait=False)

    async def refresh(self) -> None:
        """Read the queue now."""
        async with self._refreshing:
            active = {run.run_id: run for run in await asyncio.to_thread(self.queue.active, self._known)}
            ended = [run for run_id, run in self._known.items() if run_id not in active]
            if active != self._known:
                self._change(active)
        for run in ended:
            if self.when_ended:
                task = asyncio.ensure_future(self.when_ended(run))
                self._telling.add(task)
                task.add_done_callback(self._told)

    async def add(self, run_id: str, principal: str | None) -> None:
        """Read one new order now."""
        async with self._refreshing:
            run = await asyncio.to_thread(self.queue.get, run_id, principal)
            if run and run.is_active:
                self._change({run_id: run, **self._known})

    def _change(self, known: dict[str, QueuedRun]) -> None:
        self._known = known
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    def _told(self, task: asyncio.Task[None]) -> None:
        self._telling.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("a run that ended was not counted", exc_info=error)

    async def changed(self, version: int, seconds: float) -> None:
        """Return when an order was added, moved on or ended since `version`, or after so many seconds."""
        if self.version == version:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._changed.wait()

    def get(self, run_id: str, principal: str | None) -> QueuedRun | None:
        run = self._known.get(run_id)
        return run if run and run.principal == principal else None

    def of(self, principal: str | None) -> list[QueuedRun]:
        """Return the active orders of a principal, newest first."""
        return [run for run in self._known.values() if run.principal == principal]

    def all(self) -> list[QueuedRun]:
        """Return the active orders of everybody."""
        return [*self._known.values()]

    def before(self, run_id: str) -> int:
        """Return how many waiting runs begin before one at most: users take turns, and each one's come by age."""
        waiting = sorted((run for run in self._known.values() if run.state == "waiting"), key=lambda run: run.ordered)
        principal = next((run.principal for run in waiting if run.run_id == run_id), None)
        own = [run.run_id for run in waiting if run.principal == principal]
        turn = own.index(run_id) if run_id in own else 0
        others = Counter(run.principal for run in waiting if run.principal != principal)
        return turn + sum(min(count, turn + 1) for count in others.values()) if run_id in own else 0

    def waiting(self) -> tuple[int, float]:
        """Return how many orders wait for a worker, and for how many seconds the oldest one does."""
        times = [run.ordered for run in self._known.values() if run.state == "waiting"]
        return len(times), max(0.0, time.time() - min(times)) if times else 0.0

    def claimed(self) -> int:
        """Return how many orders workers have taken."""
        return sum(run.state == "claimed" for run in self._known.values())
