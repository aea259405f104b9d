"""What the engines of scholarly works share: authors, dates and abstracts as citations want them (CSL-JSON)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

_LATIN = re.compile(r"[A-Za-zÀ-ɏ.'’\- ]+")
_SHOWN = 50
"""Authors that are kept; experiments have thousands."""


def authors(names: Iterable[str]) -> list[dict[str, str]]:
    """Return names as CSL-JSON."""
    return [author(name) for name in list(filter(None, names))[:_SHOWN]]


def author(name: str) -> dict[str, str]:
    """Return a name in its parts, as far as its spelling shows them: the last word of a Latin one, with `van der`."""
    words = name.split()
    if len(words) < 2 or not _LATIN.fullmatch(name):
        return {"literal": " ".join(words)}
    first = len(words) - 1
    while first > 1 and words[first - 1].islower():
        first -= 1
    return {"family": " ".join(words[first:]), "given": " ".join(words[:first])}


def issued(day: str | None) -> dict[str, Any]:
    """Return an ISO date as CSL-JSON; empty for none."""
    parts = [int(part) for part in (day or "").split("-") if part.isdecimal()]
    return {"date-parts": [parts]} if parts else {}


def csl(**fields: Any) -> dict[str, Any]:
    """Return the fields that are known; names are written with _ for -."""
    return {name.replace("_", "-"): value for name, value in fields.items() if value not in (None, "", [], {})}


def abstract(index: Mapping[str, Any] | None) -> str:
    """Return the text of an inverted index: each word with the places where it stands."""
    placed = [
        (place, word)
        for word, places in (index or {}).items()
        if isinstance(places, list)
        for place in places
        if isinstance(place, int)
    ]
    return " ".join(word for _, word in sorted(placed))
