"""An observer at its work, with a queue and a task of its own: it can neither slow a run nor break it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from leadline.contracts import Observer
from leadline.door.faults import wished
from leadline.records import Event

FAILURES = 3
"""After so many an observer is dropped."""


class Watcher:
    """One observer; `report` is told of each failure: its name, how many there were, the error."""

    def __init__(self, name: str, observer: Observer, report: Callable[[str, int, BaseException], None]) -> None:
        self.name = name
        self.deltas = bool(getattr(observer, "deltas", True))
        self._observer = observer
        self._report = report
        self._queue: asyncio.Queue[Event | asyncio.Future[None]] = asyncio.Queue()
        self._failures = 0
        self._task: asyncio.Task[None] | None = None

    @property
    def watching(self) -> bool:
        """Whether it has not failed too often yet."""
        return self._failures < FAILURES

    def put(self, item: Event | asyncio.Future[None]) -> None:
        """Queue an event, or a mark that is set when all before it is taken in."""
        if self.watching:
            self._queue.put_nowait(item)
            self._task = self._task or asyncio.create_task(self._watch(), name=f"observer {self.name}")

    async def in_time(self, grace: float) -> bool:
        """Wait until what is queued is taken in; returns whether that was done within the grace (seconds)."""
        if self._task is None:
            return True
        mark: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.put(mark)
        done, _ = await asyncio.wait({mark, self._task}, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)

    async def stop(self, grace: float) -> None:
        """Stop it, and wait for its end so many seconds at the most."""
        if self._task:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=grace)

    async def _watch(self) -> None:
        while self.watching:
            item = await self._queue.get()
            if isinstance(item, asyncio.Future):
                item.set_result(None)
            else:
                await self._show(item)

    async def _show(self, event: Event) -> None:
        try:
            await self._observer.observe(event)
        except BaseException as error:
            if wished(error):
                raise
            self._failures += 1
            self._report(self.name, self._failures, error)
