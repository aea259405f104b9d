"""Calls in flight: shared by those who make the same call, refused and interrupted by a shutdown.

A shutdown, by a stop or because the time of the run is spent, refuses calls outside the closing stages and interrupts
those in flight, by a timeout scope and never by `task.cancel()`, whose CancelledError would reach everybody who waits
for the call. Calls with an effect are never interrupted. Free work (parsing, judging without a model) goes on until one
later deadline, so that pages that were fetched are read; before any of it has a reply it goes on without end, for
without a reply there is no report.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from leadline._runtime.calls.budget import Budget
from leadline._runtime.calls.job import CHAT, Job
from leadline._runtime.calls.outcomes import Outcome
from leadline.errors import PluginError
from leadline.records import Notice

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

    @asynccontextmanager
    async def joined(
        self, key: str, name: str, start: Callable[[InFlight[T]], Coroutine[Any, Any, T]], caller: str = ""
    ) -> AsyncIterator[tuple[asyncio.Task[T], bool]]:
        """Provide the task of the call with this key, started if there is none, and True if it is shared.

        Await it shielded: it is stopped when the last of those who joined it leaves. `caller` is the key of the
        composite call that waits. Raises PluginError if two would wait for each other.
        """
        call = self._by_key.get(key)
        shared = call is not None
        if call is None:
            call = self._start(key, name, start)
        self._check_cycle(call, caller)
        call.waiters += 1
        try:
            yield call.task, shared
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


# --- shutdown ---------------------------------------------------------------------------------------------------------


SPENT = "the run's time is spent"
# Free work lasts at least so many seconds longer than other calls.
FREE_SECONDS = 10.0


class Shutdown:
    """Refuses and interrupts the calls of one run; `notice` receives the reason."""

    def __init__(self, budget: Budget, notice: Callable[[str], None]) -> None:
        self.reason: str | None = None
        self._budget = budget
        self._notice = notice
        self._no_new_chats = False
        self._interruptible: set[asyncio.Timeout] = set()
        # Chats in flight that a shutdown does not interrupt.
        self.awaited_chats = 0
        # Free work in flight, and whether any has a reply.
        self._free: set[asyncio.Timeout] = set()
        self._free_replied = False
        # The time of the shutdown, in seconds of the budget.
        self._began: float | None = None

    def begin(self, reason: str, *, writing: bool = False) -> None:
        """Refuse all calls outside the closing stages and interrupt those in flight; the first reason is kept.

        With `writing` closing stages start no chats either; those in flight are awaited.
        """
        self._no_new_chats = self._no_new_chats or writing
        if self.reason is None:
            self.reason, self._began = reason, self._budget.seconds()
            self._notice(reason)
            self._limit_free_work()
        for scope in self._interruptible:
            if not scope.expired():
                scope.reschedule(0)

    def refuses(self, job: Job) -> str | None:
        """Return the reason if this call may not start any more."""
        no_chat = self._no_new_chats and job.kind.name == CHAT
        return self._check_time() if no_chat or not self._exempt(job) else None

    async def interruptible(self, job: Job, run: Callable[[], Awaitable[Outcome]]) -> Outcome | None:
        """Return the outcome of a call; None if it was interrupted."""
        outcome: Outcome | None = None
        exempt = self._exempt(job) or job.kind.effect
        awaited = exempt and job.kind.name == CHAT
        self.awaited_chats += awaited
        left = self._free_left() if job.kind.free else self._budget.time_left()
        scope = asyncio.timeout(None if job.kind.effect else left)
        try:
            async with scope:
                if job.kind.free and not self._budget.in_closing_stage:
                    self._free.add(scope)
                if not exempt:
                    self._interruptible.add(scope)
                outcome = await run()
        except TimeoutError:
            self._check_time()  # it is the scope's: attempts translate their own timeouts
        finally:
            self.awaited_chats -= awaited
            self._interruptible.discard(scope)
            self._free.discard(scope)
        if outcome is None or (outcome.kind != "reply" and scope.expired()):
            return None
        if job.kind.free and outcome.kind == "reply" and not self._free_replied:
            self._free_replied = True
            self._limit_free_work()
        return outcome  # a reply that came in spite of the interruption is paid for

    def _exempt(self, job: Job) -> bool:
        if self._budget.in_closing_stage or job.kind.internal:
            return True
        return job.kind.free and ((left := self._free_left()) is None or left > 0)

    def _free_left(self) -> float | None:
        """Return the seconds left to free work; None without a limit."""
        if self._budget.in_closing_stage or not self._free_replied:
            return None
        left = self._budget.time_left() if self._began is None else self._began - self._budget.seconds()
        return None if left is None else left + max(FREE_SECONDS, self._budget.closing_seconds)

    def _limit_free_work(self) -> None:
        """Let the free work in flight go on until its deadline, as that is now."""
        if (left := self._free_left()) is not None:
            end = asyncio.get_running_loop().time() + max(0.0, left)
            for scope in self._free:
                if not scope.expired():
                    scope.reschedule(end)

    def _check_time(self) -> str | None:
        """Begin the shutdown if the time of the run is spent; return its reason."""
        left = self._budget.time_left()
        if left is not None and left <= 0:
            spent, enough = f"{SPENT}; more with --set {{setting}}={{value}}", 2 * (self._budget.limits.seconds or 0)
            self.begin(Notice(spent, "time_spent", setting="budget.seconds", value=f"{enough:g}"))
        return self.reason
