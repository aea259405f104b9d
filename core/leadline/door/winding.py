"""How a session's calls come to an end before it does: by a stop, or since the run's time is spent.

What is asked outside the closing stages is refused from then on, and what is under way there is cut off: by its scope,
never by a cancellation. What has an effect outside goes on to its end, and what costs nothing for a while (`Spare`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from leadline.door.flights import Flight, Flights
from leadline.door.kinds import CHAT, Job
from leadline.door.outcomes import Ended
from leadline.door.reports import Reports
from leadline.door.spare import Spare
from leadline.runs.budget import Budget

_SPENT = "the run's time is spent"


class Winding:
    """Whether, and why, the calls of one run are refused now, and cut off."""

    def __init__(self, budget: Budget, flights: Flights[Any], reports: Reports) -> None:
        self._budget = budget
        self._flights = flights
        self._reports = reports
        self._spare = Spare(budget)
        self._ask_no_more = False
        self.reason: str | None = None
        """Why calls are refused now; None while they are not."""

    def down(self, reason: str, *, writing: bool = False) -> None:
        """Refuse all calls outside the closing stages, those under way too; the first reason stays.

        With `writing` closing stages ask no model anew either; what they have asked is waited for.
        """
        self._ask_no_more = self._ask_no_more or writing
        if self.reason is None:
            self.reason = reason
            self._reports.notice(reason)
        for flight in self._flights.all():
            if flight.cut and not flight.cut.expired():
                flight.cut.reschedule(0)

    def waited_for(self) -> int:
        """Return how many replies of models are waited for though calls are refused."""
        under_way = (flight for flight in self._flights.all() if flight.cut is None)
        return sum(flight.name.startswith(f"{CHAT} by ") for flight in under_way)

    def refuses(self, job: Job) -> str | None:
        """Return why this is not begun any more; None where it is."""
        return self._over() if not self._exempt(job) or self._unasked(job) else None

    async def in_time(self, job: Job, flight: Flight[Any], do: Callable[[], Awaitable[Ended]]) -> Ended | str:
        """Return how a call ended, or why it was cut off."""
        ended: Ended | None = None
        try:
            async with self._limit(job) as cut:
                if not self._exempt(job) and not job.kind.effect:
                    flight.cut = cut
                ended = await do()
        except TimeoutError:
            self._over()  # it was the cut: the attempts translate their own timeouts
        finally:
            flight.cut = None
        if ended is None or (ended.outcome != "reply" and cut.expired()):
            return self.reason or _SPENT
        if job.kind.free and ended.outcome == "reply":
            self._spare.replied(job)
        return ended  # a reply that came all the same is paid for

    def _limit(self, job: Job) -> AbstractAsyncContextManager[asyncio.Timeout]:
        if job.kind.free:
            return self._spare.limit(job)
        return asyncio.timeout(None if job.kind.effect else self._budget.time_left())

    def _exempt(self, job: Job) -> bool:
        return self._budget.reserved or job.kind.quiet or (job.kind.free and not self._spare.over(job))

    def _unasked(self, job: Job) -> bool:
        return self._ask_no_more and job.kind.name == CHAT

    def _over(self) -> str | None:
        left = self._budget.time_left()
        if left is not None and left <= 0:
            self.down(f"{_SPENT}; more with --set budget.seconds={2 * (self._budget.limits.seconds or 0):g}")
        return self.reason
