"""A figure of a text, and when two figures are the same.

Compared exactly: a claim's figure must stand in the passage, save that it may be rounded (`rounding`), that a bound
holds what it bounds, and a decade its years. A spelling that can be read in two ways (`1.234`) is the same as what
either reading is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from leadline_plugins.checks.rounding import decimals_left_out, rounded, same_digits, within

Bound = Literal["", "about", "least", "most", "near", "floor", "ceiling"]
"""What the words around a figure say of it: `about 20`, `more than 20`, `less than 20`, `nearly 20`; a floor or
ceiling, as in `at least 20` and `at most 20`, is itself what is said."""
TO_DATE = "months to date"
"""The unit of a year's months told together from the first on: 1-8月, 前8月."""
_ALIKE = ({TO_DATE, "months"}, {"¥", "yuan"}, {"¥", "yen"})
"""Units of which one may be the other: the sign is that of two moneys."""
_LARGE = 1000
"""From here on numbers are rounded without a word that says so: 12,000 for 11,982, but not 120 for 119."""
_ROUNDISH = 100
"""From here on a number of one digit may be a rounded one."""


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
    ordinal: bool = False
    """Whether it counts a place: `26th`, 第26."""
    reference: bool = False
    """Whether it stands in brackets, as the mark of a reference does: it may bear a bare number, and is none else."""
    lent: bool = False
    """Whether it is said without a number (上半年): it may bear one, and is never missing."""
    bound: Bound = ""
    tail: str = field(default="", compare=False)
    """A unit behind it that is not read, so that it can be compared in name only: `dB/m`."""
    certain: bool = field(default=True, compare=False)
    """Whether it is read beyond doubt, so that what differs from it is a contradiction without asking a model."""
    at: int = field(default=0, compare=False)
    """Where it begins, in characters of the folded text."""

    @property
    def kind(self) -> str:
        """What it is a figure of: `month`, `year`, `ordinal`, a unit; empty for a number. A swap is of its kind."""
        if self.reference:
            return "reference"
        if self.month:
            return "month"
        if self.ordinal:
            return "ordinal"
        return self.unit or ("year" if self.dated else "")

    @property
    def side(self) -> Literal["", "least", "most"]:
        """On which side of its value it leaves all others."""
        if self.bound in ("least", "floor"):
            return "least"
        return "most" if self.bound in ("most", "near", "ceiling") else ""

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
        figure
        for figure in claim
        if not figure.lent and not any(same(figure, other) for other in held) and not _in_parts(figure, held)
    ]


def _in_parts(claimed: Figure, held: list[Figure]) -> bool:
    """Return whether a figure that may be several numbers is held as those."""
    return bool(claimed.parts) and all(any(part in other.readings for other in held) for part in claimed.parts)


def same(claimed: Figure, found: Figure) -> bool:
    """Return whether a passage's figure bears a claimed one."""
    if claimed.month or found.month:
        told = claimed.month and found.unit == TO_DATE  # 1-8月 is told at the end of the 8月
        return (told or claimed.month == found.month) and _same_day(claimed, found)
    if claimed.unit and (found.reference or not _of_a_unit(claimed, found)):
        return False
    if claimed.decade:
        return claimed.value <= found.value < claimed.value + 10
    if found.decade and claimed.dated:
        return False
    if _excluded(claimed, found):
        return False
    if _agree(claimed, found) or _is_part(claimed, found):
        return True
    if claimed.ordinal or found.ordinal or found.reference:
        return False
    return decimals_left_out(claimed.value, found.value) or _nearly(claimed, found)


def _excluded(claimed: Figure, found: Figure) -> bool:
    """Return whether two figures bound one value from two sides: what is at least 25 is not fewer than 25."""
    sides = {claimed.side, found.side}
    return sides == {"least", "most"} and claimed.value == found.value


def _of_a_unit(claimed: Figure, found: Figure) -> bool:
    units = {claimed.unit, found.unit}
    return not found.unit or len(units) == 1 or units in _ALIKE


def _nearly(claimed: Figure, found: Figure) -> bool:
    """Return whether a claimed figure is a passage's figure, rounded or bounded."""
    if claimed.bound not in ("", "floor", "ceiling"):
        return any(within(claimed.value, reading, claimed.bound) for reading in found.readings)
    if claimed.dated or found.dated or abs(claimed.value) < _LARGE:
        return False
    return any(rounded(claimed.value, reading, digits=2) for reading in found.readings)


def differ(claimed: Figure, found: Figure) -> bool:
    """Return whether two figures differ beyond doubt: read with certainty, and the same in no reading of either."""
    if not (claimed.certain and found.certain) or found.decade or claimed.tail != found.tail:
        return False
    return not same(claimed, found) and not any(
        _doubtful(claimed, one, other) for one in claimed.readings for other in found.readings
    )


def _doubtful(claimed: Figure, one: Decimal, other: Decimal) -> bool:
    """Return whether readings that are not the same may yet say the same: by other scales, or rounded."""
    if decimals_left_out(one, other):
        return True
    if claimed.month or claimed.dated or claimed.ordinal:
        return False
    roundish = abs(one) >= _ROUNDISH and rounded(one, other, digits=1)
    return roundish or rounded(other, one, digits=2) or same_digits(one, other)


def share(said: str, at: int, percent: Decimal, *, certain: bool = True) -> Figure:
    """Return a share said in words, as a percentage; of one without end, as a third is, any rounding says the same."""
    roundings = tuple(dict.fromkeys(round(percent, places) for places in (0, 1, 2)))
    others = tuple(value for value in roundings if value != percent)
    return Figure(percent.normalize() + 0, "%", said, others=others, certain=certain, at=at)


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
