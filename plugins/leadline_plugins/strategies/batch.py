"""Strategy `batch`: all engines at once, their results merged; slow engines get a limited time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Annotated

from pydantic import Field

from leadline.contracts import Call, Search
from leadline.plugin import PluginSettings, search_strategy
from leadline.records import SearchPage, SearchRequest
from leadline_plugins.strategies.parallel_search import ParallelSearch


class BatchSettings(PluginSettings):
    """The treatment of engines that are often late."""

    patience: Annotated[int, Field(ge=0)] = Field(
        3, description="times in a row that an engine may be late before searches no longer wait for it; 0: no limit"
    )
    again: Annotated[float, Field(ge=0)] = Field(60, description="seconds until searches wait for such an engine again")


class Punctuality:
    """Recent delays by engine, so that one that hangs does not delay every query."""

    def __init__(self, settings: BatchSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience = settings.patience
        self._again = settings.again
        self._clock = clock
        self._late: dict[str, tuple[int, float]] = {}

    def trusted(self, name: str) -> bool:
        """Return whether to wait for an engine."""
        times, since = self._late.get(name, (0, 0.0))
        return not self._patience or times < self._patience or self._clock() - since >= self._again

    def note(self, on_time: set[str], late: set[str]) -> None:
        """Record the delays of one query."""
        for name in on_time:
            self._late.pop(name, None)
        for name in late:
            times, since = self._late.get(name, (0, 0.0))
            # Without a wait it had no chance to be on time, so the pause does not start again.
            self._late[name] = (times + 1, self._clock() if self.trusted(name) else since)


@search_strategy("All engines at once, results merged by rank", settings=BatchSettings)
class Batch:
    """Searches with all engines; after the first hits those that are not free have `search.straggler` seconds."""

    def __init__(self, settings: BatchSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._punctual = Punctuality(settings, clock)

    async def search(self, request: SearchRequest, engines: Mapping[str, Search], call: Call, /) -> SearchPage:
        """Return the merged hits; raises a group of all failures if every engine failed."""
        straggler = call.run.settings.search.straggler
        async with ParallelSearch(request, engines) as searches:
            searches.start_all()
            while searches.running and not searches.enough(1):
                await searches.next()
            await self._stragglers(searches, straggler)
            late = searches.running
            self._punctual.note(set(engines) - late, late)
            return searches.merged(dict.fromkeys(sorted(late), f"no answer within {straggler:g} s after the first"))

    async def _stragglers(self, searches: ParallelSearch, seconds: float) -> None:
        end = time.monotonic() + seconds
        while any(map(self._punctual.trusted, searches.droppable)) and (left := end - time.monotonic()) > 0:
            await searches.next(left)
        while searches.running - searches.droppable:
            await searches.next()
