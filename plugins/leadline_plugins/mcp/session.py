"""The connection to one MCP server: entered and left with its plugin, and entered again after the server is lost."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from tempfile import TemporaryFile
from typing import Any, TextIO

import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, METHOD_NOT_FOUND, REQUEST_TIMEOUT, CallToolResult, Implementation

from leadline import __version__
from leadline.contracts import Call, Context
from leadline.display import one_line
from leadline.errors import BadReply, Disconnected, ProviderError, Unavailable, Unsupported
from leadline_plugins.mcp import McpSettings

# Characters of a server's message that an error repeats.
_LONGEST = 300
# Characters of the end of a program's output that are looked at.
_TAIL = 4_000
_CONNECT = 30.0
# Characters of a reply: a hundred long pages.
_MOST = 10_000_000
# Pages of the list of tools.
_PAGES = 20


class McpSession:
    """A session of one server. The result of `__aenter__` is the session itself."""

    def __init__(self, settings: McpSettings, context: Context, tool: str) -> None:
        self._settings = settings
        self._name = context.name
        self._tool = tool
        self._stack = AsyncExitStack()
        self._client: Client | None = None
        self._printed: TextIO | None = None

    async def __aenter__(self) -> McpSession:
        """Connect. Raises `Unavailable`, or `Unsupported` if the server has no such tool."""
        if self._settings.command:
            # What a program prints must not appear among the progress of a run; its last line explains its end.
            self._printed = TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed on exit
        try:
            async with AsyncExitStack() as stack:
                client = await stack.enter_async_context(Client(await self._transport(stack), client_info=_INFO))
                known = await _tools(client)
                if self._tool in known:
                    self._client, self._stack = client, stack.pop_all()
                    return self
        except (Exception, BaseExceptionGroup) as error:
            raise self._lost(error, "cannot connect to") from error
        finally:
            if self._client is None and self._printed:
                self._printed.close()
        raise Unsupported(f"{self._who} has no tool {self._tool!r}; it has: {', '.join(known) or 'none'}")

    async def __aexit__(self, *_: object) -> None:
        """Disconnect; a command ends."""
        self._client = None
        try:
            await self._stack.aclose()
        finally:
            if self._printed:
                self._printed.close()

    async def call(self, arguments: Mapping[str, Any], call: Call) -> CallToolResult:
        """Call the tool within the time of the call. Raises `ProviderError`; `Disconnected` if the server is gone."""
        if self._client is None:
            raise Disconnected(f"{self._who} is closed")
        try:
            result = await self._client.call_tool(
                self._tool, dict(arguments), read_timeout_seconds=max(call.remaining(), 0.001)
            )
        except Exception as error:  # the SDK raises those of its transports, too
            raise self._failure(error) from error
        if result.is_error:
            raise Unsupported(f"{self._who}: {self._tool} failed: {_words(texts(result))}")
        if (size := len(texts(result))) > _MOST:
            raise self.bad(f"its reply has {size:,} characters, more than {_MOST:,}")
        return result

    def bad(self, what: str) -> BadReply:
        """Return the error for a reply that cannot be read."""
        return BadReply(f"{self._who}: {self._tool}: {what}")

    @property
    def _who(self) -> str:
        return f"the MCP server of plugins.{self._name}"

    async def _transport(self, stack: AsyncExitStack) -> Any:
        settings = self._settings
        if settings.command:
            program = StdioServerParameters(
                command=settings.command,
                args=list(settings.args),
                env={name: value.get_secret_value() for name, value in settings.env.items()},
            )
            return stdio_client(program, errlog=self._printed or sys.stderr)
        headers = {name: value.get_secret_value() for name, value in settings.headers.items()}
        # Reading has no limit of its own: each call has one.
        timeout = httpx2.Timeout(_CONNECT, read=None)
        client = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=timeout))
        return streamable_http_client(settings.url, http_client=client)

    def _failure(self, error: Exception) -> ProviderError:
        if isinstance(error, MCPError):
            if error.code == REQUEST_TIMEOUT:
                return Unavailable(f"{self._who}: no answer in time")
            if error.code != CONNECTION_CLOSED:
                cause = Unsupported if error.code == METHOD_NOT_FOUND else BadReply
                return cause(f"{self._who}: {self._tool} failed: {_words(error.message)}")
        return self._lost(error, "lost the connection to", Disconnected)

    def _lost(self, error: BaseException, what: str, kind: type[Unavailable] = Unavailable) -> ProviderError:
        cause = _first(error)
        if isinstance(cause, FileNotFoundError) and self._settings.command:
            return Unsupported(f"{self._who}: there is no program {self._settings.command!r}")
        detail = self._last_line() or f"{type(cause).__name__}: {_words(str(cause))}"
        return kind(f"{what} {self._who} ({detail})")

    def _last_line(self) -> str:
        """Return the last line that the program printed to standard error."""
        if self._printed is None or self._printed.closed:
            return ""
        self._printed.seek(0)
        lines = self._printed.read()[-_TAIL:].strip().splitlines()
        return _words(lines[-1]) if lines else ""


async def _tools(client: Client) -> list[str]:
    """Return the names of the server's tools, of all pages."""
    names: list[str] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        page = await client.list_tools(cursor=cursor)
        names += [tool.name for tool in page.tools]
        if not (cursor := page.next_cursor):
            break
    return names


_INFO = Implementation(name="leadline", version=__version__)


def texts(result: CallToolResult) -> str:
    """Return the text blocks of a result."""
    return "\n\n".join(block.text for block in result.content if block.type == "text")


def _words(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _first(error: BaseException) -> BaseException:
    """Return the first error of a group of groups, in which task groups wrap it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
