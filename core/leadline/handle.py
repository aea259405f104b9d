"""A run under way: its events, its end, and how to stop it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from leadline.events import Subscription
from leadline.result import Result
from leadline.runs.session import Session


class RunHandle:
    """A run under way, as `Client.start` returns it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._events = session.events()
        self._task = asyncio.create_task(session.go(), name=f"run {session.order.run_id}")

    @property
    def id(self) -> str:
        """The id of the run: the name of its folder."""
        return self._session.order.run_id

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return self._session.folder

    def events(self) -> Subscription:
        """Return the events from the run's start, as an async iterator that ends with the run; for one reader."""
        return self._events

    def subscribe(self) -> Subscription:
        """Return the events from now on, for a further reader."""
        return self._session.events()

    def stop(self, reason: str = "stopped") -> None:
        """Search no further; what is found so far is written up, and the run ends as `partial`."""
        self._session.stop(reason)

    def waited_for(self) -> int:
        """Return how many replies of models a stopped run still waits for before it is written up."""
        return self._session.door.waited_for()

    def when_ended(self, do: Callable[[RunHandle], object]) -> None:
        """Call it on the event loop when the run has ended, however it did."""
        self._task.add_done_callback(lambda _: do(self))

    async def cancel(self, reason: str = "cancelled") -> None:
        """End the run at once; what had returned is kept, and `resume` goes on from there."""
        self._session.why_cancelled = reason
        self._task.cancel()
        await asyncio.wait({self._task})

    async def result(self) -> Result:
        """Wait for the end and return how it was."""
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if self._task.cancelled() and self._session.ended is not None:
                return self._session.ended
            raise
