"""Characters that no font had: a PDF sets them as glyph 0, `.notdef`, and says nothing."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Set
from typing import Any

_STREAM = re.compile(rb"stream\r?\n(.*?)\r?\nendstream", re.DOTALL)
_NO_GLYPH = re.compile(rb"/ActualText<FEFF([0-9A-Fa-f]+)>>>BDC[^()]*?\[?\(\\000\\000")
_NO_GLYPH_MAPPED = re.compile(rb"<0000>\s*<([0-9A-Fa-f]+)>")
_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")


def missing(pdf: bytes) -> set[str]:
    """Return the characters for which a PDF made by Typst has no glyph."""
    found = {character for stream in _streams(pdf) for text in _named(stream) for character in text}
    return found - {"\uffff"}  # how a font says that glyph 0 stands for nothing


def _streams(pdf: bytes) -> Iterator[bytes]:
    for stream in _STREAM.finditer(pdf):
        try:
            yield zlib.decompress(stream[1])
        except zlib.error:
            continue  # pictures and fonts are packed otherwise


def _named(stream: bytes) -> Iterator[str]:
    """Yield texts set without glyph: named beside it, or by the font's map of glyph 0."""
    for pattern in (_NO_GLYPH, _NO_GLYPH_MAPPED):
        for found in pattern.finditer(stream):
            yield bytes.fromhex(found[1].decode()).decode("utf-16-be", "replace")


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
