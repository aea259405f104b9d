"""Negation: whether claim and passage say yes and no of the same thing."""

from __future__ import annotations

from leadline_plugins.checks.negators import scopes
from leadline_plugins.text import content_set

BARE = "not"
"""What stands for the word that is denied where the passage has none of it."""


def contrary(claim: str, passage: str) -> str:
    """Return a word that is denied in one and said in the other; empty where there is none.

    A negation counts against the other text only where that speaks of what is negated and does not negate it itself;
    where that negates nothing at all, any negation in the claim counts, but for a mild one.
    """
    mine, theirs = list(scopes(claim)), list(scopes(passage))
    said, found = content_set(claim), content_set(passage)
    for scope, mild in mine:
        spoken = scope & found or not (mild or any(other.words & said for other in theirs))
        if spoken and not any(scope & other.words for other in theirs):
            return min(scope & found, default=BARE)
    for scope, _ in theirs:
        if len(scope & said) * 2 > len(scope) and not any(scope & own.words for own in mine):
            return min(scope & said)
    return ""
