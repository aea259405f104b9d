"""Strategy `hybrid`: one engine, and the next one if it fails, is slow or finds too little."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from leadline.contracts import Call, Search
from leadline.plugin import PluginSettings, search_strategy
from leadline.records import SearchPage, SearchRequest
from leadline_plugins.strategies.parallel_search import ParallelSearch


class HybridSettings(PluginSettings):
    """The conditions for another engine."""

    slow: Annotated[float, Field(gt=0)] = Field(2.0, description="seconds after which the next engine is started")
    enough: Annotated[int, Field(ge=1)] = Field(5, description="results that need no further engine")


@search_strategy("One engine, and the next if it is slow or finds too little", settings=HybridSettings)
class Hybrid:
    """Hedged requests: nearly the price of one engine, without depending on it."""

    def __init__(self, settings: HybridSettings) -> None:
        self._slow = settings.slow
        self._enough = settings.enough

    async def search(self, request: SearchRequest, engines: Mapping[str, Search], call: Call, /) -> SearchPage:
        """Return the merged results once they are enough; raises a group of all failures if every engine failed."""
        spare = list(engines)
        async with ParallelSearch(request, engines) as searches:
            while spare or searches.running:
                if spare:
                    searches.start(spare.pop(0))
                if not await searches.next(self._patience(searches, spare, call)) and not spare:
                    break
                if searches.enough(self._enough) and searches.running == searches.droppable:
                    break
            return searches.merged()

    def _patience(self, searches: ParallelSearch, spare: list[str], call: Call) -> float | None:
        """Return the seconds to wait; with results and only engines to drop left, those for stragglers."""
        if spare:
            return self._slow
        droppable = searches.enough(1) and searches.running == searches.droppable
        return call.run.settings.search.straggler if droppable else None
