"""The body of an answer, decompressed within limits, and its media type. Sizes in headers are not trusted."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from email.message import Message
from html import unescape
from urllib.parse import urlsplit

import httpx

from leadline.errors import BadReply, Unsupported
from leadline_plugins.fetch.guard import Blocked, shown
from leadline_plugins.parse.media import UNKNOWN, bare_type, content_type, media_type

ENCODINGS = "gzip, deflate"
# Bytes decompressed at once, so that the event loop is not blocked.
_PIECE = 256_000
_DIGITS = 18
# Gzip or zlib, by the header of the data.
_ANY = zlib.MAX_WBITS | 32
_GZIP = b"\x1f\x8b"
# How often a page may be packed; some servers pack files that are packed already.
_LAYERS = 2
_OTHER_ENCODINGS = {"br", "zstd", "compress", "dcb", "dcz"}


async def read(response: httpx.Response, limit: int) -> bytes:
    """Return the body; raises `Blocked` over `limit` bytes (packed or unpacked), `BadReply` for a broken one."""
    where = shown(str(response.request.url))
    declared = response.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > _DIGITS or int(declared) > limit):
        raise _too_large(limit, where)
    unpacker = _Unpacker(_packed(response.headers.get("content-encoding", ""), where), where)
    body, packed = bytearray(), 0
    async for part in response.aiter_raw():
        packed += len(part)
        for piece in unpacker.pieces(part):
            body += piece
            if max(len(body), packed) > limit:
                raise _too_large(limit, where)
            if len(piece) == _PIECE:
                await asyncio.sleep(0)
    return bytes(body) + b"".join(unpacker.finish())


def _packed(header: str, where: str) -> bool:
    """Return whether a Content-Encoding names gzip or deflate. Raises `Unsupported` for one that was not asked for."""
    names = {name.strip().lower().removeprefix("x-") for name in header.split(",")}
    if other := names & _OTHER_ENCODINGS:
        raise Unsupported(f"{where} is packed as {', '.join(other)}, though only {ENCODINGS} were asked for")
    return bool(names & {"gzip", "deflate"})


class _Unpacker:
    """Unpacks gzip of one or more members, zlib and raw deflate, also if packed twice.

    The data decide: a server may declare an encoding that it did not apply, or apply one that it does not declare.
    """

    def __init__(self, declared: bool, where: str, layers: int = _LAYERS) -> None:
        self._declared, self._where, self._layers = declared, where, layers
        self._zip: zlib._Decompress | None = None
        self._inner: _Unpacker | None = None
        self._begin: bytes | None = b""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield the decompressed data, at most `_PIECE` bytes at a time if it was packed."""
        if self._begin is not None:
            data = self._begin + data
            self._begin = data if len(data) < len(_GZIP) else None
            if self._begin is not None:
                return
            self._zip = self._start(data)
        if self._zip is None:
            yield data
        while data and self._zip:
            if self._zip.eof and not data.startswith(_GZIP):  # zeros or rubbish after the end
                return
            self._zip = zlib.decompressobj(_ANY) if self._zip.eof else self._zip
            try:
                piece = self._zip.decompress(data, _PIECE)
            except zlib.error as error:
                raise BadReply(f"{self._where}: the packed page is broken ({error})") from error
            data = self._zip.unconsumed_tail or self._zip.unused_data
            yield from self._inner.pieces(piece) if self._inner else (piece,)

    def _start(self, data: bytes) -> zlib._Decompress | None:
        """Return the decompressor for data that begin like this; None for data that are not packed."""
        self._inner = _Unpacker(False, self._where, self._layers - 1) if self._layers else None
        if data.startswith(_GZIP) and self._layers:
            return zlib.decompressobj(_ANY)
        for bits in (zlib.MAX_WBITS, -zlib.MAX_WBITS) if self._declared else ():
            with suppress(zlib.error):
                zlib.decompressobj(bits).decompress(data, 1)
                return zlib.decompressobj(bits)
        if self._declared and _BINARY.search(data[:_HEAD]) and not content_type(data):
            raise BadReply(f"{self._where}: the packed page is broken (neither gzip nor deflate)")
        return None

    def finish(self) -> Iterator[bytes]:
        """Yield what is left. Raises `BadReply` where the end is missing."""
        if self._zip and not self._zip.eof:
            raise BadReply(f"{self._where}: the packed page is cut off")
        yield self._begin or b""
        yield from self._inner.finish() if self._inner else ()


