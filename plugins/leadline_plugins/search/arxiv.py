"""The engine `arxiv`: preprints in physics, mathematics, computer science and their neighbours; no key."""

from __future__ import annotations

import re
from typing import Any

from pydantic import Field

from leadline.contracts import Call, Context
from leadline.errors import Unsupported
from leadline.plugin import Limits, search_provider
from leadline.records import Hit, SearchPage, SearchRequest
from leadline_plugins.search.filters import Dates, limited, page_start
from leadline_plugins.search.http import Api
from leadline_plugins.search.results import authors, csl, day, hit, issued
from leadline_plugins.text.word_lists import stopwords

_MOST = 100
# Words of a query that are searched for.
_WORDS = 12
# Seconds between requests, one at a time, by arXiv's terms of use.
_INTERVAL = 3.0
# A query in arXiv's syntax.
_FIELD = re.compile(r"\b(ti|au|abs|co|jr|cat|rn|id|all):\S")
_WORD = re.compile(r'"[^"]+"|[^\W_]+(?:[-.][^\W_]+)*')
_VERSION = re.compile(r"v\d+$")
_ATOM = "{http://www.w3.org/2005/Atom}"
_ARXIV = "{http://arxiv.org/schemas/atom}"


class ArxivSettings(Dates):
    """arXiv's options."""

    base_url: str = Field("https://export.arxiv.org", description="the address before /api/query")
    categories: list[str] = Field([], description="only these subjects: cs.CL, math.NT, q-bio …")


@search_provider("Preprints of arXiv", settings=ArxivSettings, limits=Limits(at_once=1, interval=_INTERVAL))
class Arxiv:
    """Searches the preprints."""

    def __init__(self, settings: ArxivSettings, context: Context) -> None:
        self._settings = settings
        self._api = Api("arXiv", context, settings.base_url)

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return preprints, whose PDF is fetched; those with more words of the query come first."""
        start, count = page_start(request.cursor, first=0), limited(request.limit, _MOST)
        params = {
            "search_query": self._query(request.query),
            "start": start,
            "max_results": count,
            "sortBy": "relevance",
        }
        entries = self._entries(await self._api.read("/api/query", params, call))
        more = str(start + count) if len(entries) >= count else None
        return SearchPage(hits=tuple(map(_hit, entries))[: request.limit], cursor=more)

    def _query(self, query: str) -> str:
        settings = self._settings
        subjects = " OR ".join(f"cat:{category}" for category in settings.categories)
        span = _between(settings)
        return " AND ".join(f"({part})" for part in (_words(query), subjects, span) if part)

    def _entries(self, body: bytes) -> list[Any]:
        from lxml import etree  # type: ignore[import-untyped]

        # No entities of the document's own, no network: an answer of a kilobyte could grow to gigabytes, or read files.
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        try:
            root = etree.fromstring(body, parser)
        except (etree.XMLSyntaxError, ValueError) as error:
            raise self._api.bad(f"the answer is not XML ({error})") from error
        if root is None or root.tag != f"{_ATOM}feed":
            raise self._api.bad("the answer is not an Atom feed")
        entries: list[Any] = root.findall(f"{_ATOM}entry")
        for entry in entries:
            if "/api/errors" in _text(entry, "id"):
                raise Unsupported(f"arXiv refuses the request: {_text(entry, 'summary')[:200]}")
        return entries


def _words(query: str) -> str:
    """Return a query for any of the content words in arXiv's syntax; a query in this syntax is not changed."""
    if _FIELD.search(query):
        return query
    words = [word for word in _WORD.findall(query) if word.startswith('"') or word.lower() not in stopwords()["en"]]
    return " OR ".join(f"all:{word}" for word in dict.fromkeys(words[:_WORDS])) or f'all:"{query}"'


def _between(dates: Dates) -> str:
    if not (dates.since or dates.until):
        return ""
    since = f"{dates.since:%Y%m%d}" if dates.since else "19910101"
    until = f"{dates.until:%Y%m%d}" if dates.until else "20991231"
    return f"submittedDate:[{since}0000 TO {until}2359]"


def _hit(entry: Any) -> Hit:
    address = _text(entry, "id").replace("http://", "https://", 1)
    number = _VERSION.sub("", address.rpartition("/abs/")[2])
    published, doi = day(_text(entry, "published")), _text(entry, "doi", _ARXIV)
    journal = _text(entry, "journal_ref", _ARXIV)
    return hit(
        _VERSION.sub("", address),
        _text(entry, "title"),
        _text(entry, "summary"),
        content_url=f"https://arxiv.org/pdf/{number}",
        published=published,
        csl=csl(
            type="article-journal" if journal else "article",
            author=authors(" ".join("".join(name.itertext()).split()) for name in entry.iter(f"{_ATOM}name")),
            container_title=journal,
            publisher="arXiv",
            number=f"arXiv:{number}",
            issued=issued(published),
            DOI=doi,
        ),
    )


def _text(entry: Any, name: str, space: str = _ATOM) -> str:
    element = entry.find(space + name)
    return " ".join("".join(element.itertext()).split()) if element is not None else ""
