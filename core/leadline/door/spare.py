"""How long work goes on that costs nothing when the time of a run is spent.

What is found is still read then, for a while. In a crowd that waits for its processors that may be too short for
anything: so each stage has its first reply in any case, for without one there is no report; then the rest is left.
Closing stages are not cut off: what they do without asking anybody is the report.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from leadline.door.active import stage_now
from leadline.door.kinds import Job
from leadline.runs.budget import Budget

_LEAST = 2.0
"""Seconds."""
_Place = tuple[str, str]
"""A stage, and a kind of call that it makes."""


class Spare:
    """The time of the work of one run that costs nothing: its reserve, 2 s at least, behind that of all else."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._replied: set[_Place] = set()
        self._waiting: dict[_Place, set[asyncio.Timeout]] = {}

    def over(self, job: Job) -> bool:
        """Return whether it is too late to begin this."""
        left = self._left(_place(job))
        return left is not None and left <= 0

    @asynccontextmanager
    async def limit(self, job: Job) -> AsyncIterator[asyncio.Timeout]:
        """Cut this off when its time is over."""
        place = _place(job)
        waiting = self._waiting.setdefault(place, set())
        async with asyncio.timeout(self._left(place)) as cut:
            waiting.add(cut)
            try:
                yield cut
            finally:
                waiting.discard(cut)

    def replied(self, job: Job) -> None:
        """Take note of a reply: the others of its stage have no more than their time from now on."""
        place = _place(job)
        if place in self._replied:
            return
        self._replied.add(place)
        if (left := self._left(place)) is None:
            return
        end = asyncio.get_running_loop().time() + max(0.0, left)
        for cut in self._waiting.get(place, ()):
            if not cut.expired():
                cut.reschedule(end)

    def _left(self, place: _Place) -> float | None:
        left = None if self._budget.reserved else self._budget.time_left()
        if left is None or place not in self._replied:
            return None
        return left + max(_LEAST, self._budget.reserve * (self._budget.limits.seconds or 0))


def _place(job: Job) -> _Place:
    return stage_now.get(), job.kind.name
