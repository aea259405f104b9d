import asyncio
from collections.abc import Mapping
from itertools import chain, zip_longest

from leadline.plugin import Call, Search, SearchPage, SearchRequest, search_strategy


@search_strategy("One hit of each engine in turn")
class TakeTurns:
    async def search(self, request: SearchRequest, engines: Mapping[str, Search], call: Call, /) -> SearchPage:
        replies = await asyncio.gather(*(engine(request) for engine in engines.values()), return_exceptions=True)
        pages = [reply for reply in replies if isinstance(reply, SearchPage)]
        if not pages:
            raise BaseExceptionGroup("every engine failed", [r for r in replies if isinstance(r, BaseException)])
        turns = chain.from_iterable(zip_longest(*(page.hits for page in pages)))
        once = {hit.url: hit for hit in turns if hit is not None}
        return SearchPage(hits=tuple(once.values())[: request.limit])
