"""The events of a run as server-sent events (SSE)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from starlette.types import Receive, Scope, Send

from leadline.records import Event

# Seconds without an event after which a comment shows that the connection is alive.
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
    text = _BREAKS.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(data, ensure_ascii=False))
    return f"{number}event: {event.kind}\ndata: {text}\n\n".encode("utf-8", "replace")


class EventStream:
    """The reply with the events of a run. It ends with the run, the client or the server, of which `closing` tells."""

    def __init__(self, events: AsyncIterator[Event], closing: asyncio.Event) -> None:
        self._events, self._closing = events, closing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events; a client that does not take them is left."""
        headers = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        ends: set[asyncio.Future[Any]] = {
            asyncio.ensure_future(_disconnect(receive)),
            asyncio.ensure_future(self._closing.wait()),
        }
        try:
            with suppress(TimeoutError):
                await self._send(send, f"retry: {_RETRY}\n\n".encode())
                await self._send_events(send, ends)
                await asyncio.wait_for(send({"type": "http.response.body", "body": b""}), SEND_TIMEOUT)
        finally:
            for task in ends:
                task.cancel()
            await asyncio.wait(ends)

    async def _send_events(self, send: Send, ends: set[asyncio.Future[Any]]) -> None:
        upcoming: asyncio.Future[Event] = asyncio.ensure_future(anext(self._events))
        try:
            while True:
                done, _ = await asyncio.wait({upcoming, *ends}, timeout=HEARTBEAT, return_when=asyncio.FIRST_COMPLETED)
                if done & ends:
                    return
                if not done:
                    await self._send(send, b": alive\n\n")
                    continue
                try:
                    event = upcoming.result()
                except StopAsyncIteration:
                    return
                await self._send(send, frame(event))
                upcoming = asyncio.ensure_future(anext(self._events))
        finally:
            upcoming.cancel()
            await asyncio.wait({upcoming})
            if not upcoming.cancelled():
                upcoming.exception()  # retrieved, so that nothing is logged
            await self._events.aclose()  # type: ignore[attr-defined]

    async def _send(self, send: Send, data: bytes) -> None:
        await asyncio.wait_for(send({"type": "http.response.body", "body": data, "more_body": True}), SEND_TIMEOUT)


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
