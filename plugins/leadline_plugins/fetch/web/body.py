"""A reply's body, unpacked within limits: what a server says about sizes is not believed."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterator
from typing import Protocol

import httpx

from leadline.errors import BadReply, Unsupported
from leadline_plugins.fetch.guard import Blocked, shown

ENCODINGS = "gzip, deflate"
_PIECE = 256_000
"""Bytes unpacked in one go; the event loop breathes in between."""
_DIGITS = 18
_ANY = zlib.MAX_WBITS | 32
"""Gzip or zlib, by the header of the data."""


class _Unpacker(Protocol):
    def pieces(self, data: bytes) -> Iterator[bytes]: ...
    def finish(self) -> None: ...


async def read(response: httpx.Response, limit: int) -> bytes:
    """Return the body; raises `Blocked` over `limit` bytes (packed or unpacked), `BadReply` for a broken one."""
    where = shown(str(response.request.url))
    declared = response.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > _DIGITS or int(declared) > limit):
        raise _too_large(limit, where)
    unpacker = _unpacker(response.headers.get("content-encoding", ""), where)
    body, packed = bytearray(), 0
    async for part in response.aiter_raw():
        packed += len(part)
        for piece in unpacker.pieces(part):
            body += piece
            if max(len(body), packed) > limit:
                raise _too_large(limit, where)
            if len(piece) == _PIECE:
                await asyncio.sleep(0)
    unpacker.finish()
    return bytes(body)


def _unpacker(encoding: str, where: str) -> _Unpacker:
    match encoding.strip().lower():
        case "" | "identity" | "none":
            return _Plain()
        case "gzip" | "x-gzip" | "deflate":
            return _Zipped(where)
        case other:
            raise Unsupported(f"{where}: is packed as {other[:50]!r}, though only {ENCODINGS} were asked for")


class _Plain:
    def pieces(self, data: bytes) -> Iterator[bytes]:
        yield data

    def finish(self) -> None:
        """Nothing is left."""


class _Zipped:
    """Unpacks gzip, zlib and raw deflate."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._zip: zlib._Decompress | None = None

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield what the data unpacks to, at most `_PIECE` bytes at a time."""
        if self._zip is None and data:
            raw = data[0] != 0x1F and data[0] & 0x0F != 8
            self._zip = zlib.decompressobj(-zlib.MAX_WBITS if raw else _ANY)
        while data and self._zip and not self._zip.eof:
            try:
                yield self._zip.decompress(data, _PIECE)
            except zlib.error as error:
                raise BadReply(f"{self._where}: the packed page is broken ({error})") from error
            data = self._zip.unconsumed_tail

    def finish(self) -> None:
        """Raise `BadReply` where the end is missing."""
        if self._zip and not self._zip.eof:
            raise BadReply(f"{self._where}: the packed page is cut off")


def _too_large(limit: int, where: str) -> Blocked:
    return Blocked("size", f"is larger than {limit:,} bytes (setting size)", where)