def _too_large(limit: int, where: str) -> Blocked:
    return Blocked("size", f"it is larger than {limit:,} bytes (setting size)", where)


_XML = {"text/xml", "application/xml"}
# Types that servers give to any download, such as `application/x-zip-compressed` or `application/msword`.
_VAGUE = re.compile(r"$|\*/\*|(binary|unknown)/|application/.*(octet|download|zip|word|unknown)")
_HTML = re.compile(rb"<(!doctype\s+html|html|head|body)\b", re.IGNORECASE)
# What HTML may begin with, by the MIME Sniffing Standard.
_HTML_BEGIN = re.compile(rb"<(!--|(script|iframe|h1|div|font|table|a|style|title|b|br|p)[\s>])", re.IGNORECASE)
_FEED = re.compile(rb"<(rss|feed|rdf:rdf)\b", re.IGNORECASE)
# Bytes that no text has; 0 is in UTF-16.
_BINARY = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]")
_MARKS = b"\xef\xbb\xbf\xfe\xff"
# Bytes that are inspected, as browsers do.
_HEAD = 1024


def vague(header: str) -> bool:
    """Return whether a Content-Type does not determine the type of the body."""
    return bool(_VAGUE.match(bare_type(header)))


def sniff(header: str, data: bytes, url: str, disposition: str = "") -> str:
    """Return the media type of a body: by its bytes, the header, the name in Content-Disposition or that in the URL."""
    kind, unsure = bare_type(header), vague(header)
    head = data[:_HEAD].lstrip(_MARKS).replace(b"\0", b"").lstrip()  # in UTF-16, every other byte of a tag is 0
    if sniffed := content_type(data):
        return sniffed
    if (unsure or kind in _XML) and _FEED.search(head):
        return _with("application/rss+xml", header)
    if ((unsure or kind in _XML) and _HTML.search(head)) or (unsure and _HTML_BEGIN.match(head)):
        return _with("text/html", header)
    if kind and not unsure:
        return header
    named = Message()
    named["Content-Disposition"] = disposition
    by_name = media_type(named.get_filename("") or urlsplit(url).path)
    if _BINARY.search(head):
        return kind or UNKNOWN if by_name.startswith("text/") else by_name
    return "text/plain" if by_name == UNKNOWN else by_name


def _with(kind: str, header: str) -> str:
    """Return another type with the parameters of the header, its charset among them."""
    _, semicolon, parameters = header.partition(";")
    return kind + semicolon + parameters


# Parts of HTML in which a refresh is none, or only one for browsers without scripts.
_ASIDE = re.compile(rb"<!--.*?(?:-->|\Z)|<(noscript|script|style|template)\b.*?(?:</\1|\Z)", re.DOTALL | re.IGNORECASE)
_META = re.compile(rb"<meta\b[^>]{0,2000}>", re.IGNORECASE)
_CONTENT = re.compile(r"""\bcontent\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE)
_IS_REFRESH = re.compile(r"""\bhttp-equiv\s*=\s*["']?\s*refresh\b""", re.IGNORECASE)
_REFRESH = re.compile(r"""\s*(\d{1,4})[\d.]*\s*[;,]\s*(?:url\s*=\s*)?["']?([^"'\s]+)""", re.IGNORECASE)
# Seconds after which a page that leads on has been read, like a picture show.
_SOON = 5
# Bytes in which a page must lead on.
_REFRESH_HEAD = 16_384


def refresh_target(media_type: str, data: bytes, header: str) -> str:
    """Return where a page leads on at once, by `Refresh:` or a meta element; empty if it does not."""
    values = [header]
    if "html" in media_type:
        for meta in _META.findall(_ASIDE.sub(b"", data[:_REFRESH_HEAD])):
            text = meta.decode("utf-8", "replace")
            content = _CONTENT.search(text)
            values += [unescape(content[1].strip("\"'"))] if content and _IS_REFRESH.search(text) else []
    match = next(filter(None, map(_REFRESH.match, values)), None)
    return match[2] if match and int(match[1]) <= _SOON else ""
