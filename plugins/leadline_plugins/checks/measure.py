"""How far a passage bears a claim, by words alone: a measure for where no model can be asked.

The share of its content words that the passage holds, and what weighs more than words: names and figures that it does
not hold, and a rule that speaks against it. Four weights, fitted once with each of six collections of judged claims
weighing alike, and rounded to the cautious side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Set
from dataclasses import dataclass

from leadline_plugins.ai.embedded.names import key, names
from leadline_plugins.checks.figure import missing
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.passages import Passage
from leadline_plugins.text import content_set, content_words

_KIN = 0.8
"""What a word of the same root counts (`elect`, `election`); of CJK half, for one of two characters."""
_ROOT = 4
_BASE, _SHARE, _NAMES, _FIGURES, _AGAINST = -0.8, 1.7, -0.15, -0.4, -1.5


@dataclass(frozen=True)
class Overlap:
    """What of a claim a passage holds: the share of its content words (0 to 1), and counts of what is missing."""

    share: float
    names: int
    figures: int

    def probability(self, *, against: bool = False) -> float:
        """Return that of support, as far as words tell: about 0.1 to 0.7, for words tell no more.

        `against`: a rule found a difference between claim and passage.
        """
        odds = _BASE + _SHARE * self.share + _NAMES * math.log1p(self.names) + _FIGURES * math.log1p(self.figures)
        return 1 / (1 + math.exp(-odds - _AGAINST * against))


def overlap(claim: str, passage: Passage) -> Overlap:
    """Return what of a claim's words, names and figures a passage holds."""
    wanted = tuple(dict.fromkeys(content_words(claim)))
    held = content_set(passage.text)
    shares = {word: borne(word, held) for word in wanted}
    named = {part for name in names(claim) for part in key(name)}
    return Overlap(
        share=sum(shares.values()) / max(1, len(wanted)),
        names=sum(shares[word] < 1 for word in wanted if word in named),
        figures=len(missing(figures(claim), figures(passage.text))),
    )


def borne(word: str, held: Set[str]) -> float:
    """Return how far words that are held bear one: wholly, as one of its root, or not at all."""
    if word in held:
        return 1.0
    return 0.0 if word.isdigit() else _nearest(word, held)


def _nearest(word: str, held: Iterable[str]) -> float:
    if word.isascii():
        kin = (other for other in held if other[:_ROOT] == word[:_ROOT] and _akin(word, other))
        return _KIN if next(kin, None) else 0.0
    return (
        0.5 if len(word) == 2 and any(char in other for other in held if not other.isascii() for char in word) else 0.0
    )


def _akin(word: str, other: str) -> bool:
    """Return whether two words share their first letters, and those are most of both."""
    same = next((at for at, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))
    return same >= _ROOT and same >= 0.6 * max(len(word), len(other))
