"""A figure of a text, and when two figures are the same.

Compared exactly: a claim's figure must stand in the passage, save that a passage's decimals may be rounded, and that a
decade holds its years. A spelling that can be read in two ways (`1.234`) is the same as what either reading is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal


@dataclass(frozen=True)
class Figure:
    """A value with its unit (empty where none is known); `said` is how it was written, `decade` that it is one."""

    value: Decimal
    unit: str
    said: str
    decade: bool = False
    month: bool = False
    """A month, with the day of it as decimals where one is said: 4.09 is April 9."""
    year: int = 0
    """Of a month, where it is said with it."""
    others: tuple[Decimal, ...] = ()
    """What its spelling may mean as well: `1.234` is 1234 in many languages, `03/04` is a day of two months."""
    parts: tuple[Decimal, ...] = ()
    """What it is if it is several numbers side by side: `120 345 567` may be a row of a table, `4,5` two groups."""
    dated: bool = False
    """Whether it may be a year: four digits and nothing else."""
    certain: bool = field(default=True, compare=False)
    """Whether it is read beyond doubt, so that what differs from it is a contradiction without asking a model."""
    at: int = field(default=0, compare=False)
    """Where it begins, in characters of the folded text."""

    @property
    def kind(self) -> str:
        """What it is a figure of: `month`, `year`, a unit; empty for a bare number. A swap is of its kind."""
        if self.month:
            return "month"
        return self.unit or ("year" if self.dated else "")

    @property
    def readings(self) -> tuple[Decimal, ...]:
        """All that it may mean, the likeliest first."""
        return (self.value, *self.others)


def is_year(value: Decimal | int) -> bool:
    """Return whether a number is one that years of our time have."""
    return value == int(value) and 1500 <= value < 2100


def missing(claim: Iterable[Figure], passage: Iterable[Figure]) -> list[Figure]:
    """Return the figures of a claim that the passage does not hold."""
    held = list(passage)
    return [
        figure for figure in claim if not any(same(figure, other) for other in held) and not _in_parts(figure, held)
    ]


def _in_parts(claimed: Figure, held: list[Figure]) -> bool:
    """Return whether a figure that may be several numbers is held as those."""
    return bool(claimed.parts) and all(any(part in other.readings for other in held) for part in claimed.parts)


def same(claimed: Figure, found: Figure) -> bool:
    """Return whether a passage's figure bears a claimed one."""
    if claimed.month or found.month:
        return claimed.month == found.month and _same_day(claimed, found)
    if claimed.unit and found.unit and claimed.unit != found.unit:
        return False
    if claimed.decade:
        return claimed.value <= found.value < claimed.value + 10
    return _agree(claimed, found) or _rounds(claimed.value, found.value) or _is_part(claimed, found)


def differ(claimed: Figure, found: Figure) -> bool:
    """Return whether two figures differ beyond doubt: read with certainty, and the same in no reading of either."""
    if not (claimed.certain and found.certain) or found.decade:
        return False
    return not same(claimed, found) and not any(_rounds(a, b) for a in claimed.readings for b in found.readings)


def _agree(claimed: Figure, found: Figure) -> bool:
    """Return whether two figures have a reading in common; where both are spelled alike, they are read alike."""
    if claimed.others and found.others and _marks(claimed) == _marks(found):
        return any(one == other for one, other in zip(claimed.readings, found.readings, strict=False))
    return not set(claimed.readings).isdisjoint(found.readings)


def _is_part(claimed: Figure, found: Figure) -> bool:
    """Return whether a claimed number is one of several; of two that may be several none proves the other."""
    return not claimed.parts and any(reading in found.parts for reading in claimed.readings)


def _marks(figure: Figure) -> set[str]:
    return {mark for mark in ".,/" if mark in figure.said}


def _same_day(claimed: Figure, found: Figure) -> bool:
    if claimed.year and found.year and claimed.year != found.year:
        return False
    if claimed.value % 1:
        return _agree(claimed, found)
    return claimed.value in [int(reading) for reading in found.readings]


def _rounds(claimed: Decimal, found: Decimal) -> bool:
    """Return whether the claimed value is the found one with fewer decimals."""
    places = max(0, -int(claimed.as_tuple().exponent))
    return -int(found.as_tuple().exponent) > places and round(found, places) == claimed
