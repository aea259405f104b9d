"""Settings that search engines share, and their operators for engines that only accept a query."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence, Sized
from typing import Annotated

from pydantic import AfterValidator, Field

from leadline.errors import Unsupported
from leadline.plugin import PluginSettings

_DOMAIN = re.compile(r"[^\s/:@?#]+\.[^\s/:@?#]+(/[^\s?#]*)?")

# Hits of a full page, for engines that do not mark the last page.
_USUAL = 10


def _domain(text: str) -> str:
    if not _DOMAIN.fullmatch(text.strip()):
        raise ValueError(f"{text!r} is not a domain: write it as example.org, without https://")
    return text.strip().lower()


Domain = Annotated[str, AfterValidator(_domain)]
# ISO 3166-1 alpha-2, or empty.
Country = Annotated[str, Field(pattern=r"^([A-Za-z]{2})?$")]


class Domains(PluginSettings):
    """The sites to search."""

    include_domains: list[Domain] = Field([], description="search only these sites")
    exclude_domains: list[Domain] = Field([], description="exclude these sites")


class Dates(PluginSettings):
    """The publication dates of pages."""

    since: datetime.date | None = Field(None, description="first publication date")
    until: datetime.date | None = Field(None, description="last publication date")


def with_sites(query: str, settings: Domains) -> str:
    """Return the query with the `site:` operators of Google and similar engines."""
    only = " OR ".join(f"site:{domain}" for domain in settings.include_domains)
    wanted = [f"({only})"] if len(settings.include_domains) > 1 else [only]
    unwanted = [f"-site:{domain}" for domain in settings.exclude_domains]
    return " ".join(filter(None, [query, *wanted, *unwanted]))


def shortened(query: str, length: int, words: int = 1000) -> str:
    """Return the part of a query that an engine accepts, cut between words if possible."""
    line = " ".join(query.split()[:words])
    if len(line) <= length:
        return line
    cut = line[: length + 1].rpartition(" ")[0]
    return cut or line[:length]


def page_start(cursor: str | None, first: int = 1) -> int:
    """Return the start of a page; `first` without a cursor. Raises `Unsupported` for a foreign cursor."""
    if cursor is None:
        return first
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 7):
        raise Unsupported(f"{cursor[:20]!r} is not a cursor of this engine")
    return int(cursor)


def following(page: int, hits: Sized, wanted: int) -> str | None:
    """Return the cursor of the next page; None after a page that is less than half full."""
    return str(page + 1) if 2 * len(hits) > min(wanted, _USUAL) else None


def limited(wanted: int, maximum: int) -> int:
    """Return the number of hits to request, within the limit of the engine."""
    return max(1, min(wanted, maximum))


def iso(day: datetime.date | None) -> str | None:
    """Return a date as YYYY-MM-DD; None without a date."""
    return day.isoformat() if day else None


def either(chosen: Sequence[str] | str, request: str) -> str:
    """Return the value of the settings, else that of the request unless it is `und` (no language)."""
    return str(chosen) if chosen else ("" if request == "und" else request)
