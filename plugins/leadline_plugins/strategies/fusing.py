"""Merging what several engines found: reciprocal rank fusion, one hit a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leadline.records import Hit, SearchPage
from leadline_plugins.canonical import canonical

K = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): how little the first ranks stand out."""
_FILLED = ("title", "snippet", "text", "content_url", "published", "images", "csl")
"""What one engine may know of a page and another not."""


def fuse(pages: Sequence[SearchPage], limit: int) -> SearchPage:
    """Merge pages by reciprocal rank over canonical addresses; of equals the better tier of source comes first."""
    scores: dict[str, float] = {}
    hits: dict[str, list[Hit]] = {}
    for page in pages:
        for rank, (name, same) in enumerate(_by_address(page).items(), start=1):
            scores[name] = scores.get(name, 0.0) + 1 / (K + rank)
            hits.setdefault(name, []).extend(same)
    merged = {name: _merged(same) for name, same in hits.items()}
    best = sorted(merged, key=lambda name: (-round(scores[name], 12), merged[name].tier))
    return SearchPage(hits=tuple(merged[name] for name in best[:limit]))


def _by_address(page: SearchPage) -> dict[str, list[Hit]]:
    """Return the hits of one engine by page: one that it gives twice counts once."""
    hits: dict[str, list[Hit]] = {}
    for hit in page.hits:
        hits.setdefault(canonical(hit.url), []).append(hit)
    return hits


def _merged(same: Sequence[Hit]) -> Hit:
    """Return the hit of the first engine whose word may be cited, filled up with what the others know."""
    first = next((hit for hit in same if hit.citable), same[0])
    if len(same) == 1:
        return first
    new: dict[str, Any] = {"labels": frozenset().union(*(hit.labels for hit in same))}
    for name in _FILLED:
        known = (getattr(hit, name) for hit in same if hit.citable or not first.citable)
        new[name] = getattr(first, name) or next(filter(None, known), getattr(first, name))
    return first.model_copy(update=new)
