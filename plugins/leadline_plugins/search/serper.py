"""The engine `serper`: Google's results, over Serper's REST API."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from leadline.contracts import Call, Context
from leadline.plugin import search_provider
from leadline.records import SearchPage, SearchRequest
from leadline_plugins.search.filters import Country, Dates, Domains, either, following, limited, page_start, with_sites
from leadline_plugins.search.http import Api
from leadline_plugins.search.results import Lenient, Result, hit, images, results

_MOST = 100
# Google's own names of languages.
_LANGUAGES = {"zh": "zh-cn", "zh-hans": "zh-cn", "zh-hant": "zh-tw", "he": "iw"}


class SerperSettings(Domains, Dates):
    """Serper's options; sites and dates are chosen by Google's own operators."""

    api_key: SecretStr = Field(description="the API key")
    base_url: str = Field("https://google.serper.dev", description="the address before /search")
    kind: Literal["search", "news"] = Field("search", description="the web, or only news")
    country: Country = Field("", description="country of the search, as two letters: jp")
    language: str = Field("", description="language of the results; default: that of the question")


class _SerperResult(Result):
    link: str
    title: Lenient = ""
    snippet: Lenient = ""
    date: str | None = None
    image: str | None = Field(None, alias="imageUrl")


@search_provider("Google results by Serper", settings=SerperSettings, env={"api_key": "SERPER_API_KEY"}, priced=True)
class Serper:
    """Searches with one account."""

    def __init__(self, settings: SerperSettings, context: Context) -> None:
        self._settings = settings
        headers = {"X-API-KEY": "{key}"}
        self._api = Api("Serper", context, settings.base_url, key=settings.api_key, headers=headers)

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return Google's organic results, or its news."""
        kind, page = self._settings.kind, page_start(request.cursor)
        answer = await self._api.post(f"/{kind}", self._body(request, page), call)
        listed = answer.get("organic" if kind == "search" else "news", [])
        hits = tuple(
            hit(result.link, result.title, result.snippet, published=result.date, images=images(result.image))
            for result in results(_SerperResult, listed, self._api)
        )
        return SearchPage(hits=hits[: request.limit], cursor=following(page, hits, request.limit))

    def _body(self, request: SearchRequest, page: int) -> dict[str, object]:
        language = either(self._settings.language, request.language).lower()
        return {
            "q": with_sites(request.query, self._settings),
            "num": limited(request.limit, _MOST),
            "page": page if page > 1 else None,
            "gl": self._settings.country.lower(),
            "hl": _LANGUAGES.get(language, language),
            "tbs": _between(self._settings),
        }


def _between(dates: Dates) -> str:
    """Return Google's parameter for a span of days, which it reads in the American order."""
    ends = (("cd_min", dates.since), ("cd_max", dates.until))
    limits = [f"{name}:{day.month}/{day.day}/{day.year}" for name, day in ends if day]
    return ",".join(["cdr:1", *limits]) if limits else ""
