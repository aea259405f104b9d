"""The plugin `local`: the user's own documents as a search engine, private and without a key.

`folders` finds the files, `update` reads the changed ones into the store of documents, `index` keeps it up to date, and
`provider` has the search engine and the fetcher.
"""

from __future__ import annotations

from collections.abc import Iterable

from leadline.contracts import Context, Fetcher, SearchProvider
from leadline.hookspecs import Offer, hookimpl
from leadline_plugins.search.local.folders import LocalSettings, ready

__all__ = ["LocalSettings", "leadline_fetchers", "leadline_search_providers"]

# Seconds: the first search reads all documents.
_FIRST_INDEX = 3600.0


def _search(settings: LocalSettings, context: Context) -> SearchProvider:
    from leadline_plugins.search.local.provider import LocalSearch

    return LocalSearch(settings, context)


def _fetcher(settings: LocalSettings, context: Context) -> Fetcher:
    from leadline_plugins.search.local.provider import LocalFetcher

    return LocalFetcher(settings, context)


@hookimpl
def leadline_search_providers() -> Iterable[Offer[LocalSettings, SearchProvider]]:
    """Offer the search engine; no other run reuses its hits, because documents change."""
    summary = "Your own documents in folders"
    yield Offer(_search, LocalSettings, summary, keep=False, free=True, ready=ready, timeout=_FIRST_INDEX)


@hookimpl
def leadline_fetchers() -> Iterable[Offer[LocalSettings, Fetcher]]:
    """Offer the fetcher."""
    yield Offer(_fetcher, LocalSettings, "Files in the folders of `local`", ready=ready, free=True)
