"""The plugin `mcp`: a tool of any MCP server as a search engine or a fetcher, by settings alone.

Each section with `use = "mcp"` is one server: a command that Leadline starts, or an address. `session` holds the
connection, `engine` calls its tools and reads what they return.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue, SecretStr, field_validator

from leadline.contracts import Context, Fetcher, SearchProvider
from leadline.plugin import Limits, PluginSettings, fetcher, search_provider
from leadline_plugins.fetch.guard import checked

__all__ = ["McpSettings"]

# What a hit takes from a result.
HIT_FIELDS = ("url", "title", "snippet", "text", "published", "content_url")
_REQUIRES = ("mcp=leadline[mcp]",)
# Those of the server, whose arguments are not stored but count, and those of the call.
_SERVER = ("command", "args", "url")
_SEARCH = (*_SERVER, "tool", "query", "limit", "language", "arguments", "results", "fields")
_FETCH = (*_SERVER, "fetch_tool", "fetch_url", "fetch_arguments", "media_type")


class McpSettings(PluginSettings):
    """One MCP server, and which of its tools searches or fetches."""

    unstored = ("args",)
    authority = {
        **dict.fromkeys(("command", "args", "env"), "a program"),
        **dict.fromkeys(("tool", "arguments", "fetch_tool", "fetch_arguments"), "a tool"),
        "allow": "hosts of your network",
    }

    command: str = Field("", description="the program that is the server, on standard input and output")
    args: tuple[str, ...] = Field((), description="its arguments")
    env: dict[str, SecretStr] = Field({}, description="environment variables of the program, such as keys")
    url: str = Field("", description="the address of a server over HTTP, such as https://mcp.example.com/mcp")
    headers: dict[str, SecretStr] = Field({}, description="headers of requests to it, such as Authorization")
    tool: str = Field("", description="the tool that searches; needed as a search engine")
    query: str = Field("query", description="the tool's argument for the query")
    limit: str = Field("", description="the tool's argument for the number of results; empty: it has none")
    language: str = Field("", description="the tool's argument for the language; empty: it has none")
    arguments: dict[str, JsonValue] = Field({}, description="further arguments of the tool that searches")
    results: str = Field(
        "", description='where the list of results is in the reply: "data.items"; default: the reply, or its only list'
    )
    fields: dict[str, str] = Field(
        {}, description='names of the fields of a result: { url = "link", text = "body", title = "meta.title" }'
    )
    fetch_tool: str = Field("", description="the tool that reads an address; needed as a fetcher")
    fetch_url: str = Field("url", description="its argument for the address")
    fetch_arguments: dict[str, JsonValue] = Field({}, description="further arguments of the tool that reads")
    schemes: tuple[str, ...] = Field(("https", "http"), description="schemes of the addresses that it reads")
    allow: tuple[Annotated[str, AfterValidator(checked)], ...] = Field(
        (), description='hosts of your own network that it may be asked for: "wiki.corp", "10.0.0.0/8"'
    )
    media_type: str = Field("text/markdown", description="the media type of the text that it returns")

    @field_validator("fields")
    @classmethod
    def _of_hits(cls, fields: dict[str, str]) -> dict[str, str]:
        if unknown := sorted(set(fields) - set(HIT_FIELDS)):
            raise ValueError(f"no such field of a result: {', '.join(unknown)}; choose from {', '.join(HIT_FIELDS)}")
        return fields


def _ready(settings: McpSettings, tool: str) -> str | None:
    if not (settings.command or settings.url):
        return "it has no server: set command or url in its section"
    if settings.command and settings.url:
        return "it has a command and a url: set one of them"
    if settings.url and (settings.args or settings.env):
        return "args and env are those of a command, and it has a url"
    if settings.command and settings.headers:
        return "headers are those of a url, and it has a command; pass secrets in env"
    return None if getattr(settings, tool) else f"{tool} is not set in its section"


@search_provider(
    "A search tool of an MCP server",
    settings=McpSettings,
    requires=_REQUIRES,
    ready=lambda settings: _ready(settings, "tool"),
    cache_key=_SEARCH,
)
def _engine(settings: McpSettings, context: Context) -> SearchProvider:
    from leadline_plugins.mcp.engine import McpEngine

    return McpEngine(settings, context)


@fetcher(
    "A tool of an MCP server that reads addresses",
    settings=McpSettings,
    requires=_REQUIRES,
    ready=lambda settings: _ready(settings, "fetch_tool"),
    cache_key=_FETCH,
    limits=Limits(timeout=120.0),
)
def _fetcher(settings: McpSettings, context: Context) -> Fetcher:
    from leadline_plugins.mcp.engine import McpFetcher

    return McpFetcher(settings, context)
