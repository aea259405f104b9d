"""Servers on loopback for tests of plugins that speak HTTP.

`scripted_server` returns scripted answers in order, and can send a body in pieces, cut it off or delay it. `raw_server`
sends exact bytes by path, on many connections at once.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class ScriptedAnswer:
    """One scripted answer. With `pieces`, these are sent one by one instead of `body`; `wait` is in seconds."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pieces: Sequence[bytes] = ()
    cut: bool = False
    """True to close the connection before the end of the body."""
    wait: float = 0.0


@dataclass
class ScriptedRequest:
    """One request that was received, with header names in lower case and `body` decoded if it is JSON."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


def json_answer(data: Any, status: int = 200, **headers: str) -> ScriptedAnswer:
    """Return a JSON answer; write header names with _ instead of -."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ScriptedAnswer(json.dumps(data).encode(), status, {"content-type": "application/json"} | named)


class ScriptedServer:
    """Returns its answers in order, repeating the last one, and records the requests in `asked`."""

    def __init__(self, *answers: ScriptedAnswer) -> None:
        self.answers = list(answers)
        self.asked: list[ScriptedRequest] = []
        # The address without a trailing slash.
        self.url = ""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.asked.append(asked := await _request(reader))
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            await _send(writer, answer, bare=asked.method == "HEAD")
        except (asyncio.IncompleteReadError, ConnectionError):
            return  # the client disconnected, as a client under test may
        finally:
            writer.close()


@asynccontextmanager
async def scripted_server(*answers: ScriptedAnswer) -> AsyncIterator[ScriptedServer]:
    """Serve these answers on a free port of 127.0.0.1."""
    scripted = ScriptedServer(*answers)
    server = await asyncio.start_server(scripted._serve, "127.0.0.1", 0)
    scripted.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield scripted
    finally:
        server.close()
        await server.wait_closed()


async def _request(reader: asyncio.StreamReader) -> ScriptedRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    try:
        return ScriptedRequest(method, path, headers, json.loads(body))
    except ValueError:
        return ScriptedRequest(method, path, headers, body)


async def _send(writer: asyncio.StreamWriter, answer: ScriptedAnswer, *, bare: bool) -> None:
    await asyncio.sleep(answer.wait)
    headers = {**answer.headers, "connection": "close", "transfer-encoding": "chunked"}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {answer.status} scripted\r\n{head}\r\n".encode())
    for piece in () if bare else filter(None, answer.pieces or (answer.body,)):
        writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        await writer.drain()
    if not answer.cut and not bare:
        writer.write(b"0\r\n\r\n")
    await writer.drain()


Answer = Callable[["RawRequest", asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class RawRequest:
    """A request that was received, with header names in lower case."""

    path: str
    headers: dict[str, str]


def raw_reply(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    """Return a complete response; write header names with _ instead of -."""
    fields = {"Content-Type": "text/html", "Content-Length": str(len(body))}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + body


@dataclass
class RawServer:
    """Answers by path with bytes or a function that writes them; other paths are not found."""

    port: int = 0
    routes: dict[str, bytes | Answer] = field(default_factory=dict)
    asked: list[RawRequest] = field(default_factory=list)
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    @property
    def paths(self) -> list[str]:
        """The requested paths without robots.txt."""
        return [asked.path for asked in self.asked if asked.path != "/robots.txt"]

    def at(self, path: str, host: str = "127.0.0.1", scheme: str = "http") -> str:
        """Return a URL of this server."""
        return f"{scheme}://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        task = asyncio.current_task()
        assert task
        self.tasks.add(task)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode("latin-1").split("\r\n")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}
                asked = RawRequest(first.split(" ")[1], headers)
                self.asked.append(asked)
                await self._answer(asked, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            return  # the client disconnected
        finally:
            self.tasks.discard(task)
            writer.close()

    async def _answer(self, asked: RawRequest, writer: asyncio.StreamWriter) -> None:
        answer = self.routes.get(asked.path, raw_reply(b"none", "404 Not Found"))
        if isinstance(answer, bytes):
            writer.write(answer)
            await writer.drain()
        else:
            await answer(asked, writer)


@asynccontextmanager
async def raw_server(tls: ssl.SSLContext | None = None) -> AsyncIterator[RawServer]:
    """Serve on a free port of loopback until the end of the block."""
    server = RawServer()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        for task in server.tasks:
            task.cancel()
        await asyncio.gather(*server.tasks, return_exceptions=True)
        listening.close()
        await listening.wait_closed()
