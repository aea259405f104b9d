"""Characters that no font had: a PDF sets them as glyph 0, `.notdef`, and nobody is told.

Which character it was the PDF often does not say. So where there is a glyph 0, a probe is set with each character of
the report on a page of its own, by the same fonts.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Iterator, Sequence, Set
from typing import Any

_STREAM = re.compile(rb"stream\r?\n(.*?)\r?\nendstream", re.DOTALL)
_TEXT = re.compile(rb"BT\b.*?\bET\b", re.DOTALL)
_STRING = re.compile(rb"\(((?:\\.|[^()\\])*)\)", re.DOTALL)
_ESCAPE = re.compile(rb"\\(\d{3}|\d{1,2}(?!\d)|.)", re.DOTALL)
_NOUGHTS = rb"\000\000"
"""Two bytes of nought as Typst writes them: a glyph 0, or the end of one glyph and the beginning of the next."""
_NAMED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
_UNSEEN = {"Cf", "Zs", "Zl", "Zp"}
_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")


def lacks_glyphs(pdf: bytes) -> bool:
    """Return whether a PDF made by Typst sets glyph 0."""
    return any(map(_lacks, _texts(pdf)))


def probe(text: str) -> str:
    """Return the characters of a text that may lack a glyph, each once."""
    return "".join(sorted(c for c in set(text) if ord(c) > 0x2FF and unicodedata.category(c) not in _UNSEEN))


def probe_source(characters: str) -> bytes:
    """Return Typst that sets each character on a page of its own."""
    pages = "".join(f'#page(header: none, footer: none)[#text("x \\u{{{ord(c):x}}}")]\n' for c in characters)
    return pages.encode()


def missing(characters: str, pdf: bytes) -> set[str]:
    """Return the characters whose page in the probe has a glyph 0."""
    pages = list(_texts(pdf))[-len(characters) :]
    return {character for character, page in zip(characters, pages, strict=True) if _lacks(page)}


def _texts(pdf: bytes) -> Iterator[bytes]:
    """Yield the content of the pages, in their order."""
    for stream in _STREAM.finditer(pdf):
        try:
            content = zlib.decompress(stream[1])
        except zlib.error:
            continue  # pictures are packed otherwise
        if _TEXT.search(content):
            yield content


def _lacks(content: bytes) -> bool:
    if _NOUGHTS not in content:
        return False
    strings = (string[1] for text in _TEXT.findall(content) for string in _STRING.finditer(text))
    return any(b"\0\0" in _pairs(string) for string in strings if _NOUGHTS in string)


def _pairs(escaped: bytes) -> Sequence[bytes]:
    """Return the glyphs of a string: two bytes each."""
    raw = _ESCAPE.sub(lambda mark: _NAMED.get(mark[1]) or _octal(mark[1]), escaped)
    return [raw[place : place + 2] for place in range(0, len(raw), 2)]


def _octal(digits: bytes) -> bytes:
    return bytes([int(digits, 8) & 0xFF]) if digits.isdigit() else digits


def private(text: str) -> set[str]:
    """Return the characters of private use: each font shows another thing there."""
    return set(_PRIVATE.findall(text))


def spelt(node: Any, characters: Set[str]) -> Any:
    """Return a tree in which these characters stand as their number, `[U+1F600]`."""
    table = {ord(character): f"[U+{ord(character):04X}]" for character in characters}
    return _translated(node, table)


def _translated(node: Any, table: dict[int, str]) -> Any:
    match node:
        case str():
            return node.translate(table)
        case list():
            return [_translated(item, table) for item in node]
        case {"t": "Link" | "Image" as kind, "c": [attr, inside, target]}:
            return {"t": kind, "c": [attr, _translated(inside, table), target]}
        case dict():
            return {key: value if key == "t" else _translated(value, table) for key, value in node.items()}
    return node
