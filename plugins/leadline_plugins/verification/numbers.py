"""The numbers of a text: digits and words, scales, percent, ranges, months, units; and whether a text has a number.

    found = numbers("20 million in March 2025")     # three of them, each with its value, kind, unit and span
    Values("Twenty million people").holds(found[0])  # True

A number is compared by value in any notation: `20,000,000`, `20 million`, `2000万`, `twenty million`. A unit is used
only to convert (`90 minutes` is `1.5 hours`), never to refuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from itertools import combinations, pairwise
from typing import Literal

from leadline_plugins.verification.data import forms, rows
from leadline_plugins.verification.numerals import DIGITS, HAN_DIGITS, HAN_SCALES, han_value, readings

Kind = Literal["number", "percent", "month", "decade", "clock", "version"]
_ROUNDED_FROM = 1000
"""From here on a number may be said rounded: `12,000` for 11,982, but not `120` for 119."""
_NEAR = Decimal("0.05")
"""A rounded number differs from what it is said for by this share at most."""
_MOST_COMPUTED = 60
"""Values of a quote from which others are computed, at most: the pairs grow with their square."""
_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_FOLD = _WIDTH | {0x3000: " ", 0xA0: " ", 0x202F: "\u066c", 0x2009: "\u066c", 0x2212: "-", 0x2032: "'"}


@dataclass(frozen=True)
class Number:
    """A number of a text.

    A percentage is its figure (20 for `20 %`), a month 1 to 12, a clock time the minutes after 12, a decade its first
    year, a version the number of its parts; versions are compared as written.
    """

    value: Decimal
    text: str
    """As written."""
    start: int
    """Offset in characters."""
    end: int
    kind: Kind = "number"
    unit: str = ""
    """As written, in lower case: `km`, `$`, `个月`; empty where none is known."""
    others: tuple[Decimal, ...] = ()
    """What the same spelling may mean as well: `1.234` is 1234 in many languages."""
    certain: bool = True
    """False for words that may be no number (`second`, `half`): no text lacks them."""
    base: tuple[str, Decimal] = field(default=("", Decimal(0)))
    """The unit and value in base units, where the unit is known: 5 km is m, 5000."""

    @property
    def readings(self) -> tuple[Decimal, ...]:
        """All that it may mean, the likeliest first."""
        return (self.value, *self.others)

    @property
    def is_year(self) -> bool:
        """Whether it may be a year: four digits from 1500 to 2099 and nothing else."""
        return self.kind == "number" and not self.unit and self.text.isdigit() and 1500 <= self.value < 2100


def numbers(text: str) -> list[Number]:
    """Return the numbers of a text in their order. Linear in its length."""
    low = _folded(text)
    found = [*_by_digits(low), *_words(low), *_han(low)]
    kept: list[Number] = []
    for number in sorted(found, key=lambda one: (one.start, -one.end)):
        if not kept or number.start >= kept[-1].end or (number.start, number.end) == (kept[-1].start, kept[-1].end):
            kept.append(replace(number, text=text[number.start : number.end]))
    return _ranged(text, kept)


class Values:
    """The values of a text (a source, a quote), to be asked whether they hold a number of another text."""

    def __init__(self, found: Iterable[Number]) -> None:
        self.numbers = tuple(found)
        plain = [one for one in self.numbers if one.kind in ("number", "percent", "decade")]
        self._values = {value.normalize() for one in plain for value in one.readings}
        self._percent = {value.normalize() / 100 for one in plain if one.kind == "percent" for value in one.readings}
        self._rough = sorted({value for one in plain if not one.is_year for value in one.readings})
        self._special = {(one.kind, value) for one in self.numbers for value in one.readings}
        self._versions = {one.text.lower() for one in self.numbers if one.kind == "version"}
        self._based = {(one.base[0], one.base[1].normalize()) for one in self.numbers if one.base[0]}

    def holds(self, number: Number) -> bool:
        """Return whether one of them has the value of a number, in any notation, or is what it was rounded from."""
        match number.kind:
            case "version":
                return number.text.lower() in self._versions
            case "month" | "clock":
                return any((number.kind, value) in self._special for value in number.readings)
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
        if unit and any(name == unit and _near(value, other, Decimal("0.02")) for name, other in self._based):
            return True
        return not number.is_year and any(self._rounds(one) for one in number.readings)

    def _rounds(self, value: Decimal) -> bool:
        """Return whether a value is one of these, rounded to the digits that it has."""
        step = _step(value)
        return any(
            (other >= _ROUNDED_FROM or other % 1) and abs(other - value) * 2 <= step and _near(value, other, _NEAR)
            for other in self._rough
        )

    def computes(self, number: Number) -> bool:
        """Return whether a number is the difference, sum, product, ratio or share of these, rounded as it is written.

        The sum of all counts too, and so does the number of them.
        """
        if number.kind not in ("number", "percent"):
            return False
        plain = [one for one in self.numbers if one.kind in ("number", "percent", "decade")][:_MOST_COMPUTED]
        values = list(dict.fromkeys(value for one in plain for value in one.readings))[:_MOST_COMPUTED]
        based = list(dict.fromkeys(one.base[1] for one in plain if one.base[0]))[:_MOST_COMPUTED]
        made = [sum(values, Decimal(0)), *_results(values)]
        in_base = _results(based) if number.base[0] else ()
        if any(_near(number.base[1], other, Decimal("0.01")) for other in in_base):
            return True
        return any(_written_as(value, other) for value in number.readings for other in made)


@lru_cache(maxsize=256)
def values_of(text: str) -> Values:
    """Return the values of a text, kept for the texts asked for last."""
    return Values(numbers(text))


def missing(claim: str, held: Sequence[Values]) -> list[Number]:
    """Return the numbers of a claim that none of the texts has, without those that may be no numbers."""
    return [one for one in numbers(claim) if one.certain and not any(values.holds(one) for values in held)]


# --- comparing ------------------------------------------------------------------------------------


def _near(value: Decimal, other: Decimal, share: Decimal) -> bool:
    return abs(other - value) <= abs(other) * share


def _step(value: Decimal) -> Decimal:
    """Return the place of the last digit that is not zero: 100 for 1,200, 0.1 for 3.5."""
    exponent = value.normalize().as_tuple().exponent
    return Decimal(10) ** exponent if isinstance(exponent, int) else Decimal(1)


def _written_as(value: Decimal, other: Decimal) -> bool:
    """Return whether a result, rounded to the digits of a value, is that value."""
    step = _step(value) if value else Decimal(1)
    return (
        value == other
        or (other != other.to_integral_value() and abs(other - value) <= min(step, Decimal(1)) / 2)
        or (other >= _ROUNDED_FROM and abs(other - value) * 2 <= step and _near(value, other, _NEAR))
    )


def _results(values: Sequence[Decimal]) -> Iterator[Decimal]:
    """Yield what two values of a text make together: shares and changes in percent, too."""
    for value in values:
        yield 100 - value  # the rest of a percentage
        yield value * 2
        yield value / 2
    for one, other in combinations(values, 2):
        yield from (one + other, abs(one - other), one * other, one * other / 100)
        for above, below in ((one, other), (other, one)):
            if below:
                yield from (above / below, above / below * 100, abs(above - below) / below * 100)


# --- reading --------------------------------------------------------------------------------------

_HAN_ANY = "".join([*HAN_DIGITS, *HAN_SCALES])
_CHAIN = rf"\s?[十百千万萬亿億兆만억조](?:[{_HAN_ANY}\d,.]*[{''.join(HAN_SCALES)}])?(?![瓦米克])"
_UNMARKED = r"(?<![a-z0-9_])(?<!(?<!\.)\.)(?<![a-z]-)(?<!\d,)"
"""Before a number: no letter, digit or single point, but two points of a range, `100..499`."""


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return what finds numbers in digits, number words, and Han numerals."""
    scales, units = "|".join(map(re.escape, forms("scales"))), "|".join(map(re.escape, forms("units")))
    percent = "|".join(map(re.escape, forms("percent")))
    months = "|".join(map(re.escape, forms("months")))
    letter = "a-zß-ɏ"
    digits = re.compile(
        rf"{_UNMARKED}(?P<iso>(?P<y>\d{{4}})[-/.](?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}}))(?!\d)"
        rf"|{_UNMARKED}(?P<dmy>(?P<d1>\d{{1,2}})[-/.](?P<d2>\d{{1,2}})[-/.](?P<y2>\d{{4}}))(?!\d)"
        rf"|(?P<version>{_UNMARKED}v?\d+(?:\.\d+){{2,}}(?![.\d]))"
        rf"|{_UNMARKED}(?P<clock>(?P<h>[01]?\d|2[0-3])[:：](?P<min>[0-5]\d))(?![:\d])"
        rf"|(?:(?P<sign>us\$|[$€£¥₽₩])\s?)?{_UNMARKED}(?P<digits>{DIGITS})"
        rf"(?:(?P<decade>s\b|年代)|(?P<month>月(?!間))|(?P<ordinal>st|nd|rd|th)\b)?"
        rf"(?:\s?[×x·]\s?10\^?(?P<power>[-−]?\d{{1,2}}))?"
        rf"(?:[\s-]?(?P<scale>{scales}|b(?=\b)|m(?=\b))(?![{letter}\d])|(?P<chain>{_CHAIN}))?"
        rf"(?:\s?(?P<percent>[%％‰]|(?:{percent})(?![{letter}]))|[\s-]?(?P<unit>{units})(?![{letter}]))?"
        rf"|(?<![{letter}])(?P<named>{months})\b(?![{letter}])"
    )
    words = "|".join(map(re.escape, [*forms("words"), *forms("doubtful")]))
    word = rf"(?:{'|'.join(forms('words'))}|{scales})"
    ordinals = "|".join(form for form in forms("doubtful") if form.endswith(("st", "nd", "rd", "th")))
    below = "|".join(forms("fractions"))
    spelled = re.compile(
        rf"(?<![{letter}\d])(?P<first>{words}|hundred|thousand|million|millions|billion|billions)(?P<rest>(?:(?:\s|-|\sand\s){word}(?![{letter}]))*(?:-(?:{ordinals}))?)"
        rf"(?:[\s-](?P<below>{below}))?"
        rf"(?![{letter}])(?:\s(?P<percent>(?:{percent})(?![{letter}]))|[\s-](?P<unit>{units})(?![{letter}]))?"
    )
    return digits, spelled, _han_pattern()


