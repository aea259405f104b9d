"""The figures that a quote says: not the marks of its references, the numbers of its lists, nor its addresses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice

from leadline_plugins.checks.figure import Figure
from leadline_plugins.checks.figures import figures
from leadline_plugins.text import content_words
from leadline_plugins.text.tokens import fold

_NO_FIGURES = re.compile(
    r"[\[【]\^?\d{1,3}(?:[,;–-] ?\d{1,3})*[\]】]|https?://\S+"
    r"|^[^\w\n]*(?:\d{1,3}[.)、）]|[(（]\d{1,3}[)）])(?!\d)"
    r"|^[ \t>]*[-–—*+•‣▪●·][ \t]+",
    re.MULTILINE,
)
_WHEN = re.compile(r"\b(?:in|since|from|by|until|till|to|during|of|before|after|between|and|year|im|en|dans|em|nel)\s$")
_WORD_BEHIND = re.compile(r"\s?(?!年|년)[^\W\d_]")
_NEXT = re.compile(r"[\s-]*(?P<word>[\u3040-\u30ff\u4e00-\u9fff]{1,2}|[^\W\d_]+)")
UNCOUNTED = ("month", "year", "ordinal", "reference", "o'clock")
"""Kinds of figures that no chart compares."""
_REACH = 10
"""Characters before a figure in which a word may stand that makes it a year."""
_LEAST = 10
"""A bare number below it is mostly none of a series: `two of them`, `GPT 4`."""


@lru_cache(maxsize=512)
def quoted(text: str) -> tuple[Figure, ...]:
    """Return the figures of a quote, in order."""
    return figures(unmarked(text))


def unmarked(text: str) -> str:
    """Return a quote without what has digits and is no figure, nor the marks of lists: a dash is no minus there."""
    return _NO_FIGURES.sub(lambda mark: " " * len(mark.group()), text)


def is_a_year(figure: Figure, text: str) -> bool:
    """Return whether a figure of a quote is a year, and not a number that looks like one: 2000 people."""
    if not figure.dated:
        return False
    folded = fold(unmarked(text))
    behind = figure.at + len(figure.said)
    return bool(_WHEN.search(folded, max(0, figure.at - _REACH), figure.at)) or not _WORD_BEHIND.match(folded, behind)


def numeric(quotes: Iterable[str], most: int) -> list[str]:
    """Return the first quotes that say a number other than a year."""
    return list(islice((quote for quote in quotes if _has_number(quote)), most))


def comparable(quotes: Iterable[str], at_least: int) -> list[str]:
    """Return the quotes with figures of which there are so many of one kind: of a unit, or of the same thing."""
    kinds = {quote: list(_kinds(quote)) for quote in quotes}
    counts = Counter(kind for found in kinds.values() for kind in found)
    many = {kind for kind, count in counts.items() if count >= at_least}
    return [quote for quote, found in kinds.items() if not many.isdisjoint(found)]


def _has_number(quote: str) -> bool:
    return any(figure.kind not in UNCOUNTED for figure in quoted(quote))


def _kinds(quote: str) -> Iterator[str]:
    """Yield what each figure of a quote is of: its unit, or the word behind it; nothing where no series is likely."""
    folded = ""
    for figure in quoted(quote):
        if figure.kind in UNCOUNTED or not any(char.isdigit() for char in figure.said):
            continue
        if kind := figure.unit or figure.tail:
            yield kind
            continue
        folded = folded or fold(unmarked(quote))
        word = _NEXT.match(folded, figure.at + len(figure.said))
        named = content_words(word["word"]) if word else ()
        if named or figure.value >= _LEAST or figure.value % 1:
            yield named[0] if named else ""
