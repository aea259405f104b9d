"""Ranking of passages for a question: by words and by vectors, fused by reciprocal rank.

By words, the ranking of `local` is used: passages with the words of the question, and documents that a highly ranked
passage names. docs/decisions/0085 has the figures for the weights.
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
# The share that each further passage of a document counts for, so that one document does not fill all places.
FURTHER = 0.8


def by_words(readers: Iterable[IndexReader], query: str) -> list[Place]:
    """Return the best passages of some collections."""
    found: list[Match] = []
    for reader in readers:
        found += rank(reader, query, DEPTH, further=FURTHER)
    ordered = sorted(found, key=lambda match: (-match.score, match.passage.path, match.passage.number))
    return [(match.passage.path, match.passage.number) for match in ordered[:DEPTH]]


def by_vectors(matches: Sequence[VectorMatch]) -> list[Place]:
    """Return the places of the nearest passages; those that share nothing with the question are left out."""
    return [(match.document, match.passage) for match in matches if match.score > 0]


def fused(words: Sequence[Place], vectors: Sequence[Place], weight: float) -> list[Place]:
    """Return the places of the two rankings in one order, best first; `weight` is that of the vectors beside 1."""
    scores: defaultdict[Place, float] = defaultdict(float)
    for ranking, share in ((words, 1.0), (vectors, weight)):
        for place, one in enumerate(ranking):
            scores[one] += share / (FUSION + place)
    return sorted(scores, key=lambda one: (-scores[one], one))
