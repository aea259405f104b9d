"""The engine `searxng`: an instance of SearXNG (or searx), one's own or one that allows programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from leadline.contracts import Call, Context
from leadline.errors import Denied, Unavailable
from leadline.plugin import search_provider
from leadline.records import SearchPage, SearchRequest
from leadline_plugins.search.filters import Domains, either, following, page_start, with_sites
from leadline_plugins.search.http import Api
from leadline_plugins.search.results import Lenient, Result, hit, images, results

_SAFE = {"off": 0, "moderate": 1, "strict": 2}
_NO_JSON = "the instance may not allow JSON: add json to search.formats in its settings.yml"


class SearxngSettings(Domains):
    """An instance; sites are selected by operators in the query, which most of its engines support."""

    base_url: str = Field(description="the address of the instance, such as http://127.0.0.1:8888")
    categories: list[str] = Field([], description="general, science, news, it …; default: that of the instance")
    engines: list[str] = Field([], description="engines of the instance to use; default: all")
    language: str = Field("", description="language of the results; default: that of the question")
    time_range: Literal["", "day", "month", "year"] = Field("", description="greatest age of a page")
    safe: Literal["", "off", "moderate", "strict"] = Field("", description="filter for adult content")


class _SearxngResult(Result):
    """Its score is ignored: it counts engines and ranks, not relevance."""

    url: str
    title: Lenient = ""
    content: Lenient = ""
    published: str | None = Field(None, alias="publishedDate")
    img_src: str | None = None
    thumbnail: str | None = None


@search_provider(
    "Web search by a SearXNG instance", settings=SearxngSettings, env={"base_url": "SEARXNG_URL"}, images=True
)
class Searxng:
    """Asks one instance."""

    def __init__(self, settings: SearxngSettings, context: Context) -> None:
        self._settings = settings
        self._api = Api("SearXNG", context, settings.base_url, headers={"Accept": "application/json"})

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return the merged results. Raises `Unavailable` if no engine of the instance answered."""
        page = page_start(request.cursor)
        try:
            answer = await self._api.get("/search", self._params(request, page), call)
        except Denied as error:
            raise Denied(f"{error}; {_NO_JSON}") from error
        hits = tuple(
            hit(
                result.url,
                result.title,
                result.content,
                published=result.published,
                images=images(result.img_src, None if request.images else result.thumbnail),
            )
            for result in results(_SearxngResult, answer.get("results"), self._api)
            if result.img_src or not request.images
        )
        if not hits and (silent := _silent(answer)):
            raise Unavailable(f"SearXNG: none of its engines answered: {silent}")
        return SearchPage(hits=hits[: request.limit], cursor=following(page, hits, request.limit))

    def _params(self, request: SearchRequest, page: int) -> dict[str, object]:
        settings = self._settings
        return {
            "q": with_sites(request.query, settings),
            "format": "json",
            "pageno": page,
            "categories": "images" if request.images else ",".join(settings.categories),
            "engines": "" if request.images else ",".join(settings.engines),
            "language": _language(either(settings.language, request.language)),
            "time_range": settings.time_range,
            "safesearch": _SAFE.get(settings.safe),
        }


def _language(code: str) -> str:
    """Return a language as SearXNG takes it, which knows regions and no scripts, and refuses the others."""
    return "zh-TW" if code.lower() == "zh-hant" else code


def _silent(answer: Mapping[str, Any]) -> str:
    """Return the engines that did not answer, with the reasons."""
    listed = answer.get("unresponsive_engines")
    pairs = [pair for pair in listed if isinstance(pair, list) and pair] if isinstance(listed, list) else []
    return ", ".join(f"{pair[0]} ({pair[1]})" if len(pair) > 1 else str(pair[0]) for pair in pairs)
