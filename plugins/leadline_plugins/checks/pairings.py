"""Which figure belongs to whom: two of a unit that a claim tells the other way round than its passages.

Each word of `GIC had 589 billion and Temasek 324 billion` stands in a passage that says it the other way round. What
tells the one figure from the other are the words before each (or behind each) that the other has not.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from leadline_plugins.checks.figure import Figure, same
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.marks import marked
from leadline_plugins.text import content_words
from leadline_plugins.text.tokens import fold

_SENTENCE = re.compile(r"[。！？!?\n]|[.](?!\d)(?=\s|$)")
_CLAUSE = re.compile(r"[,;:，；：。！？!?()（）\n]|[.](?!\d)(?=\s|$)")
_RESPECTIVELY = re.compile(r"分别|分別|respectively|それぞれ|beziehungsweise", re.IGNORECASE)
"""What pairs the first with the first."""
_MOST = 8
"""Figures of a claim that are compared with each other: a row of a table has more."""
_PLACES = 12
"""Places of a figure in the passages that are looked at."""
_REACH = 90
"""Characters to a side of a figure in which stands whose it is."""
_Words = frozenset[str]
_Sides = tuple[_Words, _Words]


def exchanged(claim: str, text: str) -> tuple[Figure, Figure] | None:
    """Return two figures of a claim that the text tells of each other's owners; None where there are none."""
    if _RESPECTIVELY.search(claim):
        return None
    mine = _countable(claim)
    pairs = [pair for pair in itertools.combinations(mine[:_MOST], 2) if _alike(*pair)]
    if not pairs:
        return None
    held = _countable(text)
    places = {one: [place for place in held if _same(one, place)][:_PLACES] for pair in pairs for one in pair}
    paired = [pair for pair in pairs if all(places[one] for one in pair)]
    said, told = fold(marked(claim)), fold(marked(text))
    sides = {one: (_sides(said, [one], mine), _sides(told, places[one], held)) for pair in paired for one in pair}
    return next((pair for pair in paired if _turned(*(sides[one] for one in pair))), None)


def _turned(one: tuple[_Sides, _Sides], other: tuple[_Sides, _Sides]) -> bool:
    """Return whether on a side of two figures the words are exchanged, and on none they are as in the claim."""
    crossed = False
    for side in (0, 1):
        ours, held = (_apart(one[at][side], other[at][side]) for at in (0, 1))
        if ours[0] & held[0] or ours[1] & held[1]:
            return False
        crossed |= bool(ours[0] & held[1] and ours[1] & held[0])
    return crossed


def _apart(one: _Words, other: _Words) -> tuple[_Words, _Words]:
    return one - other, other - one


def _sides(text: str, places: Sequence[Figure], edges: Sequence[Figure]) -> _Sides:
    """Return the words before and behind a figure, as far as to the next of its unit, at all its places together."""
    before: set[str] = set()
    behind: set[str] = set()
    for place in places:
        end = place.at + len(place.said)
        rivals = [one for one in edges if one.unit == place.unit and one.at != place.at]
        start = max([one.at + len(one.said) for one in rivals if one.at < place.at], default=0)
        stop = min([one.at for one in rivals if one.at >= end], default=len(text))
        before.update(_words(_SENTENCE.split(text[max(start, place.at - _REACH) : place.at])[-1]))
        behind.update(_words(_CLAUSE.split(text[end : min(stop, end + _REACH)], maxsplit=1)[0]))
    return frozenset(before), frozenset(behind)


def _words(text: str) -> list[str]:
    return [word for word in content_words(text) if not (word.isdecimal() and len(word) < len("2024"))]


def _countable(text: str) -> list[Figure]:
    found = (one for one in figures(text) if one.kind not in ("month", "year", "ordinal", "reference", "o'clock"))
    return sorted((one for one in found if any(map(str.isdecimal, one.said))), key=lambda one: one.at)


def _alike(one: Figure, other: Figure) -> bool:
    """Return whether two figures of a claim may be exchanged: of one unit or none, and not the same."""
    return (
        (one.unit == other.unit or not (one.unit and other.unit))
        and one.value != other.value
        and one.tail == other.tail
    )


def _same(figure: Figure, found: Figure) -> bool:
    return same(figure, found) and figure.tail == found.tail
