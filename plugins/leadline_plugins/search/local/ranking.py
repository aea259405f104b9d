"""Which documents answer a query best."""

from __future__ import annotations

from leadline_plugins.search.local.store import Match, Reader
from leadline_plugins.text import content_words, tokens

_TITLE = 1.0
"""Weight of the title's BM25 beside the text's."""
_PASSAGES = 100
"""Passages that are looked at."""


def rank(reader: Reader, query: str, limit: int) -> list[Match]:
    """Return the best passage of each of the best documents, best first."""
    terms = dict.fromkeys(content_words(query) or tokens(query), 1.0)
    if not terms:
        return []
    best: dict[str, Match] = {}
    for match in reader.best(terms, _TITLE, max(_PASSAGES, 5 * limit)):
        best.setdefault(match.passage.path, match)
    return list(best.values())[:limit]
