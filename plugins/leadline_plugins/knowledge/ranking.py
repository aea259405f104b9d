"""Ranking of passages for a question: by words and by vectors, fused by reciprocal rank.

By words, the ranking of `local` is used: the best passage of each document, with documents that a highly ranked passage
names. docs/decisions/0085 has the figures for the weights.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from leadline.records import VectorMatch
from leadline_plugins.knowledge.catalog import Place
from leadline_plugins.search.local.ranking import Match, rank
from leadline_plugins.search.local.store import IndexReader

# Passages of each ranking that are fused.
DEPTH = 50
# The constant of reciprocal rank fusion: smaller than the usual 60, so that the first places count for more.
FUSION = 10
# The weights of the rankings by words and by vectors.
WEIGHTS: Sequence[float] = (4.0, 1.0)


def by_words(readers: Iterable[IndexReader], query: str) -> list[Place]:
    """Return the best passages of the best documents of some collections."""
    found: list[Match] = []
    for reader in readers:
        found += rank(reader, query, DEPTH)
    ordered = sorted(found, key=lambda match: (-match.score, match.passage.path, match.passage.number))
    return [(match.passage.path, match.passage.number) for match in ordered[:DEPTH]]


def by_vectors(matches: Sequence[VectorMatch]) -> list[Place]:
    """Return the places of the nearest passages; those that share nothing with the question are left out."""
    return [(match.document, match.passage) for match in matches if match.score > 0]


def fused(rankings: Sequence[Sequence[Place]]) -> list[Place]:
    """Return the places of the two rankings in one order, best first."""
    scores: defaultdict[Place, float] = defaultdict(float)
    for ranking, weight in zip(rankings, WEIGHTS, strict=True):
        for place, one in enumerate(ranking if weight else ()):
            scores[one] += weight / (FUSION + place)
    return sorted(scores, key=lambda one: (-scores[one], one))
