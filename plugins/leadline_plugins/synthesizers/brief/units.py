"""Units: what a brief shows of a passage or leaves out: sentences, items of lists, rows of tables, blocks of code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from leadline.records import Block, Document
from leadline_plugins.parse.markdown_blocks import blocks_of
from leadline_plugins.text import length, sentences
from leadline_plugins.text.hanging import hangs_on
from leadline_plugins.text.sentences import SURE

_ITEM = re.compile(r"^(?:[-*+] |\d{1,3}[.)] |:   )", re.MULTILINE)
_RULE = re.compile(r"\|(?:\s*:?-+:?\s*\|)+\s*$", re.MULTILINE)
"""The line after the header of a table."""

_ENDS = re.compile(rf"[{SURE}.!?:：][\"'”’」』）)\]*_]*$")

_FEWEST = 3
"""Words of a sentence."""


@dataclass(frozen=True)
class Unit:
    """A part of a passage that is shown whole or not at all: `quote[start:end]`."""

    passage: int
    """The place of its passage."""
    block: Block
    start: int
    end: int
    text: str
    needs: int = 0
    """How many units before it the one is that must be shown with it: what a pronoun refers to, a header, a lead-in."""

    @property
    def whole(self) -> bool:
        """Whether it can be shown by itself: what has no full stop or hardly a word is a caption or a label."""
        is_sentence = _ENDS.search(self.text) and length(self.text) >= _FEWEST
        return self.block.kind != "paragraph" or bool(is_sentence)

    @property
    def introduces(self) -> bool:
        """Whether it leads to the list, table or code after it."""
        return self.block.kind in ("paragraph", "list") and self.text.rstrip("*_ ").endswith((":", "："))


def units(quote: str, passage: int) -> Iterator[Unit]:
    """Yield the units of a passage in their order."""
    last: Unit | None = None
    for block in blocks_of(Document(text=quote)):
        led = _led(block, last)
        for number, (start, end) in enumerate(_spans(quote, block)):
            text = quote[start:end]
            last = Unit(passage, block, start, end, text, _needs(block, number, text, led=led, begun=last is not None))
            yield last


def _led(block: Block, last: Unit | None) -> bool:
    """Return whether the unit before a block introduces it: it ends in a colon or, but for a definition, is a text."""
    if last is None or block.kind == "paragraph":
        return False
    return last.introduces or (block.kind != "definition" and last.block.kind == "paragraph")


def _needs(block: Block, number: int, text: str, *, led: bool, begun: bool) -> int:
    if block.kind == "paragraph":
        return int(begun and hangs_on(text))
    if block.kind == "list":
        return number + 1 if led else 0  # the sentence that introduces the list
    return number or int(led)  # the header of the table, the term; of these themselves, what introduces them


def _spans(quote: str, block: Block) -> Iterator[tuple[int, int]]:
    body = quote[block.start : block.end]
    if block.kind == "paragraph":
        starts = [start for start, _ in sentences(body)]
    elif block.kind in ("list", "definition"):
        starts = [found.start() for found in _ITEM.finditer(body)]
    elif block.kind == "table":
        starts = _rows(body)
    else:
        starts = []
    starts = [0, *starts[1:]]
    for start, end in zip(starts, [*starts[1:], len(body)], strict=True):
        yield block.start + start, block.start + start + len(body[start:end].rstrip())


def _rows(body: str) -> list[int]:
    """Return where the rows of a table begin; its caption and header are one unit with the first row."""
    rule = _RULE.search(body)
    rows = [found.end() for found in re.finditer("\n", body) if found.end() > (rule.end() + 1 if rule else 0)]
    return [0, *rows]
