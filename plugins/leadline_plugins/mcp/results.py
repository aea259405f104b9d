"""Hits from what a tool returns: structured content, JSON in texts, or links to resources."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mcp_types import CallToolResult, TextResourceContents

from leadline.records import Hit
from leadline_plugins.search.results import hit

# The names that servers usually give the fields of a result, the first one found counts.
NAMES: Mapping[str, tuple[str, ...]] = {
    "url": ("url", "link", "href", "uri"),
    "title": ("title", "name"),
    "snippet": ("snippet", "description", "summary", "content"),
    "text": ("text",),
    "published": ("published", "publishedDate", "published_date", "date"),
    "content_url": (),
}


def listed(result: CallToolResult, path: str) -> list[Any]:
    """Return the list of results at a dotted path. Raises `ValueError` that says what is there instead."""
    data = result.structured_content if result.structured_content is not None else _parsed(result)
    found = _at(data, path) if path else _only_list(data)
    if isinstance(found, list):
        return found
    where = f"at {path!r}" if path else "in the reply; name its place in `results`"
    keys = f"it has {', '.join(map(str, data)) or 'nothing'}" if isinstance(data, Mapping) else _kind(data)
    raise ValueError(f"there is no list of results {where}: {keys}")


def hit_of(item: Any, fields: Mapping[str, str]) -> Hit | None:
    """Return a result as a hit; None without an address."""
    if not isinstance(item, Mapping):
        return None
    found = {name: _text(item, fields, name) for name in NAMES}
    if not found["url"]:
        return None
    return hit(
        found["url"],
        found["title"],
        found["snippet"],
        text=found["text"] or None,
        published=found["published"] or None,
        content_url=found["content_url"] or None,
    )


def _text(item: Mapping[str, Any], fields: Mapping[str, str], name: str) -> str:
    """Return a field as text; of a list of texts, such as highlights, its parts."""
    paths = (fields[name],) if name in fields else NAMES[name]
    value = next((one for one in (_at(item, path) for path in paths) if one not in (None, "", [])), "")
    if isinstance(value, list):
        return "\n\n".join(one for one in value if isinstance(one, str))
    return value if isinstance(value, str) else "" if isinstance(value, Mapping) else str(value)


def _at(data: Any, path: str) -> Any:
    """Return what is at a dotted path; None if there is nothing."""
    if isinstance(data, Mapping) and path in data:
        return data[path]
    for key in path.split("."):
        if isinstance(data, list) and key.isdecimal():
            data = data[int(key)] if int(key) < len(data) else None
        else:
            data = data.get(key) if isinstance(data, Mapping) else None
    return data


def _only_list(data: Any) -> Any:
    """Return the reply if it is a list, or its only list: servers wrap results in an object."""
    if not isinstance(data, Mapping):
        return data
    lists = [value for value in data.values() if isinstance(value, list)]
    return lists[0] if len(lists) == 1 else None


def _parsed(result: CallToolResult) -> Any:
    """Return a reply without structured content: its resources, or the JSON of its texts."""
    if resources := list(_resources(result)):
        return resources
    texts = [block.text for block in result.content if block.type == "text"]
    if len(texts) == 1:
        return _json(texts[0])
    return [item for text in texts if isinstance(item := _json(text), Mapping)] or None


def _resources(result: CallToolResult) -> Iterator[dict[str, Any]]:
    for block in result.content:
        if block.type == "resource_link":
            yield {"url": block.uri, "title": block.title or block.name, "snippet": block.description}
        elif block.type == "resource" and isinstance(block.resource, TextResourceContents):
            yield {"url": block.resource.uri, "text": block.resource.text}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _kind(data: Any) -> str:
    return "it is neither structured nor JSON" if data is None else f"it is {type(data).__name__}"
