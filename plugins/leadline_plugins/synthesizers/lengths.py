"""How long a text may be that rests on some passages: longer than they bear, it pads or makes things up."""

from __future__ import annotations

from collections.abc import Iterable

from leadline_plugins.text import is_cjk, length
from leadline_plugins.text.tokens import has_cjk

_TIMES = 1.5
"""How many times the words of its passages a text may have: it compares and connects them, and names what they do."""
_CHARACTERS = 2
"""Characters of Chinese or Japanese that say as much as a word."""


def bearable(quotes: Iterable[str], language: str) -> int:
    """Return how long a text in this language may be that rests on these quotes, in words (CJK: characters)."""
    return round(_TIMES * held(quotes, language))


def held(quotes: Iterable[str], language: str) -> float:
    """Return how long quotes are, said in this language, in words (CJK: characters)."""
    return sum(_said(quote, cjk=is_cjk(language)) for quote in quotes)


def _said(quote: str, *, cjk: bool) -> float:
    """Return how long what a quote says is, said in CJK or in another script."""
    own = has_cjk(quote)
    size = length(quote, "zh" if own else "")
    if own == cjk:
        return size
    return size * _CHARACTERS if cjk else size / _CHARACTERS
