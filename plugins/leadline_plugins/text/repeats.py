"""Near-repetitions: whether two sentences say the same in nearly the same words."""

from __future__ import annotations

from collections.abc import Iterable, Set

SAME = 0.6
"""Share of the shorter one's content words that stand in the longer one as well."""


def repeats(words: Set[str], others: Iterable[Set[str]]) -> bool:
    """Return whether a sentence, as its content words, nearly repeats one of the others."""
    return any(len(words & other) >= SAME * min(len(words), len(other)) for other in others if words and other)
