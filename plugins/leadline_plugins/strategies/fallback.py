"""Strategy `fallback`: one engine after the other, until one brings something."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from leadline.contracts import Call, Context, Search
from leadline.errors import CallFailed, CallRefused
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import SearchPage, SearchRequest
from leadline_plugins.strategies.fusing import fuse


class Fallback:
    """Asks the engines in the order of the settings."""

    async def search(self, request: SearchRequest, engines: Mapping[str, Search], call: Call, /) -> SearchPage:
        """Return the first page with hits; raises a group of all failures when every engine failed."""
        failures: list[Exception] = []
        page = SearchPage()
        for engine in engines.values():
            try:
                page = await engine(request)
            except CallRefused:
                raise
            except CallFailed as failed:
                failures.append(failed)
                continue
            if page.hits:
                return fuse([page], request.limit)
        if len(failures) == len(engines):
            raise ExceptionGroup("every engine failed", failures)
        return page


def _make(settings: PluginSettings, context: Context) -> Fallback:
    return Fallback()


@hookimpl
def leadline_search_strategies() -> Iterator[Offer[Any, Fallback]]:
    """Offer the strategy."""
    yield Offer(_make, PluginSettings, "One engine after the other, until one brings something")
