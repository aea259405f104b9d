"""Compare numbers by value in any notation: `20,000,000`, `20 million`, `2000万`, `twenty million`.

    values_of("Twenty million people").holds(number)  # True for 20,000,000

Units only convert values (`90 minutes` is `1.5 hours`); another unit is no reason to refuse a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import combinations

from leadline_plugins.verification.number_parsing import ROUNDED_FROM, Number, find_numbers

# Maximum relative difference between a rounded number and its original.
_NEAR = Decimal("0.05")
# Maximum values of a quote for computing others: the number of pairs grows quadratically.
_MOST_COMPUTED = 60
# From here on a sum of two values of whole passages is no chance: below, two of many numbers often make a third.
_LEAST_ADDED = 100


class Values:
    """The values of a text (a source or a quote), for finding a number of another text among them."""

    def __init__(self, numbers: Iterable[Number]) -> None:
        self.numbers = tuple(numbers)
        self._plain = plain = [number for number in self.numbers if number.kind in ("number", "percent", "decade")]
        self._values = {value.normalize() for number in plain for value in number.readings}
        self._percent = {value.normalize() / 100 for n in plain if n.kind == "percent" for value in n.readings}
        self._rough = sorted({value for number in plain if not number.is_year for value in number.readings})
        self._special = {(number.kind, value) for number in self.numbers for value in number.readings}
        self._versions = {number.text.lower() for number in self.numbers if number.kind == "version"}
        self._figures = set(self._values)
        clocks = (minutes for number in self.numbers if number.kind == "clock" for minutes in number.readings)
        self._values |= {figure for minutes in clocks for figure in _clock_figures(minutes)}
        self.shares = {number.share for number in self.numbers if number.share is not None}
        self._based = {(number.base[0], number.base[1].normalize()) for number in self.numbers if number.base[0]}

    def holds(self, number: Number) -> bool:
        """Return whether one of the values equals a number in any notation, or rounds to it."""
        match number.kind:
            case "version":
                return number.text.lower() in self._versions
            case "month":
                return any(("month", value) in self._special for value in number.readings)
            case "clock":
                figures = {figure for minutes in number.readings for figure in _clock_figures(minutes)}
                clock = {("clock", value) for value in number.readings}
                return bool(clock & self._special or figures & self._figures)
            case "decade":
                return any(number.value <= value < number.value + 10 for value in self._values)
            case _:
                return any(self._has(value) for value in number.readings) or self._converted(number)

    def _has(self, value: Decimal) -> bool:
        return value.normalize() in self._values or value.normalize() in self._percent

    def _converted(self, number: Number) -> bool:
        if number.kind == "percent" and (number.value / 100).normalize() in self._values:
            return True
        unit, value = number.base
        if unit and any(name == unit and _is_near(value, other, Decimal("0.02")) for name, other in self._based):
            return True
        return not number.is_year and any(self._rounds(reading) for reading in number.readings)

    def _rounds(self, value: Decimal) -> bool:
        """Return whether one of the values rounds to a value."""
        step = _last_place(value)
        return any(
            (other >= ROUNDED_FROM or other % 1) and abs(other - value) * 2 <= step and _is_near(value, other, _NEAR)
            for other in self._rough
        )

    def adds(self, number: Number) -> bool:
        """Return whether a number from 100 on is exactly the sum or difference of two values of its unit."""
        if number.kind != "number" or number.is_year or number.value < _LEAST_ADDED:
            return False
        same = [other for other in self.numbers if other.certain and other.dimension == number.dimension]
        pairs = combinations(dict.fromkeys(other.value for other in same[:_MOST_COMPUTED]), 2)
        return any(number.value in (value + other, abs(value - other)) for value, other in pairs)

    def computes(self, number: Number) -> bool:
        """Return whether a number is a difference, sum, product, ratio or share of the values, rounded as written.

        The sum of all values counts, too.
        """
        if number.kind not in ("number", "percent"):
            return False
        plain = self._plain[:_MOST_COMPUTED]
        values = list(dict.fromkeys(value for other in plain for value in other.readings))[:_MOST_COMPUTED]
        based = list(dict.fromkeys(other.base[1] for other in plain if other.base[0]))[:_MOST_COMPUTED]
        made = [sum((other.value for other in plain), Decimal(0)), *_combinations(values)]
        in_base = _combinations(based) if number.base[0] else ()
        if any(_is_near(number.base[1], other, Decimal("0.01")) for other in in_base):
            return True
        return any(_rounds_to(value, other) for value in number.readings for other in made)


@lru_cache(maxsize=1024)
def values_of(text: str) -> Values:
    """Return the values of a text, cached."""
    return Values(find_numbers(text))


def missing_numbers(claim: str, texts: Iterable[str]) -> list[Number]:
    """Return the numbers of a claim that none of the texts has, except uncertain ones.

    A text is parsed only while a number is missing: put short texts first.
    """
    left = [number for number in find_numbers(claim) if number.certain or number.share is not None]
    shares: set[Decimal] = set()
    for text in texts:
        if not left:
            break
        left = [number for number in left if not values_of(text).holds(number)] if text else left
        shares |= values_of(text).shares
    # Words for fractions (`a third of`) may be rounded values: they are missing only beside other fractions.
    return [number for number in left if number.certain or shares]


# --- comparing ------------------------------------------------------------------------------------


def _clock_figures(minutes: Decimal) -> Iterator[Decimal]:
    """Yield a time as people write it without a mark: 17.30 and 5.30, or 17 and 5."""
    hour, rest = divmod(minutes, 60)
    for written in (hour, hour % 12 or Decimal(12)):
        yield (written + rest / 100).normalize()


def _is_near(value: Decimal, other: Decimal, share: Decimal) -> bool:
    return abs(other - value) <= abs(other) * share


def _last_place(value: Decimal) -> Decimal:
    """Return the place of the last digit that is not zero: 100 for 1,200, 0.1 for 3.5."""
    exponent = value.normalize().as_tuple().exponent
    return Decimal(10) ** exponent if isinstance(exponent, int) else Decimal(1)


def _rounds_to(value: Decimal, other: Decimal) -> bool:
    """Return whether a result, rounded to the digits of a value, equals that value."""
    step = _last_place(value) if value else Decimal(1)
    return (
        value == other
        or (other != other.to_integral_value() and abs(other - value) <= min(step, Decimal(1)) / 2)
        or (other >= ROUNDED_FROM and abs(other - value) * 2 <= step and _is_near(value, other, _NEAR))
    )


def _combinations(values: Sequence[Decimal]) -> Iterator[Decimal]:
    """Yield the results of computing with one or two values, including shares and changes in percent."""
    for value in values:
        yield 100 - value  # the rest of a percentage
    for first, other in combinations(values, 2):
        yield from (first + other, abs(first - other), first * other, first * other / 100)
        for above, below in ((first, other), (other, first)):
            if below:
                yield from (above / below, above / below * 100, abs(above - below) / below * 100)
