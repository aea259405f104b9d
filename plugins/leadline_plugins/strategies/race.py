"""Strategy `race`: all engines start, the first good answer wins, the others are called off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from leadline.contracts import Call, Search
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import SearchPage, SearchRequest
from leadline_plugins.strategies.asking import Asking
from leadline_plugins.strategies.fusing import fuse


class RaceSettings(PluginSettings):
    """What wins."""

    enough: Annotated[int, Field(ge=1)] = Field(1, description="Results that make an answer a good one.")


class Race:
    """As fast as the fastest engine that works; every engine is sent every query."""

    def __init__(self, settings: RaceSettings) -> None:
        self._enough = settings.enough

    async def search(self, request: SearchRequest, engines: Mapping[str, Search], call: Call, /) -> SearchPage:
        """Return the first good page, or where none is good all of them merged; raises when every engine failed."""
        wanted = min(self._enough, request.limit)
        async with Asking(request, engines) as asked:
            asked.ask_all()
            while asked.waiting:
                await asked.next()
                if good := next((page for page in asked.pages() if len(page.hits) >= wanted), None):
                    return fuse([good], request.limit)
            return asked.merged()


@hookimpl
def leadline_search_strategies() -> Iterator[Offer[Any, Race]]:
    """Offer the strategy."""
    yield Offer(lambda settings, context: Race(settings), RaceSettings, "The first good answer of all engines")
