"""The tools of an MCP server: one that searches as a search engine, one that reads addresses as a fetcher."""

from __future__ import annotations

import base64
import binascii
from typing import Self

from mcp_types import CallToolResult, TextResourceContents

from leadline.contracts import Call, Context
from leadline.errors import Unsupported
from leadline.records import Blob, FetchRequest, SearchPage, SearchRequest
from leadline_plugins.fetch.guard import Guard
from leadline_plugins.mcp import McpSettings
from leadline_plugins.mcp.results import hit_of, listed
from leadline_plugins.mcp.session import McpSession, texts


class _McpTool:
    """A connection to the server, for one of its tools."""

    def __init__(self, settings: McpSettings, context: Context, tool: str) -> None:
        self._settings = settings
        self._session = McpSession(settings, context, tool)

    async def __aenter__(self) -> Self:
        """Connect."""
        await self._session.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        """Disconnect."""
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
        if request.accept and media_type.partition(";")[0].strip() not in request.accept:
            raise Unsupported(f"{settings.fetch_tool} returns {media_type}, not {', '.join(request.accept)}")
        if request.size is not None and len(data) > request.size:
            raise Unsupported(f"the page has {len(data)} bytes, more than {request.size}")
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
