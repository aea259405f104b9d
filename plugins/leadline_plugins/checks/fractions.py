"""Shares in words, as percentages: four fifths, three-quarters, a third of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from leadline_plugins.checks.figure import Figure, share
from leadline_plugins.checks.vocabulary import ONES, ORDINALS, either

_BELOW = {**{word: value for value, word in enumerate(ORDINALS, start=1) if value > 2}, "quarter": 4, "twentieth": 20}
_ANY = re.compile("|".join(_BELOW))
_FRACTION = re.compile(rf"\b(?P<above>{either(ONES[1:10])})[\s-](?P<below>{either(_BELOW)})(?P<several>s?)\b")
_ONE = re.compile(
    rf"\ban?\s(?P<below>{either(_BELOW)})\b(?=\s+(?:of|more|less|fewer|higher|lower|as)\b|\s*(?:[.,;:!?)]|$))"
)
"""`a third of`, `by a third.`: a third ship is no share."""


def fractions(text: str) -> Iterator[Figure]:
    """Yield the fractions of a folded text that are written in words; what is said so is rounded, and never certain."""
    if not _ANY.search(text):
        return
    for match in _FRACTION.finditer(text):
        above, below = ONES.index(match["above"]), _BELOW[match["below"]]
        if above < below and bool(match["several"]) == (above > 1):
            yield _share(match, above, below)
    for match in _ONE.finditer(text):
        yield _share(match, 1, _BELOW[match["below"]])


def _share(match: re.Match[str], above: int, below: int) -> Figure:
    return share(match.group(), match.start(), Decimal(100 * above) / below, certain=False)
