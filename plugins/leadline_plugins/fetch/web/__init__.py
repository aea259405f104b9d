"""The plugin `web`: pages over HTTP, with a guard, limits and a cache for all runs.

`fetcher` follows redirects, which the guard checks, and has the cache; `body` reads within limits and detects media
types; `robots` obeys robots.txt.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from leadline.contracts import Context, Fetcher
from leadline.plugin import Limits, PluginSettings, fetcher
from leadline_plugins.fetch.guard import PORTS, checked

__all__ = ["WebSettings"]
# Seconds, with the wait for a busy site; the setting `seconds` limits the page itself.
_TIMEOUT = 120.0


class WebSettings(PluginSettings):
    """Limits of pages, and the hosts that may be read."""

    authority = {"allow": "hosts of your network"}

    unstored = ("agent",)

    allow: tuple[Annotated[str, AfterValidator(checked)], ...] = Field(
        (), description='hosts of your own network that may be read: "127.0.0.1:8000", "wiki.corp", "10.0.0.0/8"'
    )
    ports: tuple[int, ...] = Field(PORTS, description="ports that may be read")
    robots: bool = Field(True, description="whether to obey robots.txt")
    agent: str = Field("", description="the User-Agent; default: leadline/VERSION")
    size: int = Field(20_000_000, ge=1, description="largest page in bytes, decompressed")
    seconds: float = Field(25.0, gt=0, description="seconds for a page, with its redirects")
    redirects: int = Field(8, ge=0, description="redirects that are followed")
    per_host: int = Field(8, ge=1, description="pages of one host at the same time")
    fresh: float = Field(3600.0, ge=0, description="seconds a cached page is used without checking for changes")
    cache_size: int = Field(500_000_000, ge=0, description="bytes of the page cache of all runs; 0 disables it")


@fetcher("Web pages", settings=WebSettings, cache_key=("agent",), limits=Limits(at_once=50, timeout=_TIMEOUT))
def _make(settings: WebSettings, context: Context) -> Fetcher:
    from leadline_plugins.fetch.web.fetcher import WebFetcher

    return WebFetcher(settings, context)
