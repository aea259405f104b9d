"""Dates of a text: months with their days and years, spans, clocks, and years of other eras."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from leadline_plugins.checks.figure import Figure, is_year
from leadline_plugins.checks.han import HAN
from leadline_plugins.checks.spelled import han_value
from leadline_plugins.checks.todate import to_date
from leadline_plugins.checks.vocabulary import ALONE, BUDDHIST, ERAS, MONTHS, either

_NAMED = re.compile(
    rf"\b(?!may\s+(?:be|have|not|also|well|still|need|lead|cause|even|only)\b)(?P<name>{either(MONTHS)})(?![^\W\d_])"
    r"\.?(?:/[^\W\d_]+)?"
)
_DAY_BEFORE = re.compile(r"(?<![\d.,])(?P<day>\d{1,2})(?:st|nd|rd|th|er|o|\.)?\s+(?:of\s+|de\s+|di\s+|من\s+)?$")
_BEFORE = 16
"""Characters before a month in which its day may stand."""
_DAY_BEHIND = re.compile(r"\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?\b(?![.,]\d|\s?%)")
_YEAR_BEHIND = re.compile(r",?\s+(?:of\s+|del?\s+)?(?P<year>\d{4})\b")
_OF_PLANET = re.compile(r"(?<!\ben )(?<!\bde )mars")
"""In a date without a day this is the month only behind a French word: Mars 2020 is a mission."""
_SPAN = re.compile(r"(?<![\d-])(?<!\d[.,])((?:1[5-9]|20)\d\d)[-–—〜~/](\d\d(?:\d\d)?)(?![\d/–—〜~-])(?!\s*%)")
_NUMERIC = re.compile(r"(?<![\d.,])(\d{1,4})([-./])\s?(\d\d?)\2\s?(\d{1,4})(?!\d|\2\d)")
_ERA = rf"(?P<era>{'|'.join(ERAS)})?"
_HAN_MONTH = re.compile(
    rf"(?:{_ERA}\s*(?P<year>\d{{1,4}}|[{HAN}]{{4}}|[{HAN}十]{{1,3}}|元)\s*[年년]\s*)?"
    rf"(?P<month>\d{{1,2}}|十[一二]?|(?<![{HAN}十百])[一二三四五六七八九])\s*[月월]"
    rf"(?:\s*(?P<day>\d{{1,2}}|[{HAN}十]{{1,3}})\s*[日号號일])?"
)
_ERA_YEAR = re.compile(rf"(?P<era>{'|'.join(ERAS)})\s*(?P<year>\d{{1,3}}|[{HAN}十百]{{1,4}}|元)\s*年")
_BUDDHIST = re.compile(
    rf"(?:พ\.?ศ\.?|ปี|{either(name for name in MONTHS if name >= 'ก')})\s*(?P<year>[2๒][45๔๕]\d\d)(?!\d)"
)
_CLOCK = re.compile(r"(?<![\d:.])(\d{1,2}):(\d\d)(?::\d\d)?(?!\d|:\d)")
# What a pattern cannot do without is looked for first: most sentences have none of it, and that is quickly seen.
_ANY_DIGIT = re.compile(r"\d")
_ANY_DASH = re.compile("[-–—〜~/]")


def dates(text: str) -> Iterator[Figure]:
    """Yield the dates of a folded text: what stands within one is no number of its own, but for its year."""
    yield from _named(text)
    if _ANY_DIGIT.search(text):
        yield from _numeric(text)
        yield from _clocks(text)
    if not text.isascii():
        told = list(to_date(text))
        yield from told
        yield from (month for month in _han_months(text) if not any(_overlap(month, one) for one in told))
        yield from _eras(text)


def _overlap(one: Figure, other: Figure) -> bool:
    return one.at < other.at + len(other.said) and other.at < one.at + len(one.said)


def spans(text: str) -> Iterator[Figure]:
    """Yield the second year of a span: 2018–2019, 2018–19, 2018〜19, 1998/02."""
    for match in _SPAN.finditer(text) if _ANY_DASH.search(text) else ():
        first, last = int(match[1]), int(match[2])
        if last < 100:
            last += 100 * (first // 100 + (last <= first % 100))
        yield Figure(Decimal(last), "", match.group(), dated=is_year(last), at=match.start())


def _named(text: str) -> Iterator[Figure]:
    read = 0
    for match in _NAMED.finditer(text):
        start, end = match.span()
        day = _DAY_BEFORE.search(text, max(read, start - _BEFORE), start)
        start = day.start() if day else start
        if not day and (day := _DAY_BEHIND.match(text, end)):
            end = day.end()
        if year := _YEAR_BEHIND.match(text, end):
            end = year.end()
        if day or (year and not _OF_PLANET.match(text, start)) or match["name"] in ALONE:
            told = int(year["year"]) if year else 0
            value = _in_month(MONTHS[match["name"]], int(day["day"]) if day else 0)
            yield Figure(value, "", text[start:end], month=True, year=_of_our_era(told), at=start)
            read = end


def _of_our_era(year: int) -> int:
    return year - BUDDHIST if year >= 2400 else year


def _numeric(text: str) -> Iterator[Figure]:
    """Yield 2021-04-03, 3.4.2021, and 3/4/2021 as what it may be: March 4 in America, April 3 elsewhere."""
    for match in _NUMERIC.finditer(text):
        first, mark, second, last = match[1], match[2], int(match[3]), match[4]
        if len(first) == 4 and len(last) <= 2:
            year, ways = int(first), [(second, int(last))]
        elif len(last) == 4 and len(first) <= 2:
            year, ways = int(last), [(second, int(first)), (int(first), second)][: 1 + (mark != ".")]
        else:
            continue
        if not 1000 <= (year := _of_our_era(year)) < 2100:
            continue  # part of a number, an address
        if days := [_in_month(*way) for way in ways if 0 < way[0] <= 12 and 0 < way[1] <= 31]:
            others = tuple(days[1:])
            yield Figure(days[0], "", match.group(), month=True, year=year, others=others, at=match.start())
            if mark == ".":  # else it is read as a number of its own
                yield _year(year, match)


def _han_months(text: str) -> Iterator[Figure]:
    for match in _HAN_MONTH.finditer(text) if "月" in text or "월" in text else ():
        year = _gregorian(match["era"], match["year"]) if match["year"] else 0
        yield _month(year if is_year(year) else 0, _number(match["month"]), _number(match["day"] or "0"), match)


def _eras(text: str) -> Iterator[Figure]:
    for match in _ERA_YEAR.finditer(text):
        yield _year(_gregorian(match["era"], match["year"]), match)
    for match in _BUDDHIST.finditer(text):
        yield _year(int(match["year"]) - BUDDHIST, match, Decimal(match["year"]))


def _gregorian(era: str | None, year: str) -> int:
    return ERAS.get(era or "", 0) + (1 if year == "元" else _number(year))


def _number(said: str) -> int:
    return int(said) if said.isdecimal() else int(han_value(said))


def _month(year: int, month: int, day: int, match: re.Match[str]) -> Figure:
    return Figure(_in_month(month, day), "", match.group(), month=True, year=year, at=match.start())


def _in_month(month: int, day: int) -> Decimal:
    return month + Decimal(day) / 100


def _year(year: int, match: re.Match[str], *others: Decimal) -> Figure:
    return Figure(Decimal(year), "", match.group(), others=others, dated=is_year(year), at=match.start())


def _clocks(text: str) -> Iterator[Figure]:
    for match in _CLOCK.finditer(text) if ":" in text else ():
        yield Figure(int(match[1]) + Decimal(match[2]) / 100, "o'clock", match.group(), at=match.start())
