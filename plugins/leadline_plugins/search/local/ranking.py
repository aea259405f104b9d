"""Which documents answer a query best.

BM25 over passages and titles finds what says the words of the query. Many a question is answered one step further on, in
a document that the first one names ("the band's singer"): a document whose title is mentioned in a passage that ranks
high inherits a share of its score, as a page does by a link.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from leadline_plugins.search.local.store import LONGEST_NAME, Match, Reader, name, name_parts
from leadline_plugins.text import content_words, tokens

_TITLE = 1.0
"""Weight of the title's BM25 beside the text's."""
_PASSAGES = 100
"""Passages that are looked at, at least."""
_MENTIONING = 5
"""Documents whose mentions count."""
_INHERITED = 0.7
"""Share of the mentioning passage's score that the mentioned document inherits, at most."""
_MENTIONED = 100
"""Documents that may inherit from one passage."""


def rank(reader: Reader, query: str, limit: int) -> list[Match]:
    """Return the best passage of each of the best documents, best first."""
    terms = dict.fromkeys(content_words(query) or tokens(query), 1.0)
    if not terms:
        return []
    best = _by_file(reader.best(terms, _TITLE, max(_PASSAGES, 5 * limit)))
    inherited = _inherited(reader, _sorted(best.values())[:_MENTIONING])
    for path, heir in inherited.items():
        own = best.get(path)
        best[path] = Match(own.passage, own.score + heir.score) if own else heir
    return _sorted(best.values())[:limit]


def _by_file(matches: Iterable[Match]) -> dict[str, Match]:
    """Return the best match of each file."""
    best: dict[str, Match] = {}
    for match in matches:
        path = match.passage.path
        if path not in best or match.score > best[path].score:
            best[path] = match
    return best


def _sorted(matches: Iterable[Match]) -> list[Match]:
    return sorted(matches, key=lambda match: (-match.score, match.passage.path))


def _inherited(reader: Reader, mentioning: Sequence[Match]) -> dict[str, Match]:
    """Return the documents mentioned, with the most that they inherit from one passage."""
    return _by_file(
        Match(named.passage, match.score * _INHERITED * _rareness(reader, named.passage.title))
        for match in mentioning
        for named in reader.named(_names(match.passage.text), _MENTIONED)
        if named.passage.path != match.passage.path
    )


def _names(text: str) -> list[str]:
    """Return every stretch of the text that could be the name of a document."""
    parts = name_parts(text)
    sizes = range(1, LONGEST_NAME + 1)
    return list({" ".join(parts[i : i + size]) for size in sizes for i in range(len(parts) - size + 1)})


def _rareness(reader: Reader, title: str) -> float:
    """Return how much it says to mention this title, from 0 to 1: little where all its words are common."""
    size = reader.size()
    rarest = min(reader.frequency(part) for part in name(title).split(" "))
    return math.log(1 + (size - rarest + 0.5) / (rarest + 0.5)) / math.log(2 * size + 2)