def _han_pattern() -> re.Pattern[str]:
    digits, scales = "".join(HAN_DIGITS), "".join(HAN_SCALES)
    counters, units = "|".join(forms("counters")), "|".join(unit for unit in forms("units") if not unit.isascii())
    number = rf"[{digits}{scales}]+(?:[点點][{digits}]+)?[{scales}]*"
    return re.compile(
        rf"(?P<hundredth>百分之)\s?(?P<share>{number}|\d+(?:\.\d+)?)|(?P<below>{number}|\d+)(?:分之|分の)(?P<above>{number}|\d+)"
        rf"|(?<![\d.])(?P<tenths>[{digits}]|[1-9])(?:成(?![员員立为為功果长長本人熟年])|割(?![合り]))"
        rf"|(?<![{_HAN_ANY}\d])(?P<number>{number})(?:(?P<month>月)|(?P<unit>{units})|(?P<counter>{counters}))?"
    )


def _folded(text: str) -> str:
    """Return a text in lower case, full-width signs as ASCII, of the same length."""
    text = text.translate(_FOLD)
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


@cache
def _lexicon(table: str) -> dict[str, tuple[Decimal, ...]]:
    found: dict[str, tuple[Decimal, ...]] = {}
    for names, cells in rows(table):
        for name in names:
            value = Decimal(cells[0])
            found[name] = tuple(dict.fromkeys((*found.get(name, ()), value)))
    return found


