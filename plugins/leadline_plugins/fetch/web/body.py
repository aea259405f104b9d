"""The body of an answer, decompressed within limits, and its media type. Sizes in headers are not trusted."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Iterator
from typing import Protocol
from urllib.parse import urlsplit

import httpx

from leadline.errors import BadReply, Unsupported
from leadline_plugins.fetch.guard import Blocked, shown
from leadline_plugins.parse.media import bare_type, media_type

ENCODINGS = "gzip, deflate"
# Bytes decompressed at once, so that the event loop is not blocked.
_PIECE = 256_000
_DIGITS = 18
# Gzip or zlib, by the header of the data.
_ANY = zlib.MAX_WBITS | 32


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
            raise Unsupported(f"{where} is packed as {other[:50]!r}, though only {ENCODINGS} were asked for")


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
        """Yield the decompressed data, at most `_PIECE` bytes at a time."""
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
    return Blocked("size", f"it is larger than {limit:,} bytes (setting size)", where)


_VAGUE = {"", "application/octet-stream", "binary/octet-stream", "application/download", "application/x-download"}
_XML = {"text/xml", "application/xml"}
_HTML = re.compile(rb"<(!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_FEED = re.compile(rb"<(rss|feed|rdf:rdf)\b", re.IGNORECASE)
# Bytes that are inspected, as browsers do.
_HEAD = 1024


def vague(header: str) -> bool:
    """Return whether a Content-Type does not determine the type of the body."""
    return bare_type(header) in _VAGUE


def sniff(header: str, data: bytes, url: str) -> str:
    """Return the media type of a body."""
    head, kind = data[:_HEAD].lstrip(), bare_type(header)
    if head.startswith(b"%PDF-"):
        return "application/pdf"
    if kind in _XML | _VAGUE and _FEED.search(head):
        return _with("application/rss+xml", header)
    if kind in _XML | _VAGUE and _HTML.search(head):
        return _with("text/html", header)
    if kind not in _VAGUE:
        return header
    return media_type(urlsplit(url).path)


def _with(kind: str, header: str) -> str:
    """Return another type with the parameters of the header, its charset among them."""
    _, semicolon, parameters = header.partition(";")
    return kind + semicolon + parameters
