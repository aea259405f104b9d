"""Strategy `fallback`: one engine after the other, until one has results."""

from __future__ import annotations

from collections.abc import Mapping

from leadline.contracts import Call, Search
from leadline.errors import CallFailed, CallRefused
from leadline.plugin import search_strategy
from leadline.records import SearchPage, SearchRequest
from leadline_plugins.strategies.parallel_search import fuse


@search_strategy("One engine after the other, until one has results")
class Fallback:
    """Searches with the engines in the order of the settings."""

    async def search(self, request: SearchRequest, engines: Mapping[str, Search], call: Call, /) -> SearchPage:
        """Return the first page with hits; raises a group of all failures if every engine failed."""
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
