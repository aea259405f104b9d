"""A server on loopback that gives scripted answers: for tests of plugins that speak HTTP.

It does what servers do at their worst, too: a body in odd pieces, cut off in the midst, or kept waiting for.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Said:
    """One scripted answer. `pieces` are sent one by one in place of `body`; `wait` is in seconds."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pieces: Sequence[bytes] = ()
    cut: bool = False
    """Close the connection before the end of the body."""
    wait: float = 0.0


@dataclass
class Asked:
    """One request as it came; header names in lower case, `body` decoded from JSON where it is any."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


def said_json(data: Any, status: int = 200, **headers: str) -> Said:
    """Return an answer of JSON; header names are written with _ for -."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Said(json.dumps(data).encode(), status, {"content-type": "application/json"} | named)


class ScriptedServer:
    """Gives its answers one after the other, the last one for ever; keeps what it was asked."""

    def __init__(self, *answers: Said) -> None:
        self.answers = list(answers)
        self.asked: list[Asked] = []
        self.url = ""
        """Where it listens, without a slash at the end."""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.asked.append(asked := await _request(reader))
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            await _answer(writer, answer, bare=asked.method == "HEAD")
        except (asyncio.IncompleteReadError, ConnectionError):
            return  # the client went away, as a client under test may
        finally:
            writer.close()


@asynccontextmanager
async def scripted_server(*answers: Said) -> AsyncIterator[ScriptedServer]:
    """Serve these answers on a free port of 127.0.0.1."""
    scripted = ScriptedServer(*answers)
    server = await asyncio.start_server(scripted._serve, "127.0.0.1", 0)
    scripted.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield scripted
    finally:
        server.close()
        await server.wait_closed()


async def _request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    try:
        return Asked(method, path, headers, json.loads(body))
    except ValueError:
        return Asked(method, path, headers, body)


async def _answer(writer: asyncio.StreamWriter, answer: Said, *, bare: bool) -> None:
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
