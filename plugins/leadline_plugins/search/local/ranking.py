"""Which documents answer a query best.

BM25 over passages and titles finds what says the words of the query. Many a question is answered one step further on,
in a document that the first one names ("the band's singer"): a document whose title is mentioned in a passage that
ranks high inherits a share of its score, as a page does by a link.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from leadline_plugins.search.local.names import name
from leadline_plugins.search.local.store import Match, Reader
from leadline_plugins.text import content_words, tokens

_TITLE = 1.0
"""Weight of the title's BM25 beside the text's."""
_PASSAGES = 50
"""Passages that are looked at, at least."""
_MENTIONING = 5
"""Documents whose mentions count."""
_INHERITED = 0.7
"""Share of the mentioning passage's score that the mentioned document inherits, at most."""


def rank(reader: Reader, query: str, limit: int) -> list[Match]:
    """Return the best passage of each of the best documents, best first."""
    terms = content_words(query) or tokens(query)
    if not terms:
        return []
    best = _by_file(reader.best(sorted(set(terms)), _TITLE, max(_PASSAGES, 3 * limit)))
    for heir in _heirs(reader, _sorted(best.values())[:_MENTIONING]):
        own = best.get(heir.passage.path)
        best[heir.passage.path] = Match(own.passage, own.score + heir.score) if own else heir
    return _sorted(best.values())[:limit]


def _by_file(matches: Iterable[Match]) -> dict[str, Match]:
    """Return the best match of each file."""
    return {match.passage.path: match for match in reversed(_sorted(matches))}


def _sorted(matches: Iterable[Match]) -> list[Match]:
    return sorted(matches, key=lambda match: (-match.score, match.passage.path, match.passage.number))


def _heirs(reader: Reader, mentioning: Iterable[Match]) -> list[Match]:
    """Return the documents that are mentioned, each with the most it inherits from one passage."""
    shares: dict[str, float] = {}
    for match in mentioning:
        own = name(match.passage.title)
        for mentioned in set(reader.names.mentioned(match.passage.text)) - {own}:
            shares[mentioned] = max(shares.get(mentioned, 0.0), _INHERITED * match.score)
    return [
        Match(passage, shares[called] * _rareness(reader, called))
        for passage in reader.named(sorted(shares))
        if (called := name(passage.title)) in shares
    ]


def _rareness(reader: Reader, name: str) -> float:
    """Return how much it says that a text has this name, from 0 to 1: little where all its words are common."""
    size = reader.size()
    rarest = min(reader.frequency(part) for part in name.split(" "))
    return math.log(1 + (size - rarest + 0.5) / (rarest + 0.5)) / math.log(2 * size + 2)
