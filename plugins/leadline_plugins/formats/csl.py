"""The plugin `csl`: the sources as CSL-JSON, which Zotero and every citation processor read.

Of the data that engines return, only valid fields are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from leadline.citations import number
from leadline.contracts import Call
from leadline.plugin import report_formatter
from leadline.records import Blob, Files, Report, Source
from leadline.rendering import clean, plain_title, readable_url, safe_url

DATES = {"issued", "accessed", "submitted", "original-date", "event-date"}
_NAMES = {"author", "editor", "translator", "collection-editor", "container-author", "director", "reviewed-author"}
_DATE = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")
_TYPE = re.compile(r"[a-z][a-z_-]*")


def csl_items(report: Report) -> list[dict[str, Any]]:
    """Return all sources of a report in their numbering; `id` is `source-N`."""
    numbered = number(report)
    return [csl_item(source, f"source-{number}") for number, source in (*numbered.cited, *numbered.additional)]


def csl_item(source: Source, name: str) -> dict[str, Any]:
    """Return a source as an item of CSL-JSON: the data of the engine, completed by the hit."""
    hit = source.hit
    match = _DATE.match(hit.published or "")
    url = safe_url(hit.url) or (shown if (shown := readable_url(hit.url)) != hit.url else "")
    own = {
        "type": "webpage",
        "title": plain_title(clean(hit.title)) or clean(readable_url(hit.url)),
        **({"URL": url} if url else {}),
        **({"issued": {"date-parts": [[int(part) for part in match.groups() if part]]}} if match else {}),
    }
    return {**own, **dict(_valid(hit.csl)), "id": name}


def _valid(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the valid fields of engine data; others would fail a run at its very end."""
    for key, value in data.items():
        if key in _NAMES:
            names = [name for person in value if (name := _name(person))] if isinstance(value, list) else []
            yield from [(key, names)] if names else []
        elif key in DATES:
            yield from [(key, date)] if (date := _date(value)) else []
        elif isinstance(value, str | int | float) and _fits(key, str(value)):
            yield key, clean(value) if isinstance(value, str) else value


def _fits(key: str, value: str) -> bool:
    if key == "type":
        return bool(_TYPE.fullmatch(value))
    return bool(safe_url(value) if key == "URL" else value.strip())


def _name(value: Any) -> dict[str, str]:
    """Return the parts of a person's or an organization's name; empty without one."""
    if not isinstance(value, Mapping):
        return {}
    return {key: clean(part) for key, part in value.items() if isinstance(part, str) and clean(part).strip()}


def _date(value: Any) -> dict[str, Any]:
    """Return a date by its parts or as text; empty for other values."""
    match value:
        case {"date-parts": [[*first], *_]} if first and all(str(part).isdigit() for part in first):
            return {"date-parts": [[int(part) for part in first]]}
        case {"raw": str() as text} | (str() as text) if text.strip():
            return {"raw": clean(text)}
    return {}


@report_formatter("The sources as CSL-JSON, for reference managers", cache_key=None)
class Csl:
    """Renders CSL-JSON."""

    async def format(self, report: Report, call: Call, /) -> Files:
        """Return `references.json`: all sources in their numbering."""
        data = json.dumps(csl_items(report), ensure_ascii=False, indent=1).encode("utf-8", "replace")
        media_type = "application/vnd.citationstyles.csl+json"
        return Files(files=(Blob(name="references.json", media_type=media_type, data=data),))