@cache
def _units() -> dict[str, tuple[str, Decimal]]:
    return {name: (cells[0], Decimal(cells[1])) for names, cells in rows("units") for name in names}


def _based(value: Decimal, unit: str) -> tuple[str, Decimal]:
    known = _units().get(unit)
    return (known[0], value * known[1]) if known else ("", Decimal(0))


def _by_digits(low: str) -> Iterator[Number]:
    if not re.search(r"\d", low):
        return
    last = -9
    for match in _patterns()[0].finditer(low):
        if match["named"]:
            beside = match.start() - last <= 5 or re.match(
                r"\.?,?\s(?:of\s|de\s)?\d", low[match.end() : match.end() + 6]
            )
            value = _lexicon("months")[match["named"]][0]
            yield Number(value, "", match.start(), match.end(), "month", certain=bool(beside))
        elif match["version"]:
            yield Number(Decimal(match["version"].count(".") + 1), "", *match.span(), "version")
        elif match["iso"] or match["dmy"]:
            yield from _dated(match)
        elif match["clock"]:
            value = Decimal(int(match["h"]) % 12 * 60 + int(match["min"]))
            yield Number(value, "", *match.span(), "clock")
        else:
            yield from _plain(match)
        last = match.end()


def _dated(match: re.Match[str]) -> Iterator[Number]:
    """Yield year, month and day of a date in digits; of 03/04/2025 both may be the month."""
    year, month, day = ("y", "m", "d") if match["iso"] else ("y2", "d2", "d1")
    numbers = int(match[month]), int(match[day])
    if max(numbers) > 31 or not min(numbers) <= 12:
        for part in (year, month, day):
            yield Number(Decimal(match[part]), "", *match.span(part))
        return
    months = tuple(Decimal(one) for one in numbers if 1 <= one <= 12)
    days = tuple(Decimal(one) for one in reversed(numbers))
    if match["iso"]:
        months, days = months[:1], days[:1]
    elif len(months) == 1:
        days = tuple(Decimal(one) for one in numbers if Decimal(one) not in months) or days
    yield Number(Decimal(match[year]), "", *match.span(year))
    yield Number(months[0], "", *match.span(month), "month", others=months[1:])
    yield Number(days[0], "", *match.span(day), others=days[1:])


