"""The tools of an MCP server: one that searches as a search engine, one that reads addresses as a fetcher."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from typing import Any, Self

from mcp_types import CallToolResult, TextResourceContents

from leadline.contracts import Call, Context
from leadline.errors import Unsupported
from leadline.records import Blob, FetchRequest, Hit, SearchPage, SearchRequest
from leadline_plugins.fetch.guard import Guard
from leadline_plugins.mcp import McpSettings
from leadline_plugins.mcp.session import McpSession, texts
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
    if isinstance(data, Mapping) and data.keys() == {"result"} and isinstance(data["result"], str):
        data = _json(data["result"])  # how SDKs wrap the JSON of a tool that returns a text
    items = _at(data, path) if path else _only_list(data)
    if isinstance(items, list):
        return items
    where = f"at {path!r}" if path else "in the reply; name its place in `results`"
    keys = f"it has {', '.join(map(str, data)) or 'nothing'}" if isinstance(data, Mapping) else _kind(data)
    raise ValueError(f"there is no list of results {where}: {keys}")


def hit_of(item: Any, fields: Mapping[str, str]) -> Hit | None:
    """Return a result as a hit; None without an address."""
    if not isinstance(item, Mapping):
        return None
    texts = {name: _text(item, fields, name) for name in NAMES}
    if not texts["url"]:
        return None
    return hit(
        texts["url"],
        texts["title"],
        texts["snippet"],
        text=texts["text"] or None,
        published=texts["published"] or None,
        content_url=texts["content_url"] or None,
    )


def _text(item: Mapping[str, Any], fields: Mapping[str, str], name: str) -> str:
    """Return a field as text; of a list of texts, such as highlights, its parts."""
    paths = (fields[name],) if name in fields else NAMES[name]
    value = next((item for item in (_at(item, path) for path in paths) if item not in (None, "", [])), "")
    if isinstance(value, list):
        return "\n\n".join(item for item in value if isinstance(item, str))
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


class _McpTool:
    """A connection to the server, for one of its tools."""

    def __init__(self, settings: McpSettings, context: Context, tool: str) -> None:
        self._settings = settings
        self._session = McpSession(settings, context, tool)

    async def __aenter__(self) -> Self:
        await self._session.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._session.__aexit__(*error)


class McpEngine(_McpTool):
    """One search is one call of the tool."""

    def __init__(self, settings: McpSettings, context: Context) -> None:
        super().__init__(settings, context, settings.tool)

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return the results. Raises `BadReply` if they cannot be read."""
        settings = self._settings
        arguments = {**settings.arguments, settings.query: request.query}
        if settings.limit:
            arguments[settings.limit] = request.limit
        if settings.language and request.language:
            arguments[settings.language] = request.language
        result = await self._session.call(arguments, call)
        try:
            items = listed(result, settings.results)
        except ValueError as error:
            raise self._session.bad(str(error)) from error
        hits = [hit for item in items if (hit := hit_of(item, settings.fields))]
        if items and not hits:
            raise self._session.bad(f"none of {len(items)} results has an address; name its field in fields.url")
        return SearchPage(hits=tuple(hits[: request.limit]))


_WEB = ("http", "https")


class McpFetcher(_McpTool):
    """One page is one call of the tool. Web addresses pass the guard first: the tool might reach your own network."""

    def __init__(self, settings: McpSettings, context: Context) -> None:
        super().__init__(settings, context, settings.fetch_tool)
        self._guard = Guard(settings.allow)

    def accepts(self, url: str, /) -> bool:
        """Return whether the address has one of the schemes of the settings."""
        return _scheme(url) in self._settings.schemes

    async def fetch(self, request: FetchRequest, call: Call, /) -> Blob:
        """Return the text or the embedded resource that the tool returns. Raises `ProviderError`."""
        if _scheme(request.url) in _WEB:
            self._guard.url(request.url)
        settings = self._settings
        arguments = {**settings.fetch_arguments, settings.fetch_url: request.url}
        media_type, data = self._content(await self._session.call(arguments, call))
        if not data.strip():
            raise Unsupported(f"{settings.fetch_tool} returned no text for this address")
        return Blob(name=request.url, media_type=media_type, data=data)

    def _content(self, result: CallToolResult) -> tuple[str, bytes]:
        """Return media type and bytes: of the first embedded resource, or of all texts."""
        for block in result.content:
            if block.type != "resource":
                continue
            resource = block.resource
            kind = resource.mime_type or self._settings.media_type
            if isinstance(resource, TextResourceContents):
                return f"{kind.partition(';')[0]}; charset=utf-8", resource.text.encode()
            try:
                return kind, base64.b64decode(resource.blob, validate=True)
            except binascii.Error as error:
                raise self._session.bad("its resource is not valid base64") from error
        return f"{self._settings.media_type.partition(';')[0]}; charset=utf-8", texts(result).encode()


def _scheme(url: str) -> str:
    return url.partition(":")[0].lower()
