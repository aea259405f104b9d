"""What a page says about itself: title, author, date, language.

From JSON-LD, meta elements and a few elements of fixed meaning, in this order. Nothing is guessed from the running
text: a date found somewhere on a page is more often another one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

_META_NAMES = ("property", "name", "itemprop", "http-equiv")
_JSON = 500_000
"""Characters of one block of JSON-LD."""
_DEEP = 6
_TIMES = 5
"""Elements with a date that are looked at."""
_DATE = re.compile(r"(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})")
_WORKS = re.compile(r"Article|Posting|Report|Page|Book|Dataset|Creative|Recipe|Event|Review|Question", re.IGNORECASE)
_SITE = re.compile(r"\s+[|\-–—·•»]\s+[^|\-–—·•»]{1,40}$")
_TITLES = ("og:title", "twitter:title", "citation_title", "dc.title", "dcterms.title")
_AUTHORS = ("author", "citation_author", "article:author", "dc.creator", "dcterms.creator", "parsely-author", "byl")
_DATES = (
    "article:published_time",
    "citation_publication_date",
    "citation_date",
    "datepublished",
    "dc.date.issued",
    "dcterms.issued",
    "dc.date",
    "dcterms.date",
    "dcterms.created",
    "parsely-pub-date",
    "pubdate",
    "publishdate",
    "og:published_time",
    "sailthru.date",
    "date",
)


@dataclass(frozen=True)
class About:
    """What was said; `published` is ISO 8601."""

    title: str = ""
    author: str = ""
    published: str | None = None
    language: str = ""


def about(page: Any) -> About:
    """Return what a lexbor page says about itself."""
    metas, linked = metas_of(page), list(_works(page))
    return About(
        title=_title(page, metas, linked),
        author=_first(*(_names(work.get("author")) for work in linked), *_of(metas, _AUTHORS, _people)),
        published=_day(*(str(work.get("datePublished", "")) for work in linked), *_of(metas, _DATES), *_times(page)),
        language=_language(page, metas),
    )


def metas_of(page: Any) -> dict[str, list[str]]:
    """Return the contents of the meta elements by name, in lower case."""
    found: dict[str, list[str]] = {}
    for meta in page.css("meta"):
        attributes = meta.attributes
        name = next((value for key in _META_NAMES if (value := attributes.get(key))), "")
        if content := " ".join((attributes.get("content") or "").split()):
            found.setdefault(name.strip().lower(), []).append(content)
    return found


def _of(metas: dict[str, list[str]], names: tuple[str, ...], keep: Any = None) -> Iterator[str]:
    for name in names:
        values = [value for value in metas.get(name, ()) if keep is None or keep(value)]
        if values:
            yield "; ".join(dict.fromkeys(values)) if keep else values[0]


def _people(text: str) -> bool:
    return "://" not in text and not text.startswith("@") and len(text) <= 200


def _works(page: Any) -> Iterator[dict[str, Any]]:
    """Yield the works that blocks of JSON-LD describe."""
    for script in page.css("script[type*='ld+json']"):
        text = script.text().strip()
        if len(text) > _JSON:
            continue
        try:
            yield from _walk(json.loads(text, strict=False))
        except (ValueError, RecursionError):
            continue  # broken JSON-LD is common, and says nothing


def _walk(data: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    if isinstance(data, list):
        for item in data if depth < _DEEP else ():
            yield from _walk(item, depth + 1)
    elif isinstance(data, dict):
        if _WORKS.search(str(data.get("@type", ""))):
            yield data
        for key in ("@graph", "mainEntity", "mainEntityOfPage"):
            yield from _walk(data.get(key), depth + 1)


def _names(value: Any) -> str:
    """Return the names in an author of JSON-LD: a text, a thing with a name, or a list of them."""
    if isinstance(value, list):
        return "; ".join(dict.fromkeys(filter(None, map(_names, value[:20]))))
    if isinstance(value, dict):
        value = value.get("name", "")
    text = " ".join(value.split()) if isinstance(value, str) else ""
    return text if _people(text) else ""


def _title(page: Any, metas: dict[str, list[str]], linked: list[dict[str, Any]]) -> str:
    """Return the title as the work names itself, else the page's without the name of the site."""
    headlines = (work.get("headline") for work in linked)
    named = _first(*(text for text in headlines if isinstance(text, str)), *_of(metas, _TITLES))
    headings = [" ".join(element.text().split()).rstrip("¶ ") for element in page.css("h1")[:2]]
    title = next((" ".join(element.text().split()) for element in page.css("title")), "")
    single = headings[0] if len(headings) == 1 else ""
    return named or (single if single and single in title else _SITE.sub("", title) or single)


def _times(page: Any) -> Iterator[str]:
    """Yield dates of elements that say that they are the date of publication."""
    for element in page.css("[itemprop='datePublished'], [pubdate], article time[datetime]")[:_TIMES]:
        attributes = element.attributes
        yield attributes.get("datetime") or attributes.get("content") or element.text()


def _day(*texts: str) -> str | None:
    """Return the first text that begins with a date, as ISO 8601 without the time."""
    for text in texts:
        if found := _DATE.search(text[:40]):
            try:
                return date(*map(int, found.groups())).isoformat()
            except ValueError:
                continue  # 2025-99-99
    return None


def _language(page: Any, metas: dict[str, list[str]]) -> str:
    root = page.root.attributes if page.root is not None else {}
    named = root.get("lang") or root.get("xml:lang") or _first(*_of(metas, ("content-language", "og:locale")))
    return named.replace("_", "-").split("-")[0].lower()


def _first(*texts: str) -> str:
    return next((text for text in texts if text), "")
