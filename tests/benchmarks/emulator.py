"""A whole outside world on this machine: a model, search engines and pages, slow and faulty as they are told to be.

`python emulator.py '{"first_token": 0.4}'` prints its port and serves until its standard input ends. Whatever it does
is made of what it is asked, of its seed and of how often the same was asked: two runs of one question see one world.
What it served is told at `/tally`, and its manners are changed by a POST to `/manners`.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

from emulator_chat import Chat
from emulator_manners import Manners
from emulator_web import HOSTS, hits, page

Headers = Mapping[str, str]


class World:
    """Answers every request; one world a process."""

    def __init__(self, manners: Manners) -> None:
        self._manners = manners
        self._chat = Chat()
        self._served: dict[str, int] = {}
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, until one side has had enough."""
        # A client that goes away, or was killed, is what this is for.
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while await self._one(reader, writer):
                pass
        writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        if method == "POST" and target.endswith("/chat/completions"):
            return await self._chat.answer(json.loads(body), headers, writer, self._manners)
        status, kind, text = await self._plain(method, urlsplit(target), body)
        await send(writer, status, text.encode(), kind)
        return True

    async def _plain(self, method: str, url: Any, body: bytes) -> tuple[int, str, str]:
        match url.path.split("/")[1:]:
            case ["manners"] if method == "POST":
                self._manners = Manners(**json.loads(body))
                self._chat, self._served = Chat(), {}
                return 200, "application/json", "{}"
            case ["tally"]:
                return 200, "application/json", json.dumps(self._chat.tally() | {"served": self._served})
            case ["search", engine]:
                return await self._search(engine, parse_qs(url.query)["q"][0])
            case ["page", *_]:
                self._count(url.path)
                await asyncio.sleep(self._manners.page)
                return 200, "text/html; charset=utf-8", page(url.path)
        return 404, "text/plain", "there is nothing here"

    async def _search(self, engine: str, query: str) -> tuple[int, str, str]:
        attempt = self._count(f"search {engine} {query}")
        if engine in self._manners.hanging:
            await asyncio.sleep(3600)
        await asyncio.sleep(self._manners.search)
        fault = self._manners.fault("search", engine, query, attempt)
        if fault in ("error", "limit"):
            return (500 if fault == "error" else 429), "application/json", "{}"
        text = json.dumps({"results": hits(query, engine, self.port)})
        return 200, "application/json", text[: len(text) // 2] if fault == "malformed" else text

    def _count(self, what: str) -> int:
        self._served[what] = self._served.get(what, 0) + 1
        return self._served[what]


async def send(writer: asyncio.StreamWriter, status: int, body: bytes, kind: str, extra: str = "") -> None:
    """Send a whole answer."""
    head = f"HTTP/1.1 {status} {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


def sockets() -> list[socket.socket]:
    """Return a listening socket for each host, all on one port."""
    first = socket.create_server((HOSTS[0], 0), backlog=1000)
    port = first.getsockname()[1]
    return [first, *(socket.create_server((host, port), backlog=1000) for host in HOSTS[1:])]


async def main(manners: Manners) -> None:
    """Serve until standard input ends: then whoever started this is gone."""
    world, listening = World(manners), sockets()
    world.port = listening[0].getsockname()[1]
    for one in listening:
        await asyncio.start_server(world.serve, sock=one, limit=1 << 20)
    print(world.port, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)  # engines that hang have nothing to be waited for


if __name__ == "__main__":
    asyncio.run(main(Manners(**json.loads(sys.argv[1]))))
