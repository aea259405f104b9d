"""Ranking of passages for a question: by words and by vectors, fused by reciprocal rank.

By words, the full-text index ranks passages, and the ranking of `local` the documents, which also finds what a highly
ranked passage names. docs/decisions/0085 has the figures for each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from leadline.records import VectorMatch
from leadline_plugins.knowledge.catalog import Place
from leadline_plugins.search.local.ranking import Match, rank
from leadline_plugins.search.local.store import IndexReader
from leadline_plugins.text import content_words, tokens

# Passages of each ranking that are fused.
DEPTH = 50
# The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009).
_FUSION = 60
# Weight of the title's BM25 relative to that of the text.
_TITLE_WEIGHT = 1.0
# The weights of the rankings: of passages by words, of documents by words, of passages by vectors.
WEIGHTS = (1.0, 1.0, 1.0)


def by_words(readers: Iterable[IndexReader], query: str) -> tuple[list[Place], list[Place]]:
    """Return the best passages of some collections by BM25, and the best passages of the best documents."""
    terms = sorted(set(content_words(query) or tokens(query)))
    passages: list[Match] = []
    documents: list[Match] = []
    for reader in readers:
        passages += reader.best(terms, _TITLE_WEIGHT, DEPTH) if terms else []
        documents += rank(reader, query, DEPTH)
    return _places(passages), _places(documents)


def _places(matches: Iterable[Match]) -> list[Place]:
    ordered = sorted(matches, key=lambda match: (-match.score, match.passage.path, match.passage.number))
    return [(match.passage.path, match.passage.number) for match in ordered[:DEPTH]]


def by_vectors(matches: Sequence[VectorMatch]) -> list[Place]:
    """Return the places of the nearest passages; those that share nothing with the question are left out."""
    return [(match.document, match.passage) for match in matches if match.score > 0]


def fused(rankings: Sequence[Sequence[Place]]) -> list[Place]:
    """Return the places of some rankings in one order, best first."""
    scores: defaultdict[Place, float] = defaultdict(float)
    for ranking, weight in zip(rankings, WEIGHTS, strict=True):
        for place, one in enumerate(dict.fromkeys(ranking) if weight else ()):
            scores[one] += weight / (_FUSION + place)
    return sorted(scores, key=lambda one: (-scores[one], one))
