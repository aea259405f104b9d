"""Read Markdown as blocks: for documents whose parser or engine returned text alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from leadline.records import Block, BlockKind, Document

_LINE = re.compile(r"[^\n]*\n?")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
_FENCE = re.compile(r"(```|~~~)")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+\S")


def blocks_of(document: Document) -> tuple[Block, ...]:
    """Return the blocks of a document: those of its parser, else what its text has as Markdown."""
    return document.blocks or tuple(_read(document.text))


def _read(text: str) -> Iterator[Block]:
    path: list[tuple[int, str]] = []
    kind: BlockKind | None = None
    start = end = 0

    def block() -> Block:
        assert kind is not None
        return Block(kind=kind, start=start, end=end, path=tuple(name for _, name in path))

    for found in _LINE.finditer(text):
        line = found[0].rstrip()
        first, last = found.start(), found.start() + len(line)
        if kind == "code":
            end = last
            if _FENCE.match(line):
                yield block()
                kind = None
            continue
        if heading := _HEADING.match(line):
            if kind:
                yield block()
            level = len(heading[1])
            path = [one for one in path if one[0] < level]
            kind, start, end = "heading", first, last
            yield block()
            kind = None
            path.append((level, heading[2]))
            continue
        if not line.strip():
            if kind:
                yield block()
            kind = None
            continue
        new: BlockKind = "paragraph"
        if _FENCE.match(line):
            new = "code"
        elif line.lstrip().startswith("|"):
            new = "table"
        elif line.startswith(">"):
            new = "quote"
        elif _ITEM.match(line) or kind == "list":
            new = "list"
        if kind and new != kind:
            yield block()
            kind = None
        if kind is None:
            kind, start = new, first
        end = last
    if kind:
        yield block()
