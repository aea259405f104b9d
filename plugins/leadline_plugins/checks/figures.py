"""The figures of a text: numbers with their units, years and months, however they are written."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from leadline_plugins.checks.dates import dates, spans
from leadline_plugins.checks.figure import Figure
from leadline_plugins.checks.fractions import fractions
from leadline_plugins.checks.han import han_numbers, shares
from leadline_plugins.checks.marks import marked, references
from leadline_plugins.checks.numbers import numbers
from leadline_plugins.checks.surroundings import situated
from leadline_plugins.text.tokens import fold


@lru_cache(maxsize=1024)
def figures(text: str) -> tuple[Figure, ...]:
    """Return the figures of a text, in order; vague words of number are left out."""
    folded = fold(marked(text))
    whole = [*dates(folded), *shares(folded), *fractions(folded)]
    within = {place for one in whole for place in range(one.at, one.at + len(one.said))}
    parts = [*numbers(folded), *spans(folded), *han_numbers(folded)]
    free = [figure for figure in parts if figure.kind == "year" or figure.at not in within]
    found = tuple(situated(figure, folded) for figure in (*free, *whole))
    marks = {place for span in references(folded) for place in range(*span)}
    return tuple(replace(one, reference=True) if one.at in marks else one for one in found) if marks else found
