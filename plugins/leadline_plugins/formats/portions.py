"""Paragraphs of a length that can be set: the time for one grows with its square, and nobody reads on for pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from leadline_plugins.formats.tree import Node, text

MOST = 6000
"""Characters of a paragraph."""


def portions(inlines: Iterable[Node]) -> Iterator[list[Node]]:
    """Yield inlines in portions; all in one where they are no more than a paragraph. At least one."""
    portion: list[Node] = []
    left = MOST
    for node in _cut(inlines):
        if left < 0:
            yield portion
            portion, left = [], MOST
        portion.append(node)
        left -= len(text(node)) + 1
    yield portion


def _cut(inlines: Iterable[Node]) -> Iterator[Node]:
    """Yield inlines, a long run of words as several."""
    for node in inlines:
        if node["t"] == "Str" and len(node["c"]) > MOST:
            yield from ({"t": "Str", "c": run} for run in _runs(node["c"]))
        else:
            yield node


def _runs(words: str) -> Iterator[str]:
    while len(words) > MOST:
        end = words.rfind(" ", 1, MOST) + 1 or MOST
        yield words[:end]
        words = words[end:]
    yield words
