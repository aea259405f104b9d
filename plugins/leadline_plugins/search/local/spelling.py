"""Suggestions for misspelt queries: words that no document has are replaced by the nearest word that one has.

Only words of scripts with spaces, from five letters: almost any shorter word is near another. The first letter is
taken as right, which limits the part of the vocabulary to look at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from leadline_plugins.documents.text_index import Match, full_text
from leadline_plugins.text import content_words
from leadline_plugins.text.tokens import CJK

_WORD = re.compile(rf"[^\W\d_{CJK}]+")
_SHORTEST = 5
# Letters from which a word may have two errors instead of one.
_LONG = 8
# Errors in the stem of a word, whose ending may be wrong as well.
_STEM_ERRORS = 2
# Stems whose words are compared, and passages in which they are looked up.
_STEMS, _PASSAGES = 30, 3


class Vocabulary(Protocol):
    """The parts of a full-text index that suggestions use."""

    def frequency(self, word: str) -> int: ...
    def words(self, prefix: str) -> list[tuple[str, int]]: ...
    def best(self, words: Sequence[str], limit: int) -> list[Match]: ...


def suggestion(index: Vocabulary, query: str) -> str:
    """Return a query with its unknown words replaced by the nearest known ones; empty if there are none."""
    found: dict[str, str] = {}
    for word in dict.fromkeys(_WORD.findall(query)):
        stems = content_words(word)
        if len(word) >= _SHORTEST and len(stems) == 1 and not index.frequency(stems[0]):
            found[word] = _nearest(index, word.casefold(), stems[0])
    if not any(found.values()):
        return ""
    return _WORD.sub(lambda match: found.get(match[0]) or match[0], query)


def _nearest(index: Vocabulary, word: str, stem: str) -> str:
    """Return the word of the documents that is nearest to an unknown one, of equally near ones the most frequent."""
    letters = set(stem)
    near = sorted(
        (distance(stem, term), -count, term)
        for term, count in index.words(stem[0])
        if abs(len(term) - len(stem)) <= _STEM_ERRORS and len(letters.symmetric_difference(term)) <= 2 * _STEM_ERRORS
    )
    most = 2 if len(word) >= _LONG else 1
    found = (
        (errors, rareness, known)
        for stem_errors, rareness, term in near[:_STEMS]
        if stem_errors <= _STEM_ERRORS
        for known in _words(index, term)
        if (errors := distance(word, known)) <= most
    )
    return min(found, default=(0, 0, ""))[2]


def _words(index: Vocabulary, term: str) -> Iterator[str]:
    """Yield the words with a stem, from a few passages that have it."""
    texts = (full_text(match.passage.title, match.passage.evidence) for match in index.best([term], _PASSAGES))
    for word in {word.casefold() for text in texts for word in _WORD.findall(text)}:
        if content_words(word) == [term]:
            yield word


def distance(one: str, other: str) -> int:
    """Return the number of letters to insert, delete, replace or swap with the next one."""
    before, last = [0] * (len(other) + 1), list(range(len(other) + 1))
    for row, letter in enumerate(one, start=1):
        line = [row]
        for column, against in enumerate(other, start=1):
            line.append(min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != against)))
            if row > 1 and column > 1 and (letter, one[row - 2]) == (other[column - 2], against):
                line[-1] = min(line[-1], before[column - 2] + 1)
        before, last = last, line
    return last[-1]
