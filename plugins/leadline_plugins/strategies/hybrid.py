"""Strategy `hybrid`: one engine, and the next one only when it fails, is slow or brings too little."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from leadline.contracts import Call, Search
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import SearchPage, SearchRequest
from leadline_plugins.strategies.asking import Asking


class HybridSettings(PluginSettings):
    """When another engine joins."""

    slow: Annotated[float, Field(gt=0)] = Field(2.0, description="Seconds after which the next engine joins.")
    enough: Annotated[int, Field(ge=1)] = Field(5, description="Results with which no other engine is asked.")


class Hybrid:
    """Hedged requests: nearly the price of one engine, and no query hangs on it."""

    def __init__(self, settings: HybridSettings) -> None:
        self._slow = settings.slow
        self._enough = settings.enough

    async def search(self, request: SearchRequest, engines: Mapping[str, Search], call: Call, /) -> SearchPage:
        """Return what came until it was enough, merged; raises a group of all failures when every engine failed."""
        spare = list(engines)
        async with Asking(request, engines) as asked:
            while spare or asked.waiting:
                if spare:
                    asked.ask(spare.pop(0))
                if not await asked.next(self._patience(asked, spare, call)) and not spare:
                    break
                if asked.enough(self._enough):
                    break
            return asked.merged()

    def _patience(self, asked: Asking, spare: list[str], call: Call) -> float | None:
        """Return how long to wait: with results in hand and nobody left to ask, only as long as for stragglers."""
        if spare:
            return self._slow
        return call.run.settings.search.straggler if asked.enough(1) else None


@hookimpl
def leadline_search_strategies() -> Iterator[Offer[Any, Hybrid]]:
    """Offer the strategy."""
    yield Offer(lambda settings, context: Hybrid(settings), HybridSettings, "One engine, the next where it lacks")
