"""A small web for tests: an engine and pages that answer at once, the same to the same question, in every process."""

from __future__ import annotations

from hashlib import blake2b
from importlib.metadata import EntryPoint

from leadline.contracts import Call
from leadline.hookspecs import Offer, PluginSettings
from leadline.records import Blob, FetchRequest, Hit, SearchPage, SearchRequest
from leadline.testing.plugins import plugin

SITE = "https://example.org/"


class WebSettings(PluginSettings):
    """How many hits a search brings, and how many sentences a page has."""

    hits: int = 5
    sentences: int = 20


class FakeEngine:
    """Finds pages whose addresses are made of the query's digest."""

    def __init__(self, settings: WebSettings) -> None:
        self._hits = settings.hits

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return the hits of a query."""
        mark = blake2b(request.query.encode(), digest_size=4).hexdigest()
        hits = (
            Hit(url=f"{SITE}{mark}/{place}", title=f"On {request.query} ({place})", snippet=request.query)
            for place in range(min(self._hits, request.limit))
        )
        return SearchPage(hits=tuple(hits))


class FakePages:
    """Serves the pages that `FakeEngine` finds: plain text, every sentence with a figure of its own."""

    def __init__(self, settings: WebSettings) -> None:
        self._sentences = settings.sentences

    def accepts(self, url: str, /) -> bool:
        """Accept the addresses of this web."""
        return url.startswith(SITE)

    async def fetch(self, request: FetchRequest, call: Call, /) -> Blob:
        """Return a page."""
        mark = request.url.removeprefix(SITE)
        number = int(blake2b(mark.encode(), digest_size=4).hexdigest(), 16)
        lines = (
            f"The harbour of page {mark} measured {number % 997 + place} fathoms at sounding {place}."
            for place in range(self._sentences)
        )
        return Blob(name=f"{mark}.txt", media_type="text/plain", data=" ".join(lines).encode())


def fake_web(name: str = "fakeweb") -> EntryPoint:
    """Return the engine and its pages as one plugin: `search.engines` and `read.fetchers` are ["fakeweb"]."""
    return plugin(
        name,
        search_providers=Offer(lambda settings, _: FakeEngine(settings), WebSettings, "Finds made-up pages"),
        fetchers=Offer(lambda settings, _: FakePages(settings), WebSettings, "Serves made-up pages"),
    )