def _plain(match: re.Match[str]) -> Iterator[Number]:
    digits, chain, scale = match["digits"], match["chain"], match["scale"] or ""
    sign, unit = match["sign"] or "", match["unit"] or ""
    factor = _lexicon("scales").get(scale, (Decimal(1),))[0]
    if scale in ("b", "m"):
        factor = Decimal(10) ** (9 if scale == "b" else 6) if sign else Decimal(1)
        unit = unit or ("m" if scale == "m" and not sign else "")
    try:
        found = [value * factor for value in readings(digits)]
        if match["power"]:
            found = [value * Decimal(10) ** int(match["power"].replace("−", "-")) for value in found]
        if chain:
            found = [han_value(f"{value}{chain}") for value in found]
    except (InvalidOperation, ValueError):
        return
    kind: Kind = "number"
    if match["percent"] and match["percent"] != "‰":
        kind = "percent"
    elif match["month"] and 1 <= found[0] <= 12:
        kind = "month"
    elif match["decade"] and len(digits) == 4:
        kind = "decade"
    start = match.start("sign") if sign else match.start("digits")
    others, unit = tuple(found[1:]), unit or sign
    yield Number(found[0], "", start, match.end(), kind, unit, others, base=_based(found[0], unit))


def _words(low: str) -> Iterator[Number]:
    sure, doubtful, scales = _lexicon("words"), _lexicon("doubtful"), _lexicon("scales")
    fractions = _lexicon("fractions")
    for match in _patterns()[1].finditer(low):
        first, rest = match["first"], re.findall(r"[^\s-]+", (match["rest"] or "").replace(" and ", " "))
        total, part = Decimal(0), Decimal(0)
        certain = first in sure
        for word in (first, *rest):
            if word in scales:
                certain = certain or first not in scales
                part = (part or 1) * scales[word][0]
                if scales[word][0] >= _ROUNDED_FROM:
                    total, part = total + part, Decimal(0)
            else:
                part += (sure.get(word) or doubtful[word])[0]
        value, unit = total + part, match["unit"] or ""
        others = () if rest else doubtful.get(first, ())[1:]
        if below := match["below"] or (first in fractions and not rest and first):
            share = (value if match["below"] else 1) / fractions[below][0]
            others = (*others, share, *(round(share * 100, places) for places in (0, 1, 2)))
            certain = False
        kind: Kind = "percent" if match["percent"] else "number"
        yield Number(value, "", *match.span(), kind, unit, others, certain=certain, base=_based(value, unit))


