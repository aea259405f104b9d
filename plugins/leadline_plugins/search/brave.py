"""The engine `brave`: the index of Brave, through its REST API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, SecretStr

from leadline.contracts import Call, Context
from leadline.plugin import Limits, search_provider
from leadline.records import SearchPage, SearchRequest
from leadline_plugins.search.filters import (
    Country,
    Dates,
    Domains,
    either,
    limited,
    page_start,
    shortened,
    with_sites,
)
from leadline_plugins.search.http import Api
from leadline_plugins.search.results import Lenient, Result, hit, images, joined, results

_MOST = 20
# The last page that is served.
_LAST = 9
# Characters and words of a query.
_LONGEST, _WORDS = 400, 50
_LANGUAGES = {"zh": "zh-hans", "zh-cn": "zh-hans", "zh-tw": "zh-hant", "zh-hk": "zh-hant"}
_LANGUAGES |= {"ja": "jp", "no": "nb", "pt": "pt-pt"}
"""Brave's names of languages, where they are its own."""
# The languages that Brave accepts.
_CODES = """
    ar bg bn ca cs da de en es et eu fi fr gl gu he hi hr hu is it jp kn ko lt lv ml mr ms nb nl pa pl pt-br pt-pt
    ro ru sk sl sr sv ta te th tr uk vi zh-hans zh-hant"""
_KNOWN = frozenset(_CODES.split())
_FIRST_DAY = "1970-01-01"
_LAST_DAY = "2099-12-31"


class BraveSettings(Domains, Dates):
    """Brave's options; sites are chosen by operators in the query, which count towards its length."""

    api_key: SecretStr = Field(description="the API key")
    base_url: str = Field("https://api.search.brave.com/res/v1", description="the address before /web/search")
    country: Country = Field("", description="country of the search, as two letters")
    language: str = Field("", description="language of the results; default: that of the question")
    safe: Literal["off", "moderate", "strict"] = Field("moderate", description="filter for adult content")


class _BraveResult(Result):
    url: str
    title: Lenient = ""
    description: Lenient = ""
    page_age: str | None = None
    extra_snippets: list[str] | None = None
    thumbnail: dict[str, Any] | None = None


class _Properties(Result):
    url: str = ""


class _BravePicture(Result):
    url: str
    title: Lenient = ""
    properties: _Properties = _Properties()


@search_provider(
    "Web search by Brave",
    settings=BraveSettings,
    env={"api_key": "BRAVE_API_KEY"},
    limits=Limits(interval=1.0),
    priced=True,
    images=True,
)
class Brave:
    """Searches with one account."""

    def __init__(self, settings: BraveSettings, context: Context) -> None:
        self._settings = settings
        headers = {"X-Subscription-Token": "{key}", "Accept": "application/json"}
        self._api = Api("Brave Search", context, settings.base_url, key=settings.api_key, headers=headers)

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return web results, or pictures; what Brave adds of other kinds is left out."""
        if request.images:
            return await self._pictures(request, call)
        page = page_start(request.cursor, first=0)
        answer = await self._api.get("/web/search", self._params(request, page), call)
        web = answer.get("web")  # left out where nothing is found
        listed = web.get("results") if isinstance(web, dict) else [] if web is None else web
        hits = (
            hit(
                result.url,
                result.title,
                joined([result.description, *(result.extra_snippets or ())]),
                published=result.page_age,
                images=images(*_thumbnail(result.thumbnail)),
            )
            for result in results(_BraveResult, listed, self._api)
        )
        more = _more(answer) and page < _LAST
        return SearchPage(hits=tuple(hits)[: request.limit], cursor=str(page + 1) if more else None)

    async def _pictures(self, request: SearchRequest, call: Call) -> SearchPage:
        """Return one page; Brave has no further ones of pictures."""
        asked = self._params(request, 0)
        params = {name: asked[name] for name in ("q", "count", "country", "search_lang")}
        safe = "off" if self._settings.safe == "off" else "strict"  # there is nothing between them
        answer = await self._api.get("/images/search", {**params, "safesearch": safe}, call)
        listed = results(_BravePicture, answer.get("results"), self._api)
        hits = (hit(picture.url, picture.title, images=images(picture.properties.url)) for picture in listed)
        return SearchPage(hits=tuple(picture for picture in hits if picture.images)[: request.limit])

    def _params(self, request: SearchRequest, page: int) -> dict[str, object]:
        settings = self._settings
        language = either(settings.language, request.language).lower()
        language = _LANGUAGES.get(language, language)
        sites = with_sites("", settings)
        room, words = _LONGEST - len(sites) - 1, _WORDS - len(sites.split())
        return {
            "q": f"{shortened(request.query, max(room, 1), max(words, 1))} {sites}".strip(),
            "count": limited(request.limit, _MOST),
            "offset": page,
            "country": settings.country.upper(),
            "search_lang": language if settings.language or language in _KNOWN else "",
            "safesearch": settings.safe,
            "freshness": _between(settings),
            "text_decorations": "false",
            "result_filter": "web",
        }


def _between(dates: Dates) -> str:
    if not (dates.since or dates.until):
        return ""
    return f"{dates.since or _FIRST_DAY}to{dates.until or _LAST_DAY}"


def _thumbnail(thumbnail: Mapping[str, Any] | None) -> tuple[str | None, ...]:
    """Return the image itself, else its copy at Brave's."""
    return tuple(address for name in ("original", "src") if isinstance(address := (thumbnail or {}).get(name), str))[:1]


def _more(answer: Mapping[str, Any]) -> bool:
    query = answer.get("query")
    return isinstance(query, dict) and query.get("more_results_available") is True
