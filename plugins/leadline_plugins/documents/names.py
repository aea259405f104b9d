"""The titles of documents as names, and the names that a text mentions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from leadline_plugins.text import tokens
from leadline_plugins.text.tokens import CJK

# Tokens of the longest title that is a name.
_LONGEST_NAME = 12
_QUALIFIER = re.compile(r"(?<=\S)\s*[(（][^()（）]*[)）]\s*$")
_CJK = re.compile(f"[{CJK}]")


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
