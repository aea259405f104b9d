"""Shutdown of a run: by a stop, or because its time is spent.

From then on, calls outside the closing stages are refused and those in flight are interrupted, by a timeout scope and
never by `task.cancel()`, whose CancelledError would reach everybody who waits for the call. Calls with an effect are
never interrupted. Free work (parsing, judging without a model) goes on until one later deadline, so that pages that
were fetched are read; before any of it has a reply it goes on without end, for without a reply there is no report.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from leadline._runtime.calls.budget import Budget
from leadline._runtime.calls.job import CHAT, Job
from leadline._runtime.calls.outcomes import Outcome
from leadline.records import Notice

_SPENT = "the run's time is spent"
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

    async def interruptible(self, job: Job, run: Callable[[], Awaitable[Outcome]]) -> Outcome | str:
        """Return the outcome of a call, or the reason for which it was interrupted."""
        outcome: Outcome | None = None
        exempt = self._exempt(job) or job.kind.effect
        awaited = exempt and job.kind.name == CHAT
        self.awaited_chats += awaited
        scope = asyncio.timeout(self._seconds_for(job))
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
            return self.reason or _SPENT
        if job.kind.free and outcome.kind == "reply" and not self._free_replied:
            self._free_replied = True
            self._limit_free_work()
        return outcome  # a reply that came in spite of the interruption is paid for

    def _exempt(self, job: Job) -> bool:
        if self._budget.in_closing_stage or job.kind.internal:
            return True
        return job.kind.free and ((left := self._free_left()) is None or left > 0)

    def _seconds_for(self, job: Job) -> float | None:
        if job.kind.effect:
            return None
        return self._free_left() if job.kind.free else self._budget.time_left()

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
            spent, enough = f"{_SPENT}; more with --set {{setting}}={{value}}", 2 * (self._budget.limits.seconds or 0)
            self.begin(Notice(spent, "time_spent", setting="budget.seconds", value=f"{enough:g}"))
        return self.reason
