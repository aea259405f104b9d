"""What the vendors' searches share: the question as it is put to a model, and the words around a citation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

from leadline.contracts import Call, Context
from leadline.records import Hit, SearchRequest
from leadline_plugins.search.http import Api, plain
from leadline_plugins.search.model.settings import ModelSettings, vendor_of

_LINK = re.compile(r"\(?\[[^\]]*\]\([^)\s]*\)\)?")
_MARKS = re.compile(r"[*_`#>]+")
_TRACKING = re.compile(r"[?&]utm_source=[a-z.]+$")
_SHOWN = 500
"""Characters of a snippet."""


class Vendor(Protocol):
    """A vendor's search: the pages that its model cites."""

    async def search(self, request: SearchRequest, call: Call, /) -> Sequence[Hit]: ...


def asked(request: SearchRequest) -> str:
    """Return the question to the model."""
    return (
        f"Search the web for: {request.query}\n\n"
        f"List the {request.limit} most relevant pages you find, the best first: for each one line that says what it "
        "tells about this, with a citation of the page. Prefer primary and official sources. Add nothing that no page "
        "says, and no introduction."
    )


def api(name: str, settings: ModelSettings, context: Context, header: str, value: str = "%s") -> Api:
    """Return the way to the vendor; the key is sent in the header, in the form of the value."""
    vendor = vendor_of(settings)
    key = settings.key(vendor)
    headers = {header: value % plain(key)}
    return Api(name, context, settings.url, key=key, key_field=f"{vendor}_api_key", headers=headers)


def around(text: str, start: object, end: object) -> str:
    """Return the line of a reply in which a citation stands, without links and marks."""
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start <= end <= len(text)):
        return ""
    begin = text.rfind("\n", 0, start) + 1
    line = text[begin : text.find("\n", end) if "\n" in text[end:] else len(text)]
    return " ".join(_MARKS.sub("", _LINK.sub("", line)).split())[:_SHOWN]


def bare(url: object) -> str:
    """Return an address without the mark that vendors add to count their readers; empty for what is none."""
    return _TRACKING.sub("", url) if isinstance(url, str) and url.startswith(("https://", "http://")) else ""


def listed(data: object, *path: str) -> list[dict[str, Any]]:
    """Return the objects of the list at a path into JSON; nothing where there is no such list."""
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    return [one for one in data if isinstance(one, dict)] if isinstance(data, list) else []
