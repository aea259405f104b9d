"""Titles as names: how a document is mentioned in another.

The index keeps each title as one term; the names known to a reader are held in memory, so that the mentions in a text
are found without asking the index for each of its stretches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from leadline_plugins.text import tokens
from leadline_plugins.text.tokens import CJK

_LONGEST = 12
"""Tokens of a title up to which it is taken for a name."""
_QUALIFIER = re.compile(r"(?<=\S)\s*[(（][^()（）]*[)）]\s*$")
_CJK = re.compile(f"[{CJK}]")


def name(title: str) -> str:
    """Return a title as one term; empty where it is too long to be a name.

    What stands in brackets at its end tells namesakes apart and is not said in a mention: `Kansas (band)`.
    """
    parts = _parts(_QUALIFIER.sub("", title))
    return " ".join(parts) if len(parts) <= _LONGEST else ""


def _parts(text: str) -> list[str]:
    """Return the tokens of a text in their order: of CJK the characters alone, without the pairs among them."""
    return [token for token in tokens(text) if len(token) != 2 or not _CJK.match(token)]


class Names:
    """The names that may be mentioned."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names) - {""}
        self._sizes: dict[str, set[int]] = {}
        """By first token: how many tokens its names have."""
        for known in self._names:
            parts = known.split(" ")
            self._sizes.setdefault(parts[0], set()).add(len(parts))

    def mentioned(self, text: str) -> Iterator[str]:
        """Yield the names that stand in a text, as often as they do."""
        parts = _parts(text)
        for start, first in enumerate(parts):
            for size in self._sizes.get(first, ()):
                candidate = " ".join(parts[start : start + size])
                if candidate in self._names:
                    yield candidate
