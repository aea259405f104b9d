"""Merging what several engines found: reciprocal rank fusion, one hit an address."""

from __future__ import annotations

from collections.abc import Sequence

from leadline.records import Hit, SearchPage

K = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): how little the first ranks stand out."""


def fuse(pages: Sequence[SearchPage], limit: int) -> SearchPage:
    """Merge pages by reciprocal rank; the first engine that had an address gives its hit."""
    scores: dict[str, float] = {}
    hits: dict[str, Hit] = {}
    for page in pages:
        for rank, hit in enumerate(page.hits, start=1):
            scores[hit.url] = scores.get(hit.url, 0.0) + 1 / (K + rank)
            hits.setdefault(hit.url, hit)
    best = sorted(hits, key=lambda url: -scores[url])
    return SearchPage(hits=tuple(hits[url] for url in best[:limit]))
