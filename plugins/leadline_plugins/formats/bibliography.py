"""References as data: CSL-JSON, of what engines told only what has the shape that readers of it expect."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from leadline.citations import number
from leadline.records import Report, Source
from leadline_plugins.formats.address import followable, titled
from leadline_plugins.formats.tree import clean

DATES = {"issued", "accessed", "submitted", "original-date", "event-date"}
_NAMES = {"author", "editor", "translator", "collection-editor", "container-author", "director", "reviewed-author"}
_DATE = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")
_TYPE = re.compile(r"[a-z][a-z_-]*")


def items(report: Report) -> list[dict[str, Any]]:
    """Return all sources of a report, as they are numbered; `id` is `source-N`."""
    numbered = number(report)
    return [item(source, f"source-{place}") for place, source in (*numbered.cited, *numbered.additional)]


def item(source: Source, name: str) -> dict[str, Any]:
    """Return a source as an item of CSL-JSON: what the engine knew of it, completed by its hit."""
    hit = source.hit
    found = _DATE.match(hit.published or "")
    url = hit.url if hit.url.startswith("file://") else followable(hit.url)
    own = {
        "type": "webpage",
        "title": titled(clean(hit.title)) or clean(hit.url),
        **({"URL": url} if url else {}),
        **({"issued": {"date-parts": [[int(part) for part in found.groups() if part]]}} if found else {}),
    }
    return {**own, **dict(_known(hit.csl)), "id": name}


def _known(told: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields that are what they should be; the others would stop a run at its very end."""
    for key, value in told.items():
        if key in _NAMES:
            names = [name for given in value if (name := _name(given))] if isinstance(value, list) else []
            yield from [(key, names)] if names else []
        elif key in DATES:
            yield from [(key, date)] if (date := _date(value)) else []
        elif isinstance(value, str | int | float) and _fits(key, str(value)):
            yield key, clean(value) if isinstance(value, str) else value


def _fits(key: str, value: str) -> bool:
    if key == "type":
        return bool(_TYPE.fullmatch(value))
    return bool(followable(value) if key == "URL" else value.strip())


def _name(given: Any) -> dict[str, str]:
    """Return the parts of a person's name, or an organisation's; nothing where none is given."""
    if not isinstance(given, Mapping):
        return {}
    return {key: clean(part) for key, part in given.items() if isinstance(part, str) and clean(part).strip()}


def _date(given: Any) -> dict[str, Any]:
    """Return a date by its parts, or in the words it is given in; nothing for what is none."""
    match given:
        case {"date-parts": [[*first], *_]} if first and all(str(part).isdigit() for part in first):
            return {"date-parts": [[int(part) for part in first]]}
        case {"raw": str() as said} | (str() as said) if said.strip():
            return {"raw": clean(said)}
    return {}
