"""Segments: the parts of a passage that a brief shows or omits: sentences, list items, table rows, code blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from leadline.records import Block, Document
from leadline_plugins.parse.markdown_blocks import blocks_of
from leadline_plugins.text import length, sentences
from leadline_plugins.text.sentences import FULL_STOPS, depends_on_previous

_ITEM = re.compile(r"^(?:[-*+] |\d{1,3}[.)] |:   )", re.MULTILINE)
# The line after the header of a table.
_RULE = re.compile(r"\|(?:\s*:?-+:?\s*\|)+\s*$", re.MULTILINE)

_ENDS = re.compile(rf"[{FULL_STOPS}.!?:：][\"'”’」』）)\]*_]*$")

# Sentences have at least this many words.
_FEWEST = 3


@dataclass(frozen=True)
class Segment:
    """A part of a passage that is shown whole or not at all: `quote[start:end]`."""

    # The index of its passage.
    passage: int
    block: Block
    start: int
    end: int
    text: str
    # The distance to an earlier segment that must be shown too: a pronoun's referent, a header, a lead-in.
    needs: int = 0

    @property
    def whole(self) -> bool:
        """True if it can be shown alone; captions and labels cannot: they have no full stop or very few words."""
        is_sentence = _ENDS.search(self.text) and length(self.text) >= _FEWEST
        return self.block.kind != "paragraph" or bool(is_sentence)

    @property
    def introduces(self) -> bool:
        """True if it introduces the list, table or code after it."""
        return self.block.kind in ("paragraph", "list") and self.text.rstrip("*_ ").endswith((":", "："))


def segments(quote: str, passage: int) -> Iterator[Segment]:
    """Yield the segments of a passage in order."""
    last: Segment | None = None
    for block in blocks_of(Document(text=quote)):
        led = _led(block, last)
        for number, (start, end) in enumerate(_spans(quote, block)):
            text = quote[start:end]
            last = Segment(
                passage, block, start, end, text, _needs(block, number, text, led=led, begun=last is not None)
            )
            yield last


def _led(block: Block, last: Segment | None) -> bool:
    """Return whether the segment before a block introduces it: it is a paragraph or ends with a colon."""
    if last is None or block.kind == "paragraph":
        return False
    return last.introduces or (block.kind != "definition" and last.block.kind == "paragraph")


def _needs(block: Block, number: int, text: str, *, led: bool, begun: bool) -> int:
    if block.kind == "paragraph":
        return int(begun and depends_on_previous(text))
    if block.kind == "list":
        return number + 1 if led else 0  # the sentence that introduces the list
    return number or int(led)  # rows need the header, definitions the term; these need their own lead-in


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
    """Return the offsets of the rows of a table; caption, header and first row are one segment."""
    rule = _RULE.search(body)
    rows = [found.end() for found in re.finditer("\n", body) if found.end() > (rule.end() + 1 if rule else 0)]
    return [0, *rows]
