"""Choose: the evidence that fits into the report or into the prompts of its writers, best first, nothing twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import nlargest

from leadline.records import Evidence
from leadline_plugins.ai.embedded.asked import Asked
from leadline_plugins.ai.embedded.names import telling
from leadline_plugins.text import Said, content_set, is_cjk, length
from leadline_plugins.text.tokens import has_cjk

_CUT, _CUT_WIDE = 0.6, 0.5
"""Of the best rating: sentences below bring in no document of their own. Less of what is asked for several things, for
a sentence that says all of one of them may say half of the whole."""
_AROUND = 1000
"""Characters from the best sentence: what stands there speaks of the same, though in other words."""
_NOISE = 0.4
"""Of the rating of the best: what is below serves a writer as little as what was found by chance."""
_BEST, _MOST = 0.03, 10
"""The share of all that are the best, and how many that is at most."""
_FACT, _ACCOUNT = 200, 1200
"""Words of a report whose length nobody set."""
_CHARACTERS = 2
"""Characters of CJK that say as much as a word."""
_MARKER, _CJK_MARKER = 1, 4
"""Length of a citation: ` [1]` is a word, or up to four characters."""


@dataclass(frozen=True)
class Rated:
    """A piece of evidence and how well it serves the question."""

    evidence: Evidence
    rating: float


def room(question: Asked, length: int) -> int:
    """Return the length of the report: as asked for, or by what is asked."""
    free = _ACCOUNT if question.account else _FACT
    return length or free * (_CHARACTERS if is_cjk(question.language) else 1)


def choose(rated: Iterable[Rated], room: int, language: str, *, wide: bool = False) -> list[Rated]:
    """Take what serves the question while there is room; then what stands around the best of it.

    `wide`: the question is for an account, or for several facts.
    """
    cut = _CUT_WIDE if wide else _CUT
    order = _ordered(rated)
    if not order:
        return []
    best = order[0]
    serving = [item for item in order if item.rating >= cut * best.rating]
    around = [item for item in order if item.rating < cut * best.rating and _near(item.evidence, best.evidence)]
    return _Fitting(room, language, size_of).taken([*serving, *around])


def choose_material(rated: Iterable[Rated], room: int, language: str) -> list[Rated]:
    """Take for writers, while there is room, all that is no noise: of each source its share first, then the best.

    A share is by the best passage of the source, so that none floods the others and no good one is left out. CJK takes
    the room of what it says in the language of the report, not of its characters.
    """
    order = _ordered(rated)
    floor = _NOISE * mean_of_best([item.rating for item in order])
    order = [item for item in order if item.rating >= floor]
    best: dict[str, float] = {}
    for item in order:
        best.setdefault(item.evidence.source_id, item.rating)
    whole = sum(best.values())
    fitting = _Fitting(room, language, size_for_writers)
    own = {name: fitting.room * rating / whole for name, rating in best.items()}
    shared = fitting.taken(order, own)
    chosen = {item.evidence.id for item in shared}
    rest = fitting.taken([item for item in order if item.evidence.id not in chosen])
    return _ordered([*shared, *rest])


def mean_of_best(ratings: Sequence[float]) -> float:
    """Return the mean of the best ratings: less than the one that says the words of a question by chance."""
    best = nlargest(min(_MOST, max(1, int(_BEST * len(ratings)))), ratings)
    return sum(best) / len(best) if best else 0.0


def _ordered(rated: Iterable[Rated]) -> list[Rated]:
    return sorted((item for item in rated if item.rating > 0), key=lambda item: -item.rating)


def _near(evidence: Evidence, best: Evidence) -> bool:
    return evidence.source_id == best.source_id and abs(evidence.span[0] - best.span[0]) <= _AROUND


class _Fitting:
    """Takes passages while there is room, and none that says what another one says."""

    def __init__(self, room: int, language: str, measure: Callable[[Evidence, str], int]) -> None:
        self.room, self._language, self._measure = room, language, measure
        self._said = Said()

    def taken(self, order: Iterable[Rated], shares: dict[str, float] | None = None) -> list[Rated]:
        """Return what is taken, in this order; of each source no more than its share, but its first in any case."""
        chosen, used = [], defaultdict[str, int](int)
        for item in order:
            name, size = item.evidence.source_id, self._measure(item.evidence, self._language)
            full = shares is not None and used[name] and used[name] + size > shares[name]
            words = content_set(item.evidence.quote)
            if size <= self.room and not full and not self._said.repeats(words, telling(item.evidence.quote)):
                chosen.append(item)
                self._said.add(words)
                self.room -= size
                used[name] += size
        return chosen


def size_of(evidence: Evidence, language: str) -> int:
    """Return the length of a quote with its citation."""
    return length(evidence.quote, language) + (_CJK_MARKER if is_cjk(language) else _MARKER)


def size_for_writers(evidence: Evidence, language: str) -> int:
    """Return how long a quote is in another language of words: two characters of CJK say as much as one."""
    size = size_of(evidence, language)
    return size if is_cjk(language) or not has_cjk(evidence.quote) else -(-size // _CHARACTERS)
