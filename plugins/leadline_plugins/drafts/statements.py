"""The statements of a paragraph, each with the citations behind it; one that lost its mark takes that of no other."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import zip_longest

from leadline.citations import CITATION
from leadline_plugins.drafts.blocks import BLANK
from leadline_plugins.text import sentences
from leadline_plugins.text.sentences import Span

Lost = tuple[int, str]
"""Where a mark was taken out, and what it said; empty for one that was copied with the words of a page."""
_BEHIND = re.compile(r"\[@[^\[\]\s]+\](?:\s*\[@[^\[\]\s]+\])*[.。]?")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_WHOLE = re.compile(r"[ \t]*[|>]")
"""How a line begins at which no paragraph may end: of a table, of a quotation."""
_WORD = re.compile(r"[^\W_]+")
_HEADING = re.compile(r"[ ]{0,3}#{1,6}\s[^\n]*")
_FEWEST = 24
"""Letters of a paragraph that stands twice, and nobody repeats by chance; Chinese says as much in a third of them."""


def cited_sentences(text: str) -> list[Span]:
    """Return where the sentences of a text stand, each with the citations behind it."""
    spans: list[Span] = []
    for start, end in sentences(text):
        behind = _BEHIND.match(text, start, end)
        if behind and spans and "\n" not in text[spans[-1][1] : start]:
            spans[-1] = spans[-1][0], behind.end()
            start = end - len(text[behind.end() : end].lstrip())
        if start < end:
            spans.append((start, end))
    return spans


def letters(text: str) -> str:
    """Return the letters and figures of a text without its citations: what makes two sentences the same."""
    return "".join(_WORD.findall(CITATION.sub("", text))).casefold()


def said_once(text: str) -> str:
    """Return a text without the paragraphs that stand in it before, word for word, nor a heading over nothing else."""
    parts = BLANK.split(text)[::2]
    if len(set(parts)) == len(parts):
        return text
    seen: set[str] = set()
    kept: list[str] = []
    for part, following in zip_longest(parts, parts[1:], fillvalue="#"):
        if part not in seen or not _tells(part):
            kept.append(part)
        elif kept and _HEADING.fullmatch(kept[-1]) and following.startswith("#"):
            kept.pop()
        seen.add(part)
    return "\n\n".join(kept)


def _tells(part: str) -> bool:
    own = letters(part)
    return len(own) >= (_FEWEST if own.isascii() else _FEWEST // 3) and not _HEADING.fullmatch(part)


def bared(text: str, removed: Sequence[Lost]) -> tuple[str, list[str]]:
    """Return a paragraph that ends behind what lost its only mark, and those marks, one for each statement.

    What stands before a citation is held against it: a statement of which the source is lost would be held against
    that of the next.
    """
    if not any(mark for _, mark in removed):
        return text, []
    spans = cited_sentences(text)
    starts = [start for start, _ in spans]
    lost: dict[int, str] = {}
    for place, mark in removed:
        at = bisect_left(starts, place) - 1
        if mark and at >= 0 and not CITATION.search(text, *spans[at]) and not _HEADING.match(text, spans[at][0]):
            lost.setdefault(at, mark)
    breaks = [spans[at][1] for at in lost if _last(at, spans, lost, text)]
    for end in sorted(breaks, reverse=True):
        text = _broken(text, end)
    return text, list(lost.values())


def _last(at: int, spans: Sequence[Span], lost: dict[int, str], text: str) -> bool:
    """Return whether a citation follows, and no other statement that lost its mark comes before it."""
    for later in range(at + 1, len(spans)):
        if CITATION.search(text, *spans[later]):
            return True
        if later in lost:
            return False
    return False


def _broken(text: str, end: int) -> str:
    """Return a paragraph as two, unless that would tear a table, a quotation or what is bold."""
    line = text.rfind("\n", 0, end) + 1
    if _WHOLE.match(text, line) or text.count("**", 0, end) % 2:
        return text
    before, rest = text[:end].rstrip(), text[end:]
    space = rest[: len(rest) - len(rest.lstrip())]
    if "\n" in space:
        behind = rest[space.rfind("\n") + 1 :]
    else:
        item = _ITEM.match(text, line)
        behind = " " * len(item[0] if item else "") + rest.lstrip()
    return f"{before}\n\n{behind}"
