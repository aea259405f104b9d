"""Settings that engines share, and what becomes of them where an engine has only its query for them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence, Sized
from typing import Annotated

from pydantic import AfterValidator, Field

from leadline.errors import Unsupported
from leadline.hookspecs import PluginSettings

_DOMAIN = re.compile(r"[^\s/:@?#]+\.[^\s/:@?#]+(/[^\s?#]*)?")

_USUAL = 10
"""Hits on a page of engines that do not say whether it is the last."""


def _domain(text: str) -> str:
    if not _DOMAIN.fullmatch(text.strip()):
        raise ValueError(f"{text!r} is no domain: write it as example.org, without https://")
    return text.strip().lower()


Domain = Annotated[str, AfterValidator(_domain)]
Country = Annotated[str, Field(pattern=r"^([A-Za-z]{2})?$")]
"""ISO 3166-1 alpha-2, or nothing."""


class Domains(PluginSettings):
    """Which sites are searched."""

    include_domains: list[Domain] = Field([], description="only pages of these sites")
    exclude_domains: list[Domain] = Field([], description="no pages of these sites")


class Dates(PluginSettings):
    """Between which days a page was published."""

    since: datetime.date | None = Field(None, description="no pages from before this day")
    until: datetime.date | None = Field(None, description="no pages from after this day")


def with_sites(query: str, settings: Domains) -> str:
    """Return the query with the operators by which engines of the Google family choose sites."""
    only = " OR ".join(f"site:{domain}" for domain in settings.include_domains)
    wanted = [f"({only})"] if len(settings.include_domains) > 1 else [only]
    unwanted = [f"-site:{domain}" for domain in settings.exclude_domains]
    return " ".join(filter(None, [query, *wanted, *unwanted]))


def shortened(query: str, length: int, words: int = 1000) -> str:
    """Return as much of a query as an engine takes, cut between words where there are any."""
    kept = " ".join(query.split()[:words])
    if len(kept) <= length:
        return kept
    cut = kept[: length + 1].rpartition(" ")[0]
    return cut or kept[:length]


def place(cursor: str | None, first: int = 1) -> int:
    """Return where a page begins, `first` for the first one. Raises `Unsupported` for no cursor of ours."""
    if cursor is None:
        return first
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 7):
        raise Unsupported(f"{cursor[:20]!r} is no cursor of this engine")
    return int(cursor)


def following(page: int, hits: Sized, wanted: int) -> str | None:
    """Return the cursor of the next page; None behind one that is less than half full: nothing stands there."""
    return str(page + 1) if 2 * len(hits) > min(wanted, _USUAL) else None


def limited(wanted: int, most: int) -> int:
    """Return how many hits are asked for: as many as are wanted, as far as the engine goes."""
    return max(1, min(wanted, most))


def iso(day: datetime.date | None) -> str | None:
    """Return a day as YYYY-MM-DD, None for none."""
    return day.isoformat() if day else None


def either(chosen: Sequence[str] | str, request: str) -> str:
    """Return what the settings choose, else what the request says; `und` is no language."""
    return str(chosen) if chosen else ("" if request == "und" else request)