def _han(low: str) -> Iterator[Number]:
    if low.isascii():
        return
    for match in _patterns()[2].finditer(low):
        if match["hundredth"]:
            yield Number(_either(match["share"]), "", *match.span(), "percent")
        elif match["below"]:
            above, below = _either(match["above"]), _either(match["below"])
            if below:
                yield Number(above / below, "", *match.span(), others=(round(above * 100 / below, 1),), certain=False)
        elif match["tenths"]:
            yield Number(_either(match["tenths"]) * 10, "", *match.span(), "percent", certain=False)
        elif number := match["number"]:
            yield from _han_number(match, number)


def _han_number(match: re.Match[str], number: str) -> Iterator[Number]:
    """Yield a Han numeral unless it is likely part of a word: 一些, 万一, 十分."""
    digits = sum(char in HAN_DIGITS for char in number)
    counted = any(match[name] for name in ("unit", "counter", "month"))
    year = len(number) == 4 and digits == 4
    if number[0] in "万萬亿億兆만억조" or not (counted or year or (digits and digits < len(number))):
        return
    value = han_value(number)
    kind: Kind = "month" if match["month"] and 1 <= value <= 12 else "number"
    unit = match["unit"] or ""
    certain = value > 1 and (len(number) > 1 or counted) and not re.search(r"[二三四五六七八九]{2}", number)
    end = match.end() if unit or kind == "month" else match.end("number")
    yield Number(value, "", match.start(), end, kind, unit, certain=certain or year, base=_based(value, unit))


def _either(said: str) -> Decimal:
    return Decimal(said) if said[0].isdecimal() and said.isascii() else han_value(said)


def _ranged(text: str, found: list[Number]) -> list[Number]:
    """Return the numbers, the lower end of a range also with the scale of its upper end: `3 to 5 million`."""
    between = _between()
    for place, (low, high) in enumerate(pairwise(found)):
        gap = text[low.end : high.start].lower()
        bare = low.kind == "number" and not low.is_year and low.value < _ROUNDED_FROM
        if bare and len(gap) <= 6 and between.fullmatch(gap) and low.value:
            scale = _scale(high)
            others = tuple(value * scale for value in low.readings) if scale > 1 else ()
            kind: Kind = "percent" if high.kind == "percent" else "number"
            base = _based(low.value * scale, high.unit) if not low.unit else low.base
            found[place] = replace(low, others=(*low.others, *others), kind=kind, base=base)
        elif low.is_year and gap in ("-", "–", "—", "/") and high.value < 100 and high.kind == "number":
            century = low.value // 100 * 100
            found[place + 1] = replace(high, others=(*high.others, century + high.value))
    return found


@cache
def _between() -> re.Pattern[str]:
    return re.compile(rf"\s?(?:[-–—~～〜至]|{'|'.join(forms('ranges'))})\s?[$€£¥]?")


def _scale(number: Number) -> Decimal:
    """Return by what a number was multiplied that is written with a scale: 1,000,000 of `5 million`."""
    digits = re.search(DIGITS, number.text)
    first = readings(digits.group())[0] if digits else Decimal(0)
    return number.value / first if first else Decimal(1)
