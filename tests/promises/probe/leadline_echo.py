"""A search engine whose only hit repeats the query as it arrived."""

from leadline.plugin import Call, Hit, SearchPage, SearchRequest, search_provider


@search_provider("Repeats the query")
class Echo:
    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        return SearchPage(hits=(Hit(url="echo:query", title=f"echo {request.query}", citable=False),))
