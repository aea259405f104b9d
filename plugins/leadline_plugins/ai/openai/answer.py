"""The body of an answer, whole or event by event, checked before a dialect reads it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from leadline.errors import BadReply, Unsupported
from leadline_plugins.ai.openai.chat_reading import ChatReading
from leadline_plugins.ai.openai.failures import Refusal, refusal, told
from leadline_plugins.ai.openai.reply import mappings
from leadline_plugins.ai.openai.responses_reading import ResponsesReading
from leadline_plugins.ai.openai.sse import Event, EventReader

if TYPE_CHECKING:
    import httpx

_LARGEST = 50_000_000
"""Bytes of an answer; no model writes more."""
_GATHER, _WAITED = 0.1, 0.004
"""Seconds for which a stream is left alone, once a piece of it had to be waited for: to be woken for each event costs
more than the event, and vendors send one a token. With 0.05 a run takes 0.1 s less, and 0.1 s more of CPU; with 0.2 it
takes 0.2 s longer, and no less CPU. Pieces that lie there already are read at once: httpx gives a chunk at a time."""
_GULP = 8192
"""Bytes; where a piece is all that has come, the stream stays slow until one has so many, and none is waited for."""
_END = "[DONE]"
_AFTERWARDS = 1.5
"""Seconds in which usage may follow the end of a reply: some servers then leave the connection open."""
_EVENT = re.compile(rb"\s*(data|event|id|retry)?:")
"""How a stream begins, and no JSON does."""
Reading = ChatReading | ResponsesReading


class RefusedError(Exception):
    """An answer that is an error, on its way to be learnt from or told."""

    def __init__(self, said: Refusal) -> None:
        super().__init__(said.message)
        self.said = said


async def read(answer: httpx.Response, reading: Reading) -> None:
    """Read an answer to its end, whatever its type: some servers stream unasked, some do not though asked.

    Raises `RefusedError` for an error in whatever place, `BadReply` for what is cut off or malformed, `Unsupported` for
    a web page.
    """
    if not 200 <= answer.status_code < 300:
        raise RefusedError(refusal(answer.status_code, await whole(answer), answer.headers))
    kind = answer.headers.get("content-type", "")
    if "event-stream" in kind:
        async for gulp in events(answer, lambda: reading.finished):
            take_all(gulp, reading)
    elif _EVENT.match(body := await whole(answer)):  # some servers and gateways say another type
        reader = EventReader()
        take_all(_parsed([*reader.feed(body), *reader.close()]), reading)
    else:
        take(decoded(body, kind), reading)
    if not reading.finished:
        raise BadReply("the reply was cut off before its end")


def take_all(gulp: Iterator[Any], reading: Reading) -> None:
    try:
        for data in gulp:
            take(data, reading)
    finally:  # what came before an error did come
        reading.pass_on()


def take(data: Any, reading: Reading) -> None:
    failed = data.get("response") if isinstance(data, dict) and data.get("type") == "response.failed" else None
    if said := (failed and told(failed)) or told(data):
        raise RefusedError(said)
    if not isinstance(data, dict):
        raise BadReply("the answer is no JSON object")
    for choice in mappings(data.get("choices")):
        if said := told(choice):  # OpenRouter: the vendor behind it failed midway
            raise RefusedError(said)
    reading.take(data)


async def events(answer: httpx.Response, finished: Callable[[], bool]) -> AsyncIterator[Iterator[Any]]:
    """Yield the events of a stream, those together that came together; `finished` tells that the reply is all there."""
    from leadline.http.transport import HELD

    reader, size, slow = EventReader(), 0, False
    held = answer.extensions.get(HELD, False)
    clock = asyncio.get_running_loop().time
    read = clock()
    async for piece in _pieces(answer, finished):
        slow = clock() - read > _WAITED or (held and slow and len(piece) < _GULP)
        size += len(piece)
        if size > _LARGEST:
            raise BadReply(f"the stream is longer than {_LARGEST} bytes")
        found = reader.feed(piece)
        yield _parsed(found)
        if any(event.data == _END for event in found):
            return
        if slow:
            await asyncio.sleep(_GATHER)
        read = clock()
    yield _parsed(reader.close())


async def _pieces(answer: httpx.Response, finished: Callable[[], bool]) -> AsyncIterator[bytes]:
    """Yield the pieces of a body: once the reply is all there, only those that come soon, and no fault is one."""
    import httpx

    pieces = aiter(answer.aiter_bytes())
    async for piece in pieces:
        yield piece
        if finished():
            break
    end = asyncio.get_running_loop().time() + _AFTERWARDS
    with suppress(StopAsyncIteration, TimeoutError, httpx.TransportError):
        while True:
            async with asyncio.timeout_at(end):
                piece = await anext(pieces)
            yield piece


def _parsed(found: Iterable[Event]) -> Iterator[Any]:
    for event in found:
        if event.data == _END:
            return
        if not event.data.strip():  # a sign of life
            continue
        try:
            yield json.loads(event.data)
        except ValueError as error:
            raise BadReply(f"an event of the stream is no JSON, or was cut off: {error}") from None


async def whole(answer: httpx.Response) -> bytes:
    body = b""
    async for piece in answer.aiter_bytes():
        body += piece
        if len(body) > _LARGEST:
            raise BadReply(f"the answer is longer than {_LARGEST} bytes")
    return body


def decoded(body: bytes, kind: str) -> Any:
    text = body.decode("utf-8", "replace").strip()
    if not text:
        raise BadReply("the answer is empty")
    try:
        return json.loads(text)
    except ValueError as error:
        if "html" in kind or text[:1] == "<":
            said = refusal(200, body, {}).message  # it will be there the next time, too
            raise Unsupported(f"the answer is {said} where JSON was expected; check base_url") from None
        raise BadReply(f"the answer is no JSON: {error}") from None
