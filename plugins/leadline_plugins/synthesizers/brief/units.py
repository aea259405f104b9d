"""Units: what a brief may show of a passage: whole sentences, items of lists, rows of tables, code as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from leadline.records import Block, Evidence, Source
from leadline_plugins.parse.markdown_blocks import blocks_of
from leadline_plugins.text import sentences
from leadline_plugins.text.hanging import hangs_on

_ITEM = re.compile(r"^(?:[-*+] |\d{1,3}[.)] |:   )", re.MULTILINE)
_RULE = re.compile(r"\|(?:\s*:?-+:?\s*\|)+\s*")
"""The line under the header of a table."""


@dataclass(frozen=True)
class Unit:
    """A part of a passage that is shown whole or not at all; `document.text[start:end]` is its text."""

    passage: int
    """The place of its passage among those of the brief."""
    block: Block
    start: int
    end: int
    text: str
    needs: int = 0
    """How many units before it in its passage must be shown with it: the one that a pronoun refers to, a header."""


def units(passages: Sequence[Evidence], sources: Mapping[str, Source]) -> list[Unit]:
    """Return the units of passages, in their order."""
    blocks = {name: blocks_of(sources[name].document) for name in {item.source_id for item in passages}}
    return [
        unit
        for place, item in enumerate(passages)
        for unit in _of(place, item, sources[item.source_id].document.text, blocks[item.source_id])
    ]


def _of(place: int, passage: Evidence, text: str, blocks: Sequence[Block]) -> Iterator[Unit]:
    count = 0
    for block in blocks:
        start, end = max(block.start, passage.span[0]), min(block.end, passage.span[1])
        if start >= end or block.kind == "heading":
            continue
        spans = _spans(text, block, start, end)
        for number, (first, last) in enumerate(spans):
            said = text[first:last]
            yield Unit(place, block, first, last, said, _needs(block, number, said, count))
            count += 1


def _needs(block: Block, number: int, said: str, before: int) -> int:
    if block.kind in ("paragraph", "quote"):
        return 1 if before and hangs_on(said) else 0
    if block.kind in ("list", "table", "definition", "code"):  # with what introduces it
        return min(1, before)
    return 0


def _spans(text: str, block: Block, start: int, end: int) -> list[tuple[int, int]]:
    body = text[start:end]
    if block.kind in ("paragraph", "quote"):
        return [(start + first, start + last) for first, last in sentences(body)]
    if block.kind == "list" or block.kind == "definition":
        starts = [found.start() for found in _ITEM.finditer(body)]
    elif block.kind == "table":
        starts = _rows(body)
    else:
        starts = []
    starts = [0, *(one for one in starts if one)]
    spans = [(start + first, start + last) for first, last in zip(starts, [*starts[1:], len(body)], strict=True)]
    return [(first, first + len(text[first:last].rstrip())) for first, last in spans]


def _rows(body: str) -> list[int]:
    """Return where the rows of a table begin; its header and caption are one unit with the first row."""
    starts = [0, *(found.end() for found in re.finditer("\n", body))]
    rule = next((place for place, at in enumerate(starts[:6]) if _RULE.match(body, at)), 0)
    return starts[rule + 2 :] if rule else starts
