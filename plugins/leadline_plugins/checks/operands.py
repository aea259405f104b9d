"""Whether a figure follows from those that a reader is shown for it: a difference, a sum, a ratio, a share, the rest.

For the few words that are shown for a claim: in a whole page something would yield any number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from itertools import permutations

from leadline_plugins.checks.figure import Figure

_MOST = 6
"""Figures that are shown; of more some yield anything."""
_WHOLE = Decimal(100)


def follows(wanted: Figure, shown: Sequence[Figure]) -> bool:
    """Return whether a figure is what some others yield, rounded as it is said."""
    if wanted.month or wanted.ordinal or not 0 < len(shown) <= _MOST:
        return False
    values = [one.value for one in shown if not (one.month or one.ordinal or one.reference)]
    least = Decimal(1).scaleb(int(wanted.value.as_tuple().exponent))
    return any(
        value == wanted.value or value.quantize(least, ROUND_HALF_UP) == wanted.value
        for value in _yielded(values)
        if value.adjusted() <= wanted.value.adjusted() + 1
    )


def _yielded(values: Sequence[Decimal]) -> Iterator[Decimal]:
    if len(values) > 1:
        yield sum(values, Decimal(0))
    for value in values:
        if 0 < value < _WHOLE:
            yield _WHOLE - value
    for one, other in permutations(values, 2):
        yield one + other
        yield abs(one - other)
        if other:
            yield one / other
            yield _WHOLE * one / other
            yield _WHOLE * abs(one - other) / other
