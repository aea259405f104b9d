"""The engine `exa`: search by meaning, over its REST API."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

from pydantic import Field, SecretStr

from leadline.contracts import Call, Context
from leadline.plugin import Limits, search_provider
from leadline.records import SearchPage, SearchRequest, Usage
from leadline_plugins.search.filters import Country, Dates, Domains, iso, limited
from leadline_plugins.search.http import Api
from leadline_plugins.search.results import Lenient, Result, hit, images, joined, results

_MOST = 100


class ExaSettings(Domains, Dates):
    """Exa's options; text and highlights are billed by the page."""

    api_key: SecretStr = Field(description="the API key")
    base_url: str = Field("https://api.exa.ai", description="the address before /search")
    type: Literal["neural", "auto", "keyword", "fast", "instant", "deep"] = Field(
        "neural", description="neural: by meaning; keyword: by words; auto: both"
    )
    category: str = Field("", description="only one kind of page: research paper, news, company, github, pdf …")
    country: Country = Field("", description="country of the search, as two letters")
    highlights: bool = Field(True, description="use the matching passages as snippets")
    full_text: bool = Field(False, description="use the text of pages from Exa instead of fetching them")


class _ExaResult(Result):
    url: str
    title: Lenient = ""
    author: Lenient = ""
    published: str | None = Field(None, alias="publishedDate")
    score: float | None = None
    text: str | None = None
    highlights: list[str] | None = None
    summary: Lenient = ""
    image: str | None = None


@search_provider(
    "Web search by meaning, by Exa",
    settings=ExaSettings,
    env={"api_key": "EXA_API_KEY"},
    limits=Limits(interval=0.1),
    priced=True,
)
class Exa:
    """Searches with one account."""

    def __init__(self, settings: ExaSettings, context: Context) -> None:
        self._settings = settings
        headers = {"x-api-key": "{key}"}
        self._api = Api("Exa", context, settings.base_url, key=settings.api_key, headers=headers)

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return the results; Exa has a single page."""
        answer = await self._api.post("/search", self._body(request), call)
        if (cost := _cost(answer)) is not None:
            call.spend(Usage(cost=cost))
        hits = (self._hit(result) for result in results(_ExaResult, answer.get("results"), self._api))
        return SearchPage(hits=tuple(hits)[: request.limit])

    def _hit(self, result: _ExaResult) -> Any:
        return hit(
            result.url,
            result.title,
            joined(result.highlights or ()) or result.summary or (result.text or "")[:500],
            text=result.text if self._settings.full_text else None,
            published=result.published,
            score=result.score,
            images=images(result.image),
            csl={"author": [{"literal": result.author}]} if result.author else {},
        )

    def _body(self, request: SearchRequest) -> dict[str, object]:
        settings = self._settings
        contents = {"text": True} if settings.full_text else {}
        contents |= {"highlights": True} if settings.highlights else {}
        return {
            "query": request.query,
            "numResults": limited(request.limit, _MOST),
            "type": settings.type,
            "category": settings.category,
            "userLocation": settings.country.upper(),
            "includeDomains": settings.include_domains,
            "excludeDomains": settings.exclude_domains,
            "startPublishedDate": iso(settings.since),
            "endPublishedDate": iso(settings.until),
            "contents": contents,
        }


def _cost(answer: dict[str, Any]) -> Decimal | None:
    """Return the cost in US dollars that the answer reports."""
    costs = answer.get("costDollars")
    total = costs.get("total") if isinstance(costs, dict) else None
    return Decimal(str(total)) if isinstance(total, int | float) and not isinstance(total, bool) else None
