"""A server on loopback for tests of plugins that speak HTTP.

`scripted_server` answers by path, in order or by the request; it can send a body in pieces, cut it off or delay it, or
send exact bytes.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import queue
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit


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

    @property
    def route(self) -> str:
        """The path without its query."""
        return urlsplit(self.path).path

    @property
    def query(self) -> dict[str, str]:
        """The parameters of the query."""
        return dict(parse_qsl(urlsplit(self.path).query))


def json_answer(data: Any, status: int = 200, **headers: str) -> ScriptedAnswer:
    """Return a JSON answer; write header names with _ instead of -."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ScriptedAnswer(json.dumps(data).encode(), status, {"content-type": "application/json"} | named)


def raw_reply(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    """Return the bytes of a complete response; write header names with _ instead of -."""
    fields = {"Content-Type": "text/html", "Content-Length": str(len(body))}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + body


# What a server answers: the same each time, or by the request. A table is JSON, and a list is in order. Bytes are sent
# as they are, and an async function of request and writer sends them itself; the connection stays open then.
Script = ScriptedAnswer | bytes | Mapping[str, Any] | Callable[..., Any] | list[Any]


class ScriptedServer:
    """Answers by path or in order, and records the requests in `asked`."""

    def __init__(self, *answers: Script) -> None:
        self.routes: dict[str, Script] = {}
        """The answers by path, with or without its query; used if there are none in order."""
        self.answers: list[Any] = list(answers)
        if len(answers) == 1 and isinstance(answers[0], Mapping):
            self.routes, self.answers = dict(answers[0]), []
        self.asked: list[ScriptedRequest] = []
        self.port = 0
        # The address without a trailing slash.
        self.url = ""
        self.connections: set[asyncio.StreamWriter] = set()

    @property
    def paths(self) -> list[str]:
        """The requested paths without robots.txt."""
        return [asked.path for asked in self.asked if asked.path != "/robots.txt"]

    def at(self, path: str, host: str = "127.0.0.1", scheme: str = "http") -> str:
        """Return a URL of this server."""
        return f"{scheme}://{host}:{self.port}{path}"

    def answer(self, asked: ScriptedRequest) -> Any:
        """Return the answer to a request: a `ScriptedAnswer`, bytes, or a function that sends them."""
        script: Any = self.answers or self.routes.get(asked.path, self.routes.get(asked.route))
        if script is None:
            return json_answer({"error": f"no such path: {asked.route}; there are {', '.join(self.routes)}"}, 404)
        if isinstance(script, list):
            script = script.pop(0) if len(script) > 1 else script[0]
        if callable(script) and not inspect.iscoroutinefunction(script):
            script = script(asked)
        return script if callable(script) or isinstance(script, ScriptedAnswer | bytes) else json_answer(script)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.add(writer)
        try:
            while not writer.is_closing():
                self.asked.append(asked := await _request(reader))
                answer = self.answer(asked)
                if isinstance(answer, ScriptedAnswer):
                    await _send(writer, answer, bare=asked.method == "HEAD")
                    return
                if isinstance(answer, bytes):
                    writer.write(answer)
                else:
                    await answer(asked, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            return  # the client disconnected, as a client under test may, or the server ends
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            self.connections.discard(writer)

    async def _run(
        self, tls: ssl.SSLContext | None, started: Callable[[asyncio.AbstractEventLoop, asyncio.Event], None]
    ) -> None:
        ended = asyncio.Event()
        async with await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls) as server:
            self.port = server.sockets[0].getsockname()[1]
            self.url = self.at("")
            started(asyncio.get_running_loop(), ended)
            await ended.wait()
        await asyncio.sleep(0)  # the last connections begin
        for writer in self.connections:
            writer.transport.abort()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()  # an answer that waits


@asynccontextmanager
async def scripted_server(*answers: Script, tls: ssl.SSLContext | None = None) -> AsyncIterator[ScriptedServer]:
    """Serve on a free port of 127.0.0.1, in a thread of its own: a client that blocks its event loop is answered too.

        async with scripted_server({"/token": {"access_token": "…"}, "/search": lambda request: …}) as server:

    Answers are in order, or a table of them by path; each is a `ScriptedAnswer`, JSON, bytes (`raw_reply`), or a
    function of the request. `ScriptedAnswer` also delays (`wait`), cuts off (`cut`) or refuses (`status`).
    """
    scripted, running = ScriptedServer(*answers), queue.SimpleQueue[Any]()
    main = scripted._run(tls, lambda *loop_and_end: running.put(loop_and_end))
    thread = threading.Thread(target=asyncio.run, args=(main,), name="scripted server", daemon=True)
    thread.start()
    loop, ended = running.get()
    try:
        yield scripted
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()


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
