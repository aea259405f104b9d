import re

from leadline.contracts import Call
from leadline.hookspecs import Offer, Offers, PluginSettings, hookimpl
from leadline.records import Ranking, RerankRequest


def words(text: str) -> set[str]:
    return {*re.findall(r"\w+", text.lower())}


class Overlap:
    async def rerank(self, request: RerankRequest, call: Call, /) -> Ranking:
        asked = words(request.query)
        return Ranking(scores=tuple(len(asked & words(text)) / (len(asked) or 1) for text in request.texts))


@hookimpl
def leadline_rerankers() -> Offers[Overlap]:
    yield Offer(lambda settings, context: Overlap(), PluginSettings, "The share of a query's words", free=True)
