"""A search engine whose only hit repeats the query as it arrived."""

from leadline.contracts import Call
from leadline.hookspecs import Offer, Offers, PluginSettings, hookimpl
from leadline.records import Hit, SearchPage, SearchRequest


class Echo:
    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        return SearchPage(hits=(Hit(url="echo:query", title=f"echo {request.query}", citable=False),))


@hookimpl
def leadline_search_providers() -> Offers[Echo]:
    yield Offer(lambda *_: Echo(), PluginSettings, "Repeats the query")
