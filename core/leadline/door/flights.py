"""Calls under way, each a task of the door's own that several callers may wait for.

A caller that is cancelled leaves; the last one to leave stops the flight. So a shared answer is paid for once, and one
stage's cancellation is never another's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from leadline.errors import PluginError

T = TypeVar("T")
GRACE = 5.0
"""Seconds that a flight has to end once it is cancelled."""


@dataclass(eq=False)
class Flight(Generic[T]):
    """One call under way."""

    key: str
    name: str
    task: asyncio.Task[T] = field(init=False)
    waiters: int = 0
    boards: set[str] = field(default_factory=set)
    """Keys of the flights that the callers inside this one wait for."""
    cut: asyncio.Timeout | None = None
    """The scope by which work is stopped: never `task.cancel()`, whose CancelledError would hit the waiters."""
    dying: bool = False


class Flights(Generic[T]):
    """The table of calls under way, by key. `late` is told of a flight that ignores its cancellation."""

    def __init__(self, late: Callable[[str], None], grace: float = GRACE) -> None:
        self._late = late
        self._grace = grace
        self._flying: dict[str, Flight[T]] = {}
        self._all: set[Flight[T]] = set()

    async def board(
        self, key: str, name: str, start: Callable[[Flight[T]], Coroutine[Any, Any, T]], caller: str = ""
    ) -> tuple[T, bool]:
        """Wait for the flight of this key, started if there is none; returns its result and whether it was shared.

        `caller` is the key of the flight that waits; raises PluginError where two would wait for each other.
        """
        flight = self._flying.get(key)
        shared = flight is not None
        if flight is None:
            flight = self._start(key, name, start)
        self._watch_circles(flight, caller)
        try:
            return await self._wait(flight), shared
        finally:
            if waiting := self._flying.get(caller):
                waiting.boards.discard(key)

    def current(self, flight: Flight[T]) -> bool:
        """Return whether no newer flight has the key."""
        return self._flying.get(flight.key, flight) is flight

    def all(self) -> list[Flight[T]]:
        """Return the flights that have not ended."""
        return list(self._all)

    async def close(self) -> None:
        """Stop every flight, and wait for its end."""
        await asyncio.gather(*(self._stop(flight) for flight in self.all()))

    def _start(self, key: str, name: str, start: Callable[[Flight[T]], Coroutine[Any, Any, T]]) -> Flight[T]:
        flight: Flight[T] = Flight(key, name)
        flight.task = asyncio.create_task(start(flight), name=f"call {name}")
        self._flying[key] = flight
        self._all.add(flight)
        flight.task.add_done_callback(lambda task: self._landed(flight, task))
        return flight

    def _landed(self, flight: Flight[T], task: asyncio.Task[T]) -> None:
        self._all.discard(flight)
        self._leave(flight)
        if not task.cancelled():
            task.exception()  # whoever waits has it; where nobody does, it is no news

    def _leave(self, flight: Flight[T]) -> None:
        if self._flying.get(flight.key) is flight:
            del self._flying[flight.key]

    def _watch_circles(self, flight: Flight[T], caller: str) -> None:
        waiting = self._flying.get(caller)
        if waiting is None:
            return
        if self._reaches(flight.key, caller):
            raise PluginError(f"{flight.name} waits for itself, by way of {waiting.name}: break the circle")
        waiting.boards.add(flight.key)

    def _reaches(self, start: str, goal: str) -> bool:
        if start == goal:
            return True
        flight = self._flying.get(start)
        return flight is not None and any(self._reaches(key, goal) for key in flight.boards)

    async def _wait(self, flight: Flight[T]) -> T:
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiters -= 1
            if not flight.waiters and not flight.task.done():
                await self._stop(flight)

    async def _stop(self, flight: Flight[T]) -> None:
        self._leave(flight)  # first: a newcomer must not board a dying flight
        flight.dying = True
        flight.task.cancel()
        _, late = await asyncio.wait({flight.task}, timeout=self._grace)
        if late:
            self._late(f"{flight.name} goes on {self._grace:g} s after it was cancelled")
