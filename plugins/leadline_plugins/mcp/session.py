"""The connection to one MCP server: entered and left with its plugin, and entered again after the server is lost."""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from signal import SIGKILL, SIGTERM
from typing import Any

import anyio
import httpx2
from mcp.client import Client
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    METHOD_NOT_FOUND,
    REQUEST_TIMEOUT,
    CallToolResult,
    Implementation,
    jsonrpc_message_adapter,
)

from leadline import __version__
from leadline.contracts import Call, Context
from leadline.display import one_line
from leadline.errors import BadReply, Disconnected, ProviderError, Unavailable, Unsupported
from leadline_plugins.mcp import McpSettings

# Characters of a server's message that an error repeats.
_LONGEST = 300
# Bytes of the end of what a program prints that are kept: its last line explains its end.
_TAIL = 4_000
_CONNECT = 30.0
# Bytes of a reply, with its structured content: a hundred long pages.
_MOST = 10_000_000
_TOO_LONG = f"its reply has more than {_MOST:,} bytes"
# Seconds that a program has to end by itself, and after each signal.
_ENDING = 2.0
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
        # The end of what the program printed to standard error, which must not appear among the progress of a run.
        self._printed = b""

    async def __aenter__(self) -> McpSession:
        """Connect. Raises `Unavailable`, or `Unsupported` if the server has no such tool."""
        self._printed = b""
        try:
            async with AsyncExitStack() as stack:
                client = await stack.enter_async_context(Client(await self._transport(stack), client_info=_INFO))
                known = await _tools(client)
                if self._tool in known:
                    self._client, self._stack = client, stack.pop_all()
                    return self
        except (Exception, BaseExceptionGroup) as error:
            raise self._lost(error, "cannot connect to") from error
        raise Unsupported(f"{self._who} has no tool {self._tool!r}; it has: {', '.join(known) or 'none'}")

    async def __aexit__(self, *_: object) -> None:
        """Disconnect; a command ends."""
        self._client = None
        await self._stack.aclose()

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
            return self._program()
        headers = {"Accept-Encoding": "identity"}
        headers |= {name: value.get_secret_value() for name, value in settings.headers.items()}
        # Reading has no limit of its own: each call has one.
        timeout = httpx2.Timeout(_CONNECT, read=None)
        limited: Any = {"response": [_limit]}
        client = await stack.enter_async_context(
            httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks=limited)
        )
        return streamable_http_client(settings.url, http_client=client, max_sse_event_size=_MOST)

    @asynccontextmanager
    async def _program(self) -> AsyncIterator[Any]:
        """Run the program and exchange lines with it, which have a limit: those of the SDK have none."""
        env = {name: value.get_secret_value() for name, value in self._settings.env.items()}
        process = await asyncio.create_subprocess_exec(
            self._settings.command,
            *self._settings.args,
            env=get_default_environment() | env,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            limit=_MOST,
            start_new_session=True,
        )
        arrives, arrived = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        leaves, left = anyio.create_memory_object_stream[SessionMessage](0)
        printing = asyncio.create_task(self._keep_end(process))
        tasks = [printing, *map(asyncio.create_task, (self._receive(process, arrives, printing), _send(process, left)))]
        try:
            yield arrived, leaves
        finally:
            for stream in (arrived, leaves):
                stream.close()
            await asyncio.shield(_end(process))
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _receive(self, process: Process, arrives: Any, printing: asyncio.Task[None]) -> None:
        assert process.stdout
        async with arrives:
            try:
                while line := await process.stdout.readline():
                    try:
                        message: Any = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
                    except ValueError as error:
                        message = error
                    await arrives.send(message)
                await asyncio.wait({printing}, timeout=_ENDING)
            except ValueError:  # of a line that is too long
                self._printed = _TOO_LONG.encode()
            except anyio.BrokenResourceError:
                pass  # the session is gone

    async def _keep_end(self, process: Process) -> None:
        assert process.stderr
        while piece := await process.stderr.read(_TAIL):
            self._printed = (self._printed + piece)[-_TAIL:]

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
        lines = self._printed.decode(errors="replace").strip().splitlines()
        return _words(lines[-1]) if lines else ""


async def _send(process: Process, left: Any) -> None:
    assert process.stdin
    async with left:
        with suppress(ConnectionError):
            async for message in left:
                process.stdin.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await process.stdin.drain()


async def _end(process: Process) -> None:
    """End a program: its input ends, then come the signals. `Process.wait` would wait for its children, too."""
    assert process.stdin
    process.stdin.close()
    for sign in (None, SIGTERM, SIGKILL):
        if process.returncode is None and sign:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, sign)
        with anyio.move_on_after(_ENDING):
            while process.returncode is None:  # noqa: ASYNC110 - see above
                await asyncio.sleep(0.01)
    vars(process)["_transport"].close()  # a child may hold its pipes


class _Limited(httpx2.AsyncByteStream):
    """The body of a reply, with a limit."""

    def __init__(self, body: Any) -> None:
        self._body, self._size = body, 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._body:
            self._size += len(piece)
            if self._size > _MOST:
                raise httpx2.StreamError(_TOO_LONG)
            yield piece

    async def aclose(self) -> None:
        await self._body.aclose()


async def _limit(response: httpx2.Response) -> None:
    """Limit the body of a reply, which must not be packed; events have a limit each."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx2.StreamError("its reply is packed, and it was asked not to")
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        response.stream = _Limited(response.stream)


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
    return "\n\n".join(block.text for block in result.content if block.type == "text")


def _words(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _first(error: BaseException) -> BaseException:
    """Return the first error of a group of groups, in which task groups wrap it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
