"""The body of an answer that aiohttp gave, as httpx reads it: piece by piece, to an end that is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, cast

import httpx

from leadline.http.errors import as_httpx

if TYPE_CHECKING:
    from aiohttp import ClientResponse, StreamReader


class Body(httpx.AsyncByteStream):
    """The body of an answer; of one that is `held` nothing is taken from the network before it is asked for."""

    def __init__(self, answer: ClientResponse, *, held: bool) -> None:
        self._answer = answer
        self._held = held
        _end_with_its_connection(answer)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with as_httpx():
            async for piece in self._answer.content.iter_any():
                with _reading_paused(self._answer) if self._held else nullcontext():
                    yield piece

    async def aclose(self) -> None:
        self._answer.close()  # a connection whose body was read to its end is back with the others already


def _end_with_its_connection(answer: ClientResponse) -> None:
    """Let whoever reads know when the connection is gone.

    When aiohttp cannot read what comes next, it closes the connection, and a reader that waits then waits for ever.
    """
    body, connection = answer.content, answer.connection
    protocol = connection.protocol if connection is not None else None
    closed = protocol.closed if protocol is not None else None
    if closed is None:
        return
    gone = partial(_gone, body)

    def over() -> None:
        closed.remove_done_callback(gone)

    closed.remove_done_callback(_known)  # of the answer before, on a connection that was kept
    closed.add_done_callback(_known)
    closed.add_done_callback(gone)
    body.on_eof(over)


def _known(closed: asyncio.Future[None]) -> None:
    """Take note of how a connection ended: asyncio complains of errors that nobody looked at."""
    if not closed.cancelled():
        closed.exception()


def _gone(body: StreamReader, closed: asyncio.Future[None]) -> None:
    import aiohttp

    if not body.is_eof() and body.exception() is None:
        error = None if closed.cancelled() else closed.exception()
        body.set_exception(aiohttp.ClientPayloadError(str(error or "what came is not HTTP")))


@contextmanager
def _reading_paused(answer: ClientResponse) -> Iterator[None]:
    """Take nothing more from the network meanwhile: of a stream of tokens each would wake the event loop.

    Only where the connection serves no other request: of one that is kept, nobody would see that the server hung up.
    And not with TLS: asyncio goes on reading beneath it, and loses what is not yet decrypted when the server resets.
    """
    connection = answer.connection
    transport = connection.transport if connection is not None else None
    over = answer.content.is_eof()  # the connection may still be there, busy with a large request
    if over or transport is None or transport.is_closing():
        yield
        return
    # Of the transport alone: aiohttp's own pause goes through its parser, which may be at an end that nobody knows yet.
    reading = cast("asyncio.ReadTransport", transport)  # other event loops have classes of their own
    reading.pause_reading()
    try:
        yield
    finally:
        if not reading.is_closing():
            reading.resume_reading()
