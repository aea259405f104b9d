"""The engine `wikipedia`: full-text search of Wikipedia in the question's language; no key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from leadline import __version__
from leadline.contracts import Call, Context
from leadline.display import one_line, strip_markup
from leadline.plugin import Limits, PluginSettings, search_provider
from leadline.records import Hit, SearchPage, SearchRequest
from leadline_plugins.search.filters import either, limited, page_start, shortened
from leadline_plugins.search.http import Api
from leadline_plugins.search.results import Lenient, Result, hit, images, results
from leadline_plugins.service_errors import find_refusal

# Pages whose introduction one answer contains.
_MOST = 20
# Characters of a query.
_LONGEST = 300
# The wiki that has the pictures of all Wikipedias; another wiki has its own.
_COMMONS = "https://commons.wikimedia.org"
# Pixels of the width in which Commons sends a picture; characters of a description that can be a caption.
_WIDTH, _CAPTION = 1280, 200
_LANGUAGE = re.compile(r"[a-z]{2,12}")


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


class _File(Result):
    title: str
    index: int = 0
    imageinfo: list[dict[str, Any]] = []


@search_provider(
    "Wikipedia in the language of the question",
    settings=WikipediaSettings,
    limits=Limits(at_once=2, interval=0.1),
    images=True,
)
class Wikipedia:
    """Searches the Wikipedias, one by language."""

    def __init__(self, settings: WikipediaSettings, context: Context) -> None:
        self._settings = settings
        self._context = context
        self._apis: dict[str, Api] = {}

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return articles, with their beginnings as snippets; or pictures of Wikimedia Commons, with their licence."""
        if request.images:
            return await self._pictures(request, call)
        start = page_start(request.cursor, first=0)
        api = self._api(either(self._settings.language, request.language))
        answer = await api.get(self._settings.path, _params(request, start), call)
        _check(answer, api)
        pages = sorted(results(_Page, _listed(answer), api), key=lambda page: page.index)
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
        return SearchPage(hits=tuple(hits)[: request.limit], cursor=_next(answer))

    async def _pictures(self, request: SearchRequest, call: Call) -> SearchPage:
        start = page_start(request.cursor, first=0)
        url = self._settings.base_url
        api = self._at("Wikimedia Commons", _COMMONS if "{language}" in url else url)
        answer = await api.get(self._settings.path, _picture_params(request, start), call)
        _check(answer, api)
        files = sorted(results(_File, _listed(answer), api), key=lambda file: file.index)
        hits = (_picture(file.title, file.imageinfo[0]) for file in files if file.imageinfo)
        return SearchPage(
            hits=tuple(picture for picture in hits if picture.images)[: request.limit], cursor=_next(answer)
        )

    def _api(self, language: str) -> Api:
        code = language.lower().partition("-")[0]
        code = code if _LANGUAGE.fullmatch(code) else "en"
        return self._at("Wikipedia", self._settings.base_url.replace("{language}", code))

    def _at(self, name: str, url: str) -> Api:
        if url not in self._apis:
            contact = self._settings.contact
            headers = {"User-Agent": f"leadline/{__version__} ({contact})"} if contact else {}
            self._apis[url] = Api(name, self._context, url, headers=headers)
        return self._apis[url]


def _params(request: SearchRequest, start: int) -> dict[str, object]:
    return _search_params(shortened(request.query, _LONGEST), request, start, namespace=0) | {
        "prop": "extracts|info|pageimages",
        "exintro": 1,
        "explaintext": 1,
        "exlimit": "max",
        "inprop": "url",
        "piprop": "original",
        "pilimit": _MOST,
    }


def _picture_params(request: SearchRequest, start: int) -> dict[str, object]:
    query = f"{shortened(request.query, _LONGEST)} filetype:bitmap|drawing"
    return _search_params(query, request, start, namespace=6) | {
        "prop": "imageinfo",
        "iiprop": "url|extmetadata",
        "iiurlwidth": _WIDTH,
        "iiextmetadatafilter": "ImageDescription|LicenseShortName|Artist",
        "iiextmetadatalanguage": request.language.partition("-")[0] or "en",
    }


def _search_params(query: str, request: SearchRequest, start: int, *, namespace: int) -> dict[str, object]:
    return {
        "action": "query",
        "format": "json",
        "formatversion": 2,
        "generator": "search",
        "gsrsearch": query,
        "gsrlimit": limited(request.limit, _MOST),
        "gsroffset": start or None,
        "gsrnamespace": namespace,
    }


def _picture(title: str, info: Mapping[str, Any]) -> Hit:
    """Return a file of Commons: its description, or else its name, is the caption."""
    metadata = info.get("extmetadata")
    texts = {
        name: one_line(strip_markup(_value(metadata, name)))
        for name in ("ImageDescription", "LicenseShortName", "Artist")
    }
    name = title.partition(":")[2].rpartition(".")[0].replace("_", " ")
    description = texts["ImageDescription"]
    caption = description if 0 < len(description) <= _CAPTION else name
    rights = ", ".join(filter(None, (texts["Artist"], texts["LicenseShortName"])))
    address = info.get("thumburl") or info.get("url")
    page = info.get("descriptionurl")
    return hit(str(page or address or ""), caption, description, images=images(str(address or "")), rights=rights)


def _value(metadata: object, name: str) -> str:
    field = metadata.get(name) if isinstance(metadata, dict) else None
    return str(field.get("value") or "") if isinstance(field, dict) else ""


def _check(answer: Mapping[str, Any], api: Api) -> None:
    """Raise the error in an answer, which has status 200."""
    if refusal := find_refusal(answer, 200):
        raise api.refused(refusal)


def _listed(answer: Mapping[str, Any]) -> object:
    query = answer.get("query")
    if query is None and "batchcomplete" in answer:
        return []  # how it says that nothing was found
    return query.get("pages") if isinstance(query, dict) else None


def _next(answer: Mapping[str, Any]) -> str | None:
    following = answer.get("continue")
    start = following.get("gsroffset") if isinstance(following, dict) else None
    return str(start) if isinstance(start, int) else None
