"""The search tool of an MCP server as a search engine."""

from __future__ import annotations

from leadline.contracts import Call, Context
from leadline.records import SearchPage, SearchRequest
from leadline_plugins.mcp import McpSettings
from leadline_plugins.mcp.results import hit_of, listed
from leadline_plugins.mcp.session import McpSession


class McpEngine:
    """One search is one call of the tool."""

    def __init__(self, settings: McpSettings, context: Context) -> None:
        self._settings = settings
        self._session = McpSession(settings, context, settings.tool)

    async def __aenter__(self) -> McpEngine:
        """Connect."""
        await self._session.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        """Disconnect."""
        await self._session.__aexit__(*error)

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
