"""A text cut into passages: the unit that is ranked, and shown as a hit's snippet.

Whole paragraphs are packed up to the wanted size; only a paragraph larger than that is cut, at the end of a sentence
where there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from leadline_plugins.text.sentences import SURE, Span

_PARAGRAPH = re.compile(r"\S(?:.*\S)?(?:\n(?![ \t]*\n).*\S)*")
_SENTENCE_END = re.compile(rf"[{SURE}]+[」』）】》”’»]*|(?<![.!?])[.!?]++[\"'”’)\]]*\s|\n")


def passages(text: str, size: int) -> list[Span]:
    """Return the spans of the passages, in order, each of at most `size` characters."""
    packed: list[Span] = []
    for start, end in _pieces(text, size):
        if packed and end - packed[-1][0] <= size:
            packed[-1] = (packed[-1][0], end)
        else:
            packed.append((start, end))
    return packed


def _pieces(text: str, size: int) -> Iterator[Span]:
    for paragraph in _PARAGRAPH.finditer(text):
        start, end = paragraph.span()
        while end - start > size:
            cut = _cut(text, start, start + size)
            yield start, start + len(text[start:cut].rstrip())
            start = cut + len(text[cut:end]) - len(text[cut:end].lstrip())
        yield start, end


def _cut(text: str, start: int, wanted: int) -> int:
    """Return where to cut, before the wanted place: after the last sentence of the second half, or a space."""
    middle = (start + wanted) // 2
    ends = [match.end() for match in _SENTENCE_END.finditer(text, middle, wanted)]
    space = text.rfind(" ", middle, wanted)
    return ends[-1] if ends else space + 1 if space > 0 else wanted
