"""The plugin `web`: pages over HTTP, guarded, bounded, and kept across runs.

`fetcher` follows redirects, each judged by the guard; `body` reads within limits; `cache` keeps pages and asks whether
they changed; `robots` obeys robots.txt; `sniff` tells what a page is where its header does not.
"""

from __future__ import annotations

from collections.abc import Iterable

from leadline.contracts import Context, Fetcher
from leadline.hookspecs import Offer, hookimpl
from leadline_plugins.fetch.web.settings import WebSettings

__all__ = ["WebSettings", "leadline_fetchers"]
_TIMEOUT = 120.0
"""Seconds, turns at a busy site included; the plugin's own limit for the page itself is a setting, and says more."""


def _make(settings: WebSettings, context: Context) -> Fetcher:
    from leadline_plugins.fetch.web.fetcher import WebFetcher

    return WebFetcher(settings, context)


@hookimpl
def leadline_fetchers() -> Iterable[Offer[WebSettings, Fetcher]]:
    """Offer the fetcher."""
    yield Offer(_make, WebSettings, "Pages of the web", answers=("agent",), at_once=50, timeout=_TIMEOUT)
