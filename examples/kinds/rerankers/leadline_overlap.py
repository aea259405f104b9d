import re

from leadline.plugin import Call, Ranking, RerankRequest, reranker


def words(text: str) -> set[str]:
    return {*re.findall(r"\w+", text.lower())}


@reranker("The share of a query's words", work="local")
class Overlap:
    async def rerank(self, request: RerankRequest, call: Call, /) -> Ranking:
        asked = words(request.query)
        return Ranking(scores=tuple(len(asked & words(text)) / (len(asked) or 1) for text in request.texts))
