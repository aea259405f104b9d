"""The figures of a text: numbers with their units, years and months, however they are written."""

from __future__ import annotations

from functools import lru_cache

from leadline_plugins.checks.dates import dates, spans
from leadline_plugins.checks.figure import Figure
from leadline_plugins.checks.han import han_numbers, shares
from leadline_plugins.checks.marks import marked
from leadline_plugins.checks.numbers import numbers
from leadline_plugins.text.tokens import fold


@lru_cache(maxsize=1024)
def figures(text: str) -> tuple[Figure, ...]:
    """Return the figures of a text, in order; vague words of number are left out."""
    folded = fold(marked(text))
    whole = [*dates(folded), *shares(folded)]
    within = {place for one in whole for place in range(one.at, one.at + len(one.said))}
    parts = [*numbers(folded), *spans(folded), *han_numbers(folded)]
    free = [figure for figure in parts if figure.kind == "year" or figure.at not in within]
    return (*free, *whole)
