"""The engine `tavily`: web search made for programs, by the SDK `tavily-python` with our HTTP client."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, SecretStr

from leadline.contracts import Call, Context
from leadline.plugin import Limits, search_provider
from leadline.records import SearchPage, SearchRequest
from leadline_plugins.search.filters import Dates, Domains, iso, limited, shortened
from leadline_plugins.search.http import Api, filled
from leadline_plugins.search.results import Lenient, Result, hit, results

_MOST = 20
# Characters of a query.
_LONGEST = 400


class TavilySettings(Domains, Dates):
    """Tavily's options; a basic search is one credit, an advanced one two."""

    api_key: SecretStr = Field(description="the API key, tvly-…")
    base_url: str = Field("https://api.tavily.com", description="the address before /search")
    depth: Literal["basic", "advanced", "fast", "ultra-fast"] = Field(
        "basic", description="advanced finds more relevant pages but takes longer"
    )
    topic: Literal["general", "news", "finance"] = Field("general", description="only news has dates")
    country: str = Field("", description="the country to prefer, in English: united kingdom")
    full_text: bool = Field(False, description="use the text of pages from Tavily instead of fetching them")


class _TavilyResult(Result):
    url: str
    title: Lenient = ""
    content: Lenient = ""
    raw_content: str | None = None
    score: float | None = None
    published_date: str | None = None


@search_provider(
    "Web search by Tavily",
    settings=TavilySettings,
    env={"api_key": "TAVILY_API_KEY"},
    requires=("tavily=leadline[tavily]",),
    limits=Limits(at_once=10),
    priced=True,
)
class Tavily:
    """Searches with one account."""

    def __init__(self, settings: TavilySettings, context: Context) -> None:
        from tavily import AsyncTavilyClient

        self._settings = settings
        headers = {"Authorization": "Bearer {key}"}
        self._api = Api("Tavily", context, settings.base_url, key=settings.api_key, headers=headers)
        self._sdk = AsyncTavilyClient(client=self._api.client())

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return the results; Tavily has a single page."""
        answer = await self._api.through(self._sdk.search(**self._query(request), timeout=max(call.remaining(), 0.001)))
        hits = (
            hit(
                result.url,
                result.title,
                result.content,
                text=result.raw_content or None,
                published=result.published_date,
                score=result.score,
            )
            for result in results(_TavilyResult, answer.get("results"), self._api)
        )
        return SearchPage(hits=tuple(hits)[: request.limit])

    def _query(self, request: SearchRequest) -> dict[str, Any]:
        settings = self._settings
        return filled(
            {
                "query": shortened(request.query, _LONGEST),
                "max_results": limited(request.limit, _MOST),
                "search_depth": settings.depth,
                "topic": settings.topic,
                "country": settings.country.lower() if settings.topic == "general" else "",
                "include_raw_content": "text" if settings.full_text else None,
                "include_domains": settings.include_domains,
                "exclude_domains": settings.exclude_domains,
                "start_date": iso(settings.since),
                "end_date": iso(settings.until),
            }
        )
