"""Strategy `race`: all engines start; the first good answer wins and the others are cancelled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from leadline.contracts import Call, Search
from leadline.plugin import PluginSettings, search_strategy
from leadline.records import SearchPage, SearchRequest
from leadline_plugins.strategies.parallel_search import ParallelSearch, fuse


class RaceSettings(PluginSettings):
    """The condition to win."""

    enough: Annotated[int, Field(ge=1)] = Field(1, description="results of a good answer")


@search_strategy("All engines at once, the first good answer wins", settings=RaceSettings)
class Race:
    """As fast as the fastest engine; every engine receives every query."""

    def __init__(self, settings: RaceSettings) -> None:
        self._enough = settings.enough

    async def search(self, request: SearchRequest, engines: Mapping[str, Search], call: Call, /) -> SearchPage:
        """Return the first good page, else all pages merged; raises if every engine failed."""
        wanted = min(self._enough, request.limit)
        async with ParallelSearch(request, engines) as searches:
            searches.start_all()
            while searches.running:
                await searches.next()
                if good := next((page for page in searches.pages() if len(page.hits) >= wanted), None):
                    return fuse([good], request.limit)
            return searches.merged()
