"""Of what a figure or a name is said: told by the words around it, in the claim and where it stands in the passage.

A page is full of figures and names. One that stands in the passage, but of another thing than the claim says, bears
nothing; and where another of its kind stands among the very words that surround it in the claim, the claim has swapped
them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache

from leadline_plugins.checks.figure import Figure, missing, same
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.naming import coded, proper_names
from leadline_plugins.text import content_set, content_words
from leadline_plugins.text.tokens import fold

Words = dict[tuple[str, bool], float]
"""What a word weighs, from 1 for the nearest, that stands before (False) or behind (True) a place."""
_WIDTH = 90
"""Characters to each side of a place within which words are of it."""
_OTHER_SIDE = 0.5
"""What a word counts that stands before it here and behind it there."""
_OTHER_UNIT = 0.5
"""What the place of a figure counts whose unit, though it is not read, is another than the claim's."""
_ALIKE = 1.0
"""Two places are of the same thing from here: one next word that both have, or some that are farther off."""
_SAME = 2.0
"""Two places say the same: of names, which stand side by side in any sentence, less proves nothing."""
_VARIED = 1.5
"""The same of names that differ by a number: `GPT-4 as a judge`."""
_NUMBERED = re.compile(r"(?P<head>[^\W\d_]{2,}[- ]?)\d[\w.]*")
_COMPARED = 200
"""Figures of a passage that are compared with one of a claim: a text of nothing else has thousands."""
_NEAR = 0.5
_NEARER = 1.3
"""How many times more alike the place of another must be than the place of the claim's own."""


def other_figure(figure: Figure, claim: str, parts: Sequence[str]) -> Figure | None:
    """Return what stands in the sentences of a passage where the claim has this figure, if that is another."""
    said = figures(claim)
    wanted = _figure_around(fold(claim), figure)
    places = [place for part in parts for place in _places(part)][:_COMPARED]
    own = max((_likeness(wanted, words) for other, words in places if same(figure, other)), default=0.0)
    bound = max(_ALIKE, _NEARER * own)
    rated = (
        (_likeness(wanted, words) * _as_told(figure, other), other) for other, words in places if _rivals(figure, other)
    )
    # Whether the claim has a figure too is asked of few: it costs as much as the claim has figures.
    alike = sorted((pair for pair in rated if pair[0] > bound), key=lambda pair: -pair[0])
    return next((other for _, other in alike if missing([other], said)), None)


def _rivals(figure: Figure, other: Figure) -> bool:
    """Return whether one figure may stand for the other: of a kind, and a day against a day."""
    return figure.kind == other.kind and (not figure.month or bool(figure.value % 1) <= bool(other.value % 1))


def _as_told(figure: Figure, other: Figure) -> float:
    """Return what the place of another figure counts: less where its unit is another, though that is not read."""
    return 1.0 if figure.tail == other.tail else _OTHER_UNIT


def near(figure: Figure, claim: str, text: str) -> bool:
    """Return whether a figure stands somewhere in a text near to words that are near to it in the claim."""
    wanted = _figure_around(fold(claim), figure)
    return any(same(figure, other) and _likeness(wanted, words) >= _NEAR for other, words in _places(text))


def other_name(name: str, claim: str, parts: Sequence[str], *, variant: bool = False) -> str:
    """Return the name that stands in the sentences of a passage where the claim has this one; empty where it stands.

    A `variant` is looked for among names that differ by their number alone: GPT-4 and GPT-4o.
    """
    wanted = next(_around_each(claim, name), {})
    forms = {name, name.split()[0], name.split()[-1]}
    own = max(
        (_likeness(wanted, words) for part in parts for form in forms for words in _around_each(part, form)),
        default=0.0,
    )
    said = content_set(claim)
    rivals = (
        (_likeness(wanted, words), other)
        for part in parts
        for other in proper_names(part)
        if (
            _varies(other, name, claim)
            if variant
            else coded(other) == coded(name) and said.isdisjoint(content_words(other))
        )
        for words in _around_each(part, other)
    )
    nearest, found = max(rivals, default=(0.0, ""))
    return found if nearest > max(_VARIED if variant else _SAME, _NEARER * own) else ""


def _rivals_name(other: str, name: str, said: Set[str]) -> bool:
    """Return whether a name may stand for another: both codes or none, and no word of it in the claim."""
    return coded(other) == coded(name) and said.isdisjoint(content_words(other))


def _varies(other: str, name: str, claim: str) -> bool:
    """Return whether two names have the same beginning and another number, and the claim has but the one."""
    mine, theirs = _NUMBERED.match(name), _NUMBERED.match(other)
    same_head = mine is not None and theirs is not None and mine["head"] == theirs["head"] and mine[0] != theirs[0]
    return same_head and not re.search(rf"(?<![\w-]){re.escape(other)}(?![\w-])", claim)


@lru_cache(maxsize=512)
def _places(part: str) -> list[tuple[Figure, Words]]:
    text = fold(part)
    return [(figure, _figure_around(text, figure)) for figure in figures(part)]


def _figure_around(text: str, figure: Figure) -> Words:
    return _around(text, figure.at, figure.at + len(figure.said))


def _around_each(text: str, name: str) -> Iterator[Words]:
    folded = fold(text)
    for match in re.finditer(rf"(?<!\w){re.escape(fold(name))}(?!\w)", folded):
        yield _around(folded, *match.span())


def _around(text: str, start: int, end: int) -> Words:
    before = content_words(text[max(0, start - _WIDTH) : start])[::-1]
    return _weighed(before, behind=False) | _weighed(content_words(text[end : end + _WIDTH]), behind=True)


def _weighed(words: Iterable[str], *, behind: bool) -> Words:
    found: Words = {}
    for distance, word in enumerate(words, start=1):
        found.setdefault((word, behind), 1 / distance)
    return found


def _likeness(wanted: Words, found: Words) -> float:
    """Return how alike the words around two places are: those that both have, the nearer in both the more."""
    return sum(
        max(
            math.sqrt(weight * found.get((word, side), 0.0)),
            _OTHER_SIDE * math.sqrt(weight * found.get((word, not side), 0.0)),
        )
        for (word, side), weight in wanted.items()
    )
