"""Shutdown of a run: by a stop, or because its time is spent.

From then on, calls outside the closing stages are refused and those in flight are interrupted, by a timeout scope and
never by `task.cancel()`, whose CancelledError would reach everybody who waits for the call. Calls with an effect are
never interrupted. Free work (parsing, judging without a model) has a grace period, in which found pages are read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from leadline._runtime.calls.budget import Budget
from leadline._runtime.calls.context import current_stage
from leadline._runtime.calls.job import CHAT, Job
from leadline._runtime.calls.outcomes import Outcome

_SPENT = "the run's time is spent"
# Free work lasts at least so many seconds longer than the time of a run.
_LEAST_GRACE = 2.0


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
        # Free work by stage and kind of call: those that have a reply, and the scopes of those in flight.
        self._free_replied: set[tuple[str, str]] = set()
        self._free_scopes: dict[tuple[str, str], set[asyncio.Timeout]] = {}

    def begin(self, reason: str, *, writing: bool = False) -> None:
        """Refuse all calls outside the closing stages and interrupt those in flight; the first reason is kept.

        With `writing` closing stages start no chats either; those in flight are awaited.
        """
        self._no_new_chats = self._no_new_chats or writing
        if self.reason is None:
            self.reason = reason
            self._notice(reason)
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
        scopes = self._free_scopes.setdefault(_place(job), set()) if job.kind.free else set()
        try:
            async with scope:
                scopes.add(scope)
                if not exempt:
                    self._interruptible.add(scope)
                outcome = await run()
        except TimeoutError:
            self._check_time()  # it is the scope's: attempts translate their own timeouts
        finally:
            self.awaited_chats -= awaited
            self._interruptible.discard(scope)
            scopes.discard(scope)
        if outcome is None or (outcome.kind != "reply" and scope.expired()):
            return self.reason or _SPENT
        if job.kind.free and outcome.kind == "reply":
            self._limit_free_work(job)
        return outcome  # a reply that came in spite of the interruption is paid for

    def _exempt(self, job: Job) -> bool:
        if self._budget.in_closing_stage or job.kind.internal:
            return True
        return job.kind.free and ((left := self._grace_left(_place(job))) is None or left > 0)

    def _seconds_for(self, job: Job) -> float | None:
        if job.kind.effect:
            return None
        return self._grace_left(_place(job)) if job.kind.free else self._budget.time_left()

    def _grace_left(self, place: tuple[str, str]) -> float | None:
        """Return the seconds left to free work; None without a limit.

        There is none before the first reply: on a busy machine the grace period may be too short for anything, and
        without any reply there is no report.
        """
        left = None if self._budget.in_closing_stage else self._budget.time_left()
        if left is None or place not in self._free_replied:
            return None
        return left + max(_LEAST_GRACE, self._budget.closing_seconds)

    def _limit_free_work(self, job: Job) -> None:
        """After the first reply, give the others of the same stage and kind their grace period and no more."""
        place = _place(job)
        if place in self._free_replied:
            return
        self._free_replied.add(place)
        if (left := self._grace_left(place)) is None:
            return
        end = asyncio.get_running_loop().time() + max(0.0, left)
        for scope in self._free_scopes.get(place, ()):
            if not scope.expired():
                scope.reschedule(end)

    def _check_time(self) -> str | None:
        """Begin the shutdown if the time of the run is spent; return its reason."""
        left = self._budget.time_left()
        if left is not None and left <= 0:
            self.begin(f"{_SPENT}; more with --set budget.seconds={2 * (self._budget.limits.seconds or 0):g}")
        return self.reason


def _place(job: Job) -> tuple[str, str]:
    return current_stage.get(), job.kind.name
