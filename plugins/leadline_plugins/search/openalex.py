"""The engine `openalex`: scholarly works of all fields; without a key a hundred searches a day."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import Field, SecretStr

from leadline.contracts import Call, Context
from leadline.plugin import Limits, search_provider
from leadline.records import Hit, SearchPage, SearchRequest
from leadline_plugins.search.filters import Dates, limited, page_start, shortened
from leadline_plugins.search.http import Api
from leadline_plugins.search.results import Lenient, Result, abstract, authors, csl, day, hit, issued, results

_MOST = 100
_LONGEST = 400
# Characters that the service reads as wildcards, which it refuses in some places.
_OPERATORS = re.compile(r"[?*~!|\\]")
_FIELDS = (
    "id,doi,display_name,publication_date,type,authorships,primary_location,best_oa_location,"
    "biblio,abstract_inverted_index"
)
_TYPES = {
    "article": "article-journal",
    "review": "article-journal",
    "letter": "article-journal",
    "preprint": "article",
    "book": "book",
    "book-chapter": "chapter",
    "dissertation": "thesis",
    "dataset": "dataset",
    "report": "report",
}
# Characters.
_SNIPPET = 500


class OpenAlexSettings(Dates):
    """OpenAlex's options."""

    api_key: SecretStr = Field(
        SecretStr(""), description="the API key, which is free; without it only a few searches per day"
    )
    base_url: str = Field("https://api.openalex.org", description="the address before /works")
    language: str = Field("", description="language of the works; default: any")
    open_access: bool = Field(False, description="only open-access works")
    retracted: bool = Field(False, description="include retracted works")


class _OpenAlexPlace(Result):
    landing_page_url: str | None = None
    pdf_url: str | None = None
    source: dict[str, Any] | None = None


class _Work(Result):
    id: str
    doi: str | None = None
    display_name: Lenient = ""
    publication_date: str | None = None
    type: Lenient = ""
    authorships: list[dict[str, Any]] = []
    primary_location: _OpenAlexPlace | None = None
    best_oa_location: _OpenAlexPlace | None = None
    biblio: dict[str, Any] | None = None
    abstract_inverted_index: dict[str, Any] | None = None


@search_provider(
    "Scholarly works by OpenAlex",
    settings=OpenAlexSettings,
    env={"api_key": "OPENALEX_API_KEY"},
    limits=Limits(at_once=4, interval=0.1),
)
class OpenAlex:
    """Searches the works."""

    def __init__(self, settings: OpenAlexSettings, context: Context) -> None:
        self._settings = settings
        # In a header: an address with the key in it would stand in logs.
        headers = {"Authorization": "Bearer {key}"}
        self._api = Api("OpenAlex", context, settings.base_url, key=settings.api_key, headers=headers)

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return works; one that can only be bought has its abstract as text."""
        page = page_start(request.cursor)
        answer = await self._api.get("/works", self._params(request, page), call)
        works = results(_Work, answer.get("results"), self._api)
        more = len(works) >= limited(request.limit, _MOST)
        hits = tuple(map(_hit, works))[: request.limit]
        return SearchPage(hits=hits, cursor=str(page + 1) if more else None)

    def _params(self, request: SearchRequest, page: int) -> dict[str, object]:
        settings = self._settings
        filters = {
            f"language:{settings.language.lower()}": settings.language,
            f"from_publication_date:{settings.since}": settings.since,
            f"to_publication_date:{settings.until}": settings.until,
            "is_oa:true": settings.open_access,
            "is_retracted:false": not settings.retracted,
        }
        return {
            "search": shortened(_OPERATORS.sub(" ", request.query), _LONGEST),
            "filter": ",".join(text for text, applies in filters.items() if applies),
            "select": _FIELDS,
            "per_page": limited(request.limit, _MOST),
            "page": page,
        }


def _hit(work: _Work) -> Hit:
    first, free = work.primary_location or _OpenAlexPlace(), work.best_oa_location
    text = abstract(work.abstract_inverted_index)
    return hit(
        work.doi or first.landing_page_url or work.id,
        work.display_name,
        text[:_SNIPPET],
        text=text or None if free is None else None,
        content_url=(free.pdf_url or free.landing_page_url) if free else None,
        published=work.publication_date,
        csl=_csl(work, first),
    )


def _csl(work: _Work, first: _OpenAlexPlace) -> dict[str, Any]:
    biblio, venue = work.biblio or {}, first.source or {}
    pages = [page for name in ("first_page", "last_page") if (page := biblio.get(name))]
    return csl(
        type=_TYPES.get(work.type, "document"),
        author=authors(_names(work)),
        container_title=venue.get("display_name"),
        publisher=venue.get("host_organization_name"),
        volume=biblio.get("volume"),
        issue=biblio.get("issue"),
        page="-".join(dict.fromkeys(pages)),
        issued=issued(day(work.publication_date)),
        DOI=(work.doi or "").removeprefix("https://doi.org/"),
    )


def _names(work: _Work) -> Iterator[str]:
    for authorship in work.authorships:
        author = authorship.get("author")
        name = author.get("display_name") if isinstance(author, dict) else None
        yield name if isinstance(name, str) else ""
