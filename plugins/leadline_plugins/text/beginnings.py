"""Paragraphs as people know them again: by how they begin, and a table by its rows."""

from __future__ import annotations

import re

_CUT = re.compile(r"[^\s\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]+\Z")
"""The beginning of a word or number, where words are spaced."""
_RULE = frozenset(" \t|:-")
"""The signs of the line below the head of a table."""


def beginning(text: str, most: int) -> str:
    """Return how a text begins, up to the end of a word: half a number is another number."""
    if len(text) <= most:
        return text
    said = text[:most]
    whole = _CUT.sub("", said) if _CUT.search(text[: most + 1]) else said
    return f"{((whole.strip() and whole) or said).rstrip()} …"


def rows(block: str) -> int:
    """Return how many rows a block has below the head of its table; 0 where it is none."""
    head, *below = block.strip().split("\n")
    if not below or not head.lstrip().startswith("|") or "-" not in below[0] or not _RULE.issuperset(below[0]):
        return 0
    return sum(line.lstrip().startswith("|") for line in below[1:])
