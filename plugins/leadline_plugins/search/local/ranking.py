"""Ranking of documents for a query.

BM25 over passages and titles finds the documents that use the words of the query. Many questions are answered one step
further, in a document that the first one names ("the band's singer"). So a document whose title is mentioned in a
highly ranked passage inherits a share of that passage's score, as pages do through links.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from leadline_plugins.text import content_words, tokens
from leadline_plugins.text.tokens import CJK

# Weight of the title's BM25 relative to that of the text.
_TITLE_WEIGHT = 1.0
# Passages that are ranked, at least.
_PASSAGES = 50
# Documents whose mentions count.
_MENTIONING = 5
# Largest share of a passage's score that a document mentioned in it inherits.
_INHERITED = 0.7
# Tokens of the longest title that is a name.
_LONGEST_NAME = 12
_QUALIFIER = re.compile(r"(?<=\S)\s*[(（][^()（）]*[)）]\s*$")
_CJK = re.compile(f"[{CJK}]")


@dataclass(frozen=True)
class Passage:
    """A part of a document's text; `path` is the path of its file."""

    path: str
    title: str
    number: int
    text: str


@dataclass(frozen=True)
class Match:
    """A passage with its score."""

    passage: Passage
    score: float


class Index(Protocol):
    """The parts of a full-text index that ranking uses."""

    names: Names

    def size(self) -> int: ...
    def frequency(self, term: str) -> int: ...
    def best(self, terms: Sequence[str], title_weight: float, limit: int) -> list[Match]: ...
    def named(self, names: Sequence[str]) -> list[Passage]: ...


def rank(index: Index, query: str, limit: int, *, further: float = 0.0) -> list[Match]:
    """Return the best passage of each of the best documents, best first.

    With `further`, other passages of these documents compete as well; each after the best one of its document counts
    for this share of the one before it, as far as their scores are equal.
    """
    terms = content_words(query) or tokens(query)
    if not terms:
        return []
    matches = _sorted(index.best(sorted(set(terms)), _TITLE_WEIGHT, max(_PASSAGES, 3 * limit)))
    best = {match.passage.path: match for match in reversed(matches)}
    ranked = _sorted(best.values())
    shares = _inherited(index, ranked[:_MENTIONING])
    # A mentioned document that no query term found needs a share above the last score that is returned.
    enough = ranked[limit - 1].score if len(ranked) >= limit else 0.0
    found, seen = [], Counter[str]()
    for match in matches if further else ranked:
        path = match.passage.path
        score = match.score + shares.get(name(match.passage.title), 0.0)
        found.append(Match(match.passage, score * further ** seen[path]))
        seen[path] += 1
    for passage in index.named(sorted(mentioned for mentioned, share in shares.items() if share >= enough)):
        if passage.path not in best:
            found.append(Match(passage, shares[name(passage.title)]))
    return _sorted(found)[:limit]


def _sorted(matches: Iterable[Match]) -> list[Match]:
    return sorted(matches, key=lambda match: (-match.score, match.passage.path, match.passage.number))


def _inherited(index: Index, mentioning: Iterable[Match]) -> dict[str, float]:
    """Return the names that the passages mention, each with the largest score that it inherits from one passage."""
    shares: dict[str, float] = {}
    for match in mentioning:
        own = name(match.passage.title)
        for mentioned in set(index.names.mentioned(match.passage.text)) - {own}:
            shares[mentioned] = max(shares.get(mentioned, 0.0), _INHERITED * match.score)
    size = index.size()
    return {mentioned: share * _rareness(index, size, mentioned) for mentioned, share in shares.items()}


def _rareness(index: Index, size: int, name: str) -> float:
    """Return the weight of a mention from 0 to 1; it is small if all words of the name are common."""
    rarest = min(index.frequency(token) for token in name.split(" "))
    return math.log(1 + (size - rarest + 0.5) / (rarest + 0.5)) / math.log(2 * size + 2)


# --- titles as names -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def name(title: str) -> str:
    """Return a title as one term of the index; empty if it is too long for a name.

    Brackets at its end separate namesakes and are not part of a mention: `Kansas (band)`.
    """
    words = _words(_QUALIFIER.sub("", title))
    return " ".join(words) if len(words) <= _LONGEST_NAME else ""


def _words(text: str) -> list[str]:
    """Return the tokens of a text in order, without the pairs of CJK characters."""
    return [token for token in tokens(text) if len(token) != 2 or token.isascii() or not _CJK.match(token)]


class Names:
    """The names of all documents, in memory, so that the mentions in a text are found without searches."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names) - {""}
        # The lengths of the names, in tokens, by their first two tokens.
        self._lengths: dict[tuple[str, str], set[int]] = {}
        for words in map(str.split, self._names):
            start = (words[0], words[1] if len(words) > 1 else "")
            self._lengths.setdefault(start, set()).add(len(words))

    def mentioned(self, text: str) -> Iterator[str]:
        """Yield the names in a text, as often as they occur."""
        words = _words(text)
        for start, pair in enumerate(zip(words, [*words[1:], ""], strict=True)):
            if pair[0] in self._names:
                yield pair[0]
            for length in self._lengths.get(pair, ()) if pair[1] else ():
                candidate = " ".join(words[start : start + length])
                if candidate in self._names:
                    yield candidate
