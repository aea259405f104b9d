"""Replies in pieces as server-sent events (SSE), such as the events of a run."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from leadline.records import Event
from leadline_server.limits import Slots
from leadline_server.problems import Problem
from leadline_server.queue import QueueUnavailable

# Seconds without a piece after which the client is told that the connection is alive.
HEARTBEAT = 10.0
# Seconds in which a client must take what was sent. It may come back and continue.
SEND_TIMEOUT = 30.0
# Milliseconds after which a browser that lost the connection comes back.
_RETRY = 2_000
# Further ends of lines in Python, by which clients divide a stream.
_BREAKS = re.compile("[\x85\u2028\u2029]")


def frame(event: Event) -> bytes:
    """Return an event in the form of SSE; without an id if a reader cannot continue after it."""
    data: dict[str, Any] = event.model_dump(mode="json")
    if event.kind == "run.started":
        data["data"].pop("folder", None)  # of no use to a client
    number = f"id: {event.seq}\n" if event.kind != "call.delta" and event.seq >= 0 else ""
    return f"{number}event: {event.kind}\n".encode() + encoded(data)


def encoded(data: Any) -> bytes:
    """Return data as the end of an event in the form of SSE."""
    text = _BREAKS.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(data, ensure_ascii=False))
    return f"data: {text}\n\n".encode("utf-8", "replace")


async def event_frames(events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
    """Yield the events of a run in the form of SSE."""
    async with aclosing(events):  # type: ignore[type-var]
        yield f"retry: {_RETRY}\n\n".encode()
        async for event in events:
            yield frame(event)


@dataclass(frozen=True)
class Signals:
    """What a stream sends after ten quiet seconds and when the server ends; `left` is called if the client leaves."""

    alive: Callable[[], bytes] = lambda: b": alive\n\n"
    parting: bytes = b""
    left: Callable[[], Awaitable[None]] | None = None


class Stream(Response):
    """A reply in pieces, which takes one of the principal's places while it is open.

    It ends with its pieces, the client or the server, of which `closing` tells.
    """

    def __init__(
        self,
        frames: AsyncIterator[bytes],
        closing: asyncio.Event,
        places: Slots,
        principal: str | None,
        signals: Signals | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", **(headers or {})})
        self._frames, self._closing = frames, closing
        self._places, self._principal = places, principal
        self._signals = signals or Signals()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces; a client that does not take them is left."""
        try:
            with self._places.taken(self._principal):
                await self._send_all(receive, send)
        except Problem as problem:
            await problem.response(scope["path"])(scope, receive, send)

    async def _send_all(self, receive: Receive, send: Send) -> None:
        headers = [item for item in self.raw_headers if item[0] != b"content-length"]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        left, closing = asyncio.ensure_future(disconnected(receive)), asyncio.ensure_future(self._closing.wait())
        whole = False
        try:
            with suppress(TimeoutError):
                whole = await self._send_frames(send, {left, closing})
                async with asyncio.timeout(SEND_TIMEOUT):
                    await send({"type": "http.response.body", "body": b""})
            if not whole and self._signals.left and not self._closing.is_set():
                await self._signals.left()
        finally:
            for task in (left, closing):
                task.cancel()
            await asyncio.wait({left, closing})

    async def _send_frames(self, send: Send, ends: set[asyncio.Future[Any]]) -> bool:
        """Return whether all pieces were sent."""
        upcoming: asyncio.Future[bytes] = asyncio.ensure_future(anext(self._frames))
        try:
            while True:
                done, _ = await asyncio.wait({upcoming, *ends}, timeout=HEARTBEAT, return_when=asyncio.FIRST_COMPLETED)
                if done & ends:
                    if self._closing.is_set():
                        await self._send(send, self._signals.parting)
                    return False
                if not done:
                    await self._send(send, self._signals.alive())
                    continue
                try:
                    piece = upcoming.result()
                except (StopAsyncIteration, QueueUnavailable):  # without the last event a reader asks again
                    return True
                await self._send(send, piece)
                upcoming = asyncio.ensure_future(anext(self._frames))
        finally:
            upcoming.cancel()
            await asyncio.wait({upcoming})
            if not upcoming.cancelled():
                upcoming.exception()  # retrieved, so that nothing is logged
            await self._frames.aclose()  # type: ignore[attr-defined]

    async def _send(self, send: Send, data: bytes) -> None:
        async with asyncio.timeout(SEND_TIMEOUT):
            await send({"type": "http.response.body", "body": data, "more_body": True})


async def disconnected(receive: Receive) -> None:
    """Return when the client has left; its request must have been read."""
    while (await receive())["type"] != "http.disconnect":
        pass
