"""Near-repetitions: whether a sentence says nearly the same words as one of those before it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Set

SAME = 0.6
"""Share of the shorter one's content words that stand in the longer one as well."""


class Said:
    """The sentences so far, as their content words; by word, so that a new one meets only those it shares some with."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._least = 1_000_000
        self._with: dict[str, list[int]] = defaultdict(list)

    def repeats(self, words: Set[str]) -> bool:
        """Return whether a sentence nearly repeats one of those before it."""
        shared: Counter[int] = Counter()
        for word in words:
            shared.update(self._with.get(word, ()))
        least = SAME * min(len(words), self._least)
        near = (place for place, count in shared.items() if count >= least)
        return any(shared[place] >= SAME * min(len(words), self._sizes[place]) for place in near)

    def add(self, words: Set[str]) -> None:
        """Take a sentence in."""
        for word in words:
            self._with[word].append(len(self._sizes))
        self._sizes.append(len(words))
        self._least = min(self._least, len(words) or self._least)
