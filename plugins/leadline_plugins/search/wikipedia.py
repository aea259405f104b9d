"""The engine `wikipedia`: full-text search of Wikipedia in the question's language; no key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from leadline.contracts import Call, Context
from leadline.display import one_line
from leadline.errors import ProviderError, RateLimited, Unavailable, Unsupported
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import SearchPage, SearchRequest
from leadline_plugins.search.filters import either, limited, place, shortened
from leadline_plugins.search.http import Api, agent
from leadline_plugins.search.results import Lenient, Result, hit, images, results

# Pages whose introduction one answer contains.
_MOST = 20
# Characters of a query.
_LONGEST = 300
_LANGUAGE = re.compile(r"[a-z]{2,12}")
_CAUSES: dict[str, type[ProviderError]] = {
    "ratelimited": RateLimited,
    "maxlag": Unavailable,
    "readonly": Unavailable,
    "cirrussearch-too-busy-error": Unavailable,
    "cirrussearch-backend-error": Unavailable,
}


class WikipediaSettings(PluginSettings):
    """Wikipedia's options; `base_url` may name another wiki that runs MediaWiki."""

    unstored = ("contact",)

    base_url: str = Field("https://{language}.wikipedia.org", description="address of the wiki; {language} is replaced")
    path: str = Field("/w/api.php", description="path of its API")
    language: str = Field("", description="Wikipedia to search: en, ja …; default: that of the question's language")
    contact: str = Field(
        "", description="an email address or web page of yours, which Wikipedia requires from heavy users"
    )


class _Page(Result):
    title: str
    index: int = 0
    extract: Lenient = ""
    canonicalurl: str = ""
    fullurl: str = ""
    original: dict[str, Any] | None = None


class Wikipedia:
    """Searches the Wikipedias, one by language."""

    def __init__(self, settings: WikipediaSettings, context: Context) -> None:
        self._settings = settings
        self._context = context
        self._apis: dict[str, Api] = {}

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return articles, with their beginnings as snippets."""
        start = place(request.cursor, first=0)
        api = self._api(either(self._settings.language, request.language))
        found = await api.get(self._settings.path, _params(request, start), call)
        _check(found, api)
        pages = sorted(results(_Page, _listed(found), api), key=lambda page: page.index)
        hits = (
            hit(
                page.canonicalurl or page.fullurl,
                page.title,
                page.extract,
                images=images((page.original or {}).get("source")),
                csl={"type": "entry-encyclopedia", "container-title": "Wikipedia"},
            )
            for page in pages
        )
        return SearchPage(hits=tuple(hits)[: request.limit], cursor=_next(found))

    def _api(self, language: str) -> Api:
        code = language.lower().partition("-")[0]
        code = code if _LANGUAGE.fullmatch(code) else "en"
        if code not in self._apis:
            url = self._settings.base_url.replace("{language}", code)
            headers = {"User-Agent": agent(self._settings.contact)}
            self._apis[code] = Api("Wikipedia", self._context, url, headers=headers)
        return self._apis[code]


def _params(request: SearchRequest, start: int) -> dict[str, object]:
    return {
        "action": "query",
        "format": "json",
        "formatversion": 2,
        "generator": "search",
        "gsrsearch": shortened(request.query, _LONGEST),
        "gsrlimit": limited(request.limit, _MOST),
        "gsroffset": start or None,
        "gsrnamespace": 0,
        "prop": "extracts|info|pageimages",
        "exintro": 1,
        "explaintext": 1,
        "exlimit": "max",
        "inprop": "url",
        "piprop": "original",
        "pilimit": _MOST,
    }


def _check(found: Mapping[str, Any], api: Api) -> None:
    """Raise the error in an answer, which has status 200."""
    error = found.get("error")
    if not isinstance(error, dict):
        return
    code = str(error.get("code", ""))
    cause = _CAUSES.get(code) or (Unavailable if code.startswith("internal_api_error") else Unsupported)
    raise cause(f"{api.name} refuses the request ({code}): {one_line(error.get('info', ''))[:200]}")


def _listed(found: Mapping[str, Any]) -> object:
    query = found.get("query")
    if query is None and "batchcomplete" in found:
        return []  # how it says that nothing was found
    return query.get("pages") if isinstance(query, dict) else None


def _next(found: Mapping[str, Any]) -> str | None:
    told = found.get("continue")
    start = told.get("gsroffset") if isinstance(told, dict) else None
    return str(start) if isinstance(start, int) else None


@hookimpl
def leadline_search_providers() -> Iterator[Offer[WikipediaSettings, Wikipedia]]:
    """Offer the engine; Wikipedia asks for few requests at once."""
    yield Offer(Wikipedia, WikipediaSettings, "Wikipedia in the language of the question", at_once=2, interval=0.1)
