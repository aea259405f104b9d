"""Choose: the evidence that fits into the report, best first, nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from leadline.records import Evidence
from leadline_plugins.ai.embedded.asked import Asked
from leadline_plugins.ai.embedded.names import telling
from leadline_plugins.text import Said, content_set, is_cjk, length
from leadline_plugins.text.tokens import has_cjk

_CUT = 0.5
"""Of the best rating: sentences below bring in no document of their own."""
_AROUND = 1000
"""Characters from the best sentence: what stands there speaks of the same, though in other words."""
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


def choose(rated: Iterable[Rated], room: int, language: str, *, material: bool = False) -> list[Rated]:
    """Take what serves the question while there is room; then what stands around the best of it.

    As `material` for a writer, CJK takes the room of what it says in the language of the report, not of its characters.
    """
    order = sorted((item for item in rated if item.rating > 0), key=lambda item: -item.rating)
    if not order:
        return []
    best = order[0]
    serving = [item for item in order if item.rating >= _CUT * best.rating]
    around = [item for item in order if item.rating < _CUT * best.rating and _near(item.evidence, best.evidence)]
    return _fitting([*serving, *around], room, language, _said if material else size_of)


def _near(evidence: Evidence, best: Evidence) -> bool:
    return evidence.source_id == best.source_id and abs(evidence.span[0] - best.span[0]) <= _AROUND


def _fitting(order: Sequence[Rated], room: int, language: str, measure: Callable[[Evidence, str], int]) -> list[Rated]:
    chosen: list[Rated] = []
    said = Said()
    for item in order:
        size, words = measure(item.evidence, language), content_set(item.evidence.quote)
        if size <= room and not said.repeats(words, telling(item.evidence.quote)):
            chosen.append(item)
            said.add(words)
            room -= size
    return chosen


def size_of(evidence: Evidence, language: str) -> int:
    """Return the length of a quote with its citation."""
    return length(evidence.quote, language) + (_CJK_MARKER if is_cjk(language) else _MARKER)


def _said(evidence: Evidence, language: str) -> int:
    """Return how long a quote is in another language of words: two characters of CJK say as much as one."""
    size = size_of(evidence, language)
    return size if is_cjk(language) or not has_cjk(evidence.quote) else -(-size // _CHARACTERS)
