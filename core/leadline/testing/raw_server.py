"""A server on loopback that sends exactly the bytes a test wants, however wrong they are; many connections at once."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Answer = Callable[["Asked", asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Asked:
    """A request as it came; header names in lower case."""

    path: str
    headers: dict[str, str]


def reply(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    """Return a whole reply; header names are written with _ for -."""
    fields = {"Content-Type": "text/html", "Content-Length": str(len(body))}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + body


@dataclass
class RawServer:
    """Answers by path: bytes, or what writes them. Any other path is not found."""

    port: int = 0
    routes: dict[str, bytes | Answer] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    @property
    def paths(self) -> list[str]:
        """Which paths were asked for, robots.txt aside."""
        return [asked.path for asked in self.asked if asked.path != "/robots.txt"]

    def at(self, path: str, host: str = "127.0.0.1", scheme: str = "http") -> str:
        """Return an address of this server."""
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
                asked = Asked(first.split(" ")[1], headers)
                self.asked.append(asked)
                await self._answer(asked, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            return  # the client has left
        finally:
            self.tasks.discard(task)
            writer.close()

    async def _answer(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        answer = self.routes.get(asked.path, reply(b"none", "404 Not Found"))
        if isinstance(answer, bytes):
            writer.write(answer)
            await writer.drain()
        else:
            await answer(asked, writer)


@asynccontextmanager
async def raw_server(tls: ssl.SSLContext | None = None) -> AsyncIterator[RawServer]:
    """Serve on a free port of loopback, until the block is left."""
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
