"""Ranking of passages for a question: by words and by vectors, fused by reciprocal rank.

By words, the ranking of `documents` is used: passages with the words of the question, and documents that a highly
ranked passage names. docs/decisions/0025-knowledge-base.md has the figures for the weights.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from leadline.records import VectorMatch
from leadline_plugins.documents.ranking import rank
from leadline_plugins.documents.text_index import IndexReader

# Passages of each ranking that are fused.
DEPTH = 50
# The constant of reciprocal rank fusion: smaller than the usual 60, so that the first places count for more.
FUSION = 10

# A passage: the key of its document's version, and its number there.
Place = tuple[str, int]
Scores = dict[Place, float]


def by_words(readers: Iterable[IndexReader], query: str) -> list[Place]:
    """Return the best passages of some collections."""
    matches = [match for reader in readers for match in rank(reader, query, DEPTH)]
    matches.sort(key=lambda match: (-match.score, match.passage.key, match.passage.number))
    return [(match.passage.key, match.passage.number) for match in matches[:DEPTH]]


def by_vectors(matches: Sequence[VectorMatch]) -> list[Place]:
    """Return the places of the nearest passages; those that share nothing with the question are left out."""
    return [(match.document, match.passage) for match in matches if match.score > 0]


def fused(words: Sequence[Place], vectors: Sequence[Place], weight: float) -> Scores:
    """Return the scores of the two rankings together, best first; `weight` is that of the vectors beside 1."""
    scores: defaultdict[Place, float] = defaultdict(float)
    for ranking, share in ((words, 1.0), (vectors, weight)):
        for rank_, passage in enumerate(ranking):
            scores[passage] += share / (FUSION + rank_)
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))
