"""Chains: how far sentences cover a question, alone and together.

No single sentence answers a question whose answer takes two steps, but two that share a name do: the one that states
the name, and the one that says of it what is asked. So a sentence is rated by the best chain that it is part of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from operator import itemgetter

from leadline_plugins.synthesizers.brief.names import Name

_TITLE = 0.5
"""Worth of a term that occurs only in a title, where that says more than the question does."""
STEP = 0.9
"""The share of a chain's score that is left after each step."""
STEPS = 2
_FOLLOWED = 40
"""Chains that are followed further, each round."""

Weights = Mapping[str, float]
"""The terms of a question and how much each says; they add up to 1."""
Cover = tuple[float, ...]
"""For each term, how much of its weight a sentence covers, by its own words or the title."""
Chain = tuple[float, tuple[int, ...]]
"""A score, from 0 to 1, and the sentences by their places. A plain tuple: a question has thousands."""
_score = itemgetter(0)


@dataclass(frozen=True)
class Link:
    """A sentence as chains see it."""

    held: frozenset[str]
    """Terms of the question in the sentence."""
    titled: frozenset[str]
    """Terms of the question in the title of its document and the headings above it."""
    names: frozenset[Name]
    """Names in it that the question does not have."""
    about: Name
    """The title of its document."""
    asked: frozenset[str] = frozenset()
    """Terms of the headings above it that have no other terms than the question."""

    def cover(self, weights: Weights) -> Cover:
        """Return how much of each term it covers; a title counts in full where the question has all of its words."""
        full = self.held | (self.titled if self.titled.issuperset(self.about) else self.asked)
        return tuple(w if t in full else w * _TITLE if t in self.titled else 0.0 for t, w in weights.items())


def chains(weight: Weights, links: Sequence[Link], steps: int = STEPS) -> list[Chain]:
    """Return the chains of one sentence, and of up to `steps` more, best first."""
    by_name: dict[Name, list[int]] = defaultdict(list)
    for place, link in enumerate(links):
        for name in link.names | ({link.about} if link.about else set()):
            by_name[name].append(place)
    covers = [link.cover(weight) for link in links]
    level: list[Chain] = [(sum(cover), (place,)) for place, cover in enumerate(covers)]
    found = list(level)
    for _ in range(steps):
        best = sorted(path for _, path in nlargest(_FOLLOWED, level, key=_score))
        level = [chain for path in best for chain in _longer(covers, links, by_name, path)]
        found += level
    return sorted(found, key=_score, reverse=True)


def _longer(
    covers: Sequence[Cover], links: Sequence[Link], by_name: Mapping[Name, list[int]], path: tuple[int, ...]
) -> list[Chain]:
    """Return the chains that continue one by a sentence that its last sentence names."""
    reached = set[int]().union(*(by_name[name] for name in links[path[-1]].names)).difference(path)
    kept = STEP ** len(path)
    own = [max(terms) for terms in zip(*(covers[place] for place in path), strict=True)]
    # Most of the hundreds of sentences that a name leads to cover the same: each cover is added up once.
    score = {cover: kept * sum(map(max, own, cover)) for cover in {covers[place] for place in reached}}
    return [(score[covers[place]], (*path, place)) for place in sorted(reached)]


def ratings(count: int, ranked: Sequence[Chain]) -> list[float]:
    """Return for each of `count` sentences the score of the best chain it is part of."""
    best = [0.0] * count
    for score, path in reversed(ranked):
        for place in path:
            best[place] = score
    return best
