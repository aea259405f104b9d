"""Single flight: identical calls at the same time share one task.

The task belongs to the call path, not to a caller. A cancelled caller leaves; the last one to leave cancels the task.
So a shared call is paid for once, and the cancellation of one stage never reaches another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from leadline.errors import PluginError

T = TypeVar("T")


@dataclass(eq=False)
class InFlight(Generic[T]):
    """One call in flight, with the number of callers that wait for it."""

    key: str
    name: str
    task: asyncio.Task[T] = field(init=False)
    waiters: int = 0
    # Keys of the calls that the code inside this one waits for.
    waits_for: set[str] = field(default_factory=set)


class SingleFlight(Generic[T]):
    """The calls in flight by key."""

    def __init__(self) -> None:
        self._by_key: dict[str, InFlight[T]] = {}
        self._all: set[InFlight[T]] = set()

    async def join(
        self, key: str, name: str, start: Callable[[InFlight[T]], Coroutine[Any, Any, T]], caller: str = ""
    ) -> tuple[T, bool]:
        """Wait for the call with this key, started if there is none; return its result and True if it was shared.

        `caller` is the key of the composite call that waits. Raises PluginError if two would wait for each other.
        """
        call = self._by_key.get(key)
        shared = call is not None
        if call is None:
            call = self._start(key, name, start)
        self._check_cycle(call, caller)
        call.waiters += 1
        try:
            return await asyncio.shield(call.task), shared
        finally:
            if waiting := self._by_key.get(caller):
                waiting.waits_for.discard(key)
            call.waiters -= 1
            if not call.waiters and not call.task.done():
                await self._stop(call)

    def is_current(self, call: InFlight[T]) -> bool:
        """Return True unless a newer call has taken the key of a cancelled one."""
        return self._by_key.get(call.key, call) is call

    async def ended(self, key: str) -> None:
        """Wait for the end of the call with this key, if it is in flight."""
        if call := self._by_key.get(key):
            await asyncio.wait({call.task})

    async def close(self) -> None:
        """Cancel every call and wait for its end."""
        await asyncio.gather(*(self._stop(call) for call in list(self._all)))

    def _start(self, key: str, name: str, start: Callable[[InFlight[T]], Coroutine[Any, Any, T]]) -> InFlight[T]:
        call: InFlight[T] = InFlight(key, name)
        call.task = asyncio.create_task(start(call), name=f"call {name}")
        self._by_key[key] = call
        self._all.add(call)
        call.task.add_done_callback(lambda task: self._done(call, task))
        return call

    def _done(self, call: InFlight[T], task: asyncio.Task[T]) -> None:
        self._all.discard(call)
        self._remove(call)
        if not task.cancelled():
            task.exception()  # marks it as retrieved: each waiter raises it

    def _remove(self, call: InFlight[T]) -> None:
        if self._by_key.get(call.key) is call:
            del self._by_key[call.key]

    def _check_cycle(self, call: InFlight[T], caller: str) -> None:
        waiting = self._by_key.get(caller)
        if waiting is None:
            return
        if self._reaches(call.key, caller):
            raise PluginError(f"{call.name} waits for itself through {waiting.name}: break the cycle")
        waiting.waits_for.add(call.key)

    def _reaches(self, start: str, goal: str) -> bool:
        if start == goal:
            return True
        call = self._by_key.get(start)
        return call is not None and any(self._reaches(key, goal) for key in call.waits_for)

    async def _stop(self, call: InFlight[T]) -> None:
        self._remove(call)  # first, so that no new caller joins a call that is being cancelled
        call.task.cancel()
        # Bounded, although a provider may ignore its cancellation: an attempt waits a few seconds for it.
        await asyncio.wait({call.task})
