"""The plugin `local`: the user's own documents as a search engine, private and without a key.

`folders` finds the files, `update` reads the changed ones into the store of documents, `index` keeps it up to date, and
`provider` has the search engine and the fetcher.
"""

from __future__ import annotations

from leadline.contracts import Context, Fetcher, SearchProvider
from leadline.plugin import Limits, fetcher, search_provider
from leadline_plugins.search.local.folders import LocalSettings, ready

__all__ = ["LocalSettings"]

# Seconds: the first search reads all documents.
_FIRST_INDEX = 3600.0


@search_provider(
    "Your own documents in folders",
    settings=LocalSettings,
    ready=ready,
    work="local",
    cache_key=None,
    limits=Limits(timeout=_FIRST_INDEX),
)
def _search(settings: LocalSettings, context: Context) -> SearchProvider:
    from leadline_plugins.search.local.provider import LocalSearch

    return LocalSearch(settings, context)


@fetcher("Files in the folders of `local`", settings=LocalSettings, ready=ready, work="local")
def _fetcher(settings: LocalSettings, context: Context) -> Fetcher:
    from leadline_plugins.search.local.provider import LocalFetcher

    return LocalFetcher(settings, context)
