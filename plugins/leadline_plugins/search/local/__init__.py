"""The plugin `local`: one's own documents as a search engine, private and without a key.

`folders` finds the files, `update` reads what changed into `store` (full text) and `manifest` (state of each file),
`ranking` answers queries, `index` holds them together, `engine` is what the house sees.
"""

from __future__ import annotations

from collections.abc import Iterable

from leadline.contracts import Context, Fetcher, SearchProvider
from leadline.hookspecs import Offer, hookimpl
from leadline_plugins.search.local.settings import LocalSettings, ready

__all__ = ["LocalSettings", "leadline_fetchers", "leadline_search_providers"]

_FIRST_INDEX = 3600.0
"""Seconds: the first search reads all documents."""


def _search(settings: LocalSettings, context: Context) -> SearchProvider:
    from leadline_plugins.search.local.engine import LocalSearch

    return LocalSearch(settings, context)


def _fetcher(settings: LocalSettings, context: Context) -> Fetcher:
    from leadline_plugins.search.local.engine import LocalFetcher

    return LocalFetcher(settings, context)


@hookimpl
def leadline_search_providers() -> Iterable[Offer[LocalSettings, SearchProvider]]:
    """Offer the engine."""
    yield Offer(_search, LocalSettings, "Your own documents in folders", ready=ready, timeout=_FIRST_INDEX)


@hookimpl
def leadline_fetchers() -> Iterable[Offer[LocalSettings, Fetcher]]:
    """Offer the fetcher."""
    yield Offer(_fetcher, LocalSettings, "Files of those folders", ready=ready)
