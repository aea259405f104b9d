"""Figures in a text: numbers with their units, years and months, however they are written.

Compared exactly: a claim's figure must stand in the passage, save that a passage's decimals may be rounded, and that a
decade holds its years.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache

from leadline_plugins.text.tokens import fold


def word_list(words: str) -> list[str]:
    """Return the words of a text in their order."""
    return words.split()


_SCALES = {
    **dict.fromkeys(("thousand", "k", "千"), 10**3),
    **dict.fromkeys(("million", "millions", "mn", "百万"), 10**6),
    **dict.fromkeys(("billion", "billions", "bn", "十亿", "十億"), 10**9),
    **dict.fromkeys(("trillion", "trillions", "tn", "万亿", "兆", "萬億"), 10**12),
    **dict.fromkeys(("万", "萬"), 10**4),
    **dict.fromkeys(("亿", "億"), 10**8),
    "hundred": 10**2,
    "dozen": 12,
}
_UNITS: Mapping[str, tuple[str, ...]] = {
    "%": ("%", "percent", "per cent", "pct", "パーセント"),
    "usd": ("$", "us$", "usd", "dollars", "dollar", "美元", "ドル"),
    "eur": ("€", "eur", "euros", "euro", "欧元", "ユーロ"),
    "gbp": ("£", "gbp", "pounds", "英镑", "ポンド"),
    "yuan": ("¥", "元", "人民币", "rmb", "yuan", "円", "yen"),
    "°c": ("°c", "℃", "celsius", "摄氏度"),
    "°f": ("°f", "fahrenheit"),
    "km": ("km", "kilometers", "kilometres", "kilometer", "kilometre", "公里", "キロメートル"),
    "mi": ("mi", "miles", "mile", "英里", "マイル"),
    "cm": ("cm", "centimeters", "centimetres", "厘米", "センチ"),
    "mm": ("mm", "millimeters", "millimetres", "毫米", "ミリ"),
    "ft": ("ft", "feet", "foot", "英尺", "フィート"),
    "m": ("m", "meters", "metres", "meter", "metre", "米", "メートル"),
    "kg": ("kg", "kilograms", "kilogrammes", "公斤", "キログラム"),
    "t": ("tons", "tonnes", "吨", "噸", "トン"),
    "year": ("years", "year", "yr", "yrs"),
    "month": ("months", "month", "个月", "ヶ月", "か月"),
    "week": ("weeks", "week", "周", "週間"),
    "day": ("days", "day", "天"),
    "hour": ("hours", "hour", "小时", "小時", "時間"),
    "minute": ("minutes", "minute", "min", "分钟", "分鐘"),
}
_UNIT_OF = {name: unit for unit, names in _UNITS.items() for name in names}
_MONTHS = tuple(word_list("jan feb mar apr may jun jul aug sep oct nov dec"))
_ONES = word_list(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen"""
)
_TENS = word_list("twenty thirty forty fifty sixty seventy eighty ninety")
_ORDINALS = word_list("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth")
_WORDS = (
    {word: value for value, word in enumerate(_ONES)}
    | {word: 20 + 10 * place for place, word in enumerate(_TENS)}
    | {word: value for value, word in enumerate(_ORDINALS, start=1)}
    | {"twice": 2, "thrice": 3}
)
_VAGUE_WORDS = {"zero", "one", "first", "second"}
"""Words of number that mostly are none: `one of the`, `at first`, `a second`."""
_HAN = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_HAN_SCALE = {"十": 10, "百": 100, "千": 1000}
_COUNTERS = "年月日号號个個人名位頭头匹台枚本只隻次回倍岁歳歲家种種条條座層层件冊杯羽艘輪段つ時点點分"

_ALTERNATIVES = "|".join(sorted(map(re.escape, _UNIT_OF), key=len, reverse=True))
_SCALE = "|".join(sorted(_SCALES, key=len, reverse=True))
_NUMBER = re.compile(
    rf"(?=(?:us\$|[$€£¥])?\s?\d)"
    rf"(?<![a-z0-9_.])(?:(?<![a-z]-)|(?<=top-)|(?<=mid-)|(?<=pre-)|(?<=post-)|(?<=under-)|(?<=over-))(?<!\d{{4}}[-–/])"
    rf"(?P<sign>us\$|[$€£¥])?\s?(?P<digits>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    rf"(?P<decade>s\b|年代)?(?:st|nd|rd|th)?(?:[\s-]?(?P<scale>{_SCALE})(?![a-z]))?"
    rf"(?:[\s-]?(?P<unit>{_ALTERNATIVES})(?![a-z]))?(?!\d|\s*月)"
)
_WORD = re.compile(
    rf"\b(?=[{''.join(sorted({word[0] for word in _WORDS}))}])(?P<first>{'|'.join(_WORDS)})"
    rf"(?:[\s-](?P<then>{'|'.join(_ONES[1:10])}))?(?:[\s-](?P<scale>hundred|thousand|million|billion))?\b"
)
_HAN_NUMBER = re.compile(rf"[{''.join(_HAN)}十百千]+(?=[万亿億]|[{_COUNTERS}])")
_MONTH_NAME = rf"(?:{'|'.join(_MONTHS)})(?:[a-z]{{1,6}})?\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+(?:of\s+)?(?P<year{}>\d{{4}})\b)"
_MONTH = re.compile(
    rf"\b(?P<name>{_MONTH_NAME})\s+(?P<day>{_DAY})\b{_YEAR.format(1)}?"
    rf"|\b(?P<day_before>{_DAY})\s+(?:of\s+)?(?P<name_after>{_MONTH_NAME})(?![a-z]){_YEAR.format(2)}?"
    rf"|\b(?P<alone>{_MONTH_NAME}){_YEAR.format(3)}"
    rf"|\b(?P<bare>january|february|april|june|july|august|september|october|november|december)\b"
)
_SPAN = re.compile(r"(?<![\d.,-])((?:1[5-9]|20)\d\d)[-–/](\d\d(?:\d\d)?)(?![\d/–-])(?!\s*%)")
_ISO = re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)")
_HAN_MONTH = re.compile(r"(?:(\d{4})\s*年\s*)?(\d{1,2})\s*月(?:\s*(\d{1,2})\s*[日号號])?")
_CLOCK = re.compile(r"(?<![\d:.])(\d{1,2}):(\d\d)(?::\d\d)?(?!\d|:\d)")
# What a pattern cannot do without is looked for first: most sentences have none of it, and that is quickly seen.
_ANY_MONTH = re.compile("|".join(_MONTHS))
_ANY_DASH = re.compile("[-–/]")


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
    at: int = field(default=0, compare=False)
    """Where it begins, in characters of the folded text."""

    @property
    def kind(self) -> str:
        """What it is a figure of: `month`, `year`, a unit; empty for a bare number. A swap is of its kind."""
        if self.month:
            return "month"
        return self.unit or ("year" if _is_year(self.value) else "")


def _is_year(value: Decimal) -> bool:
    return value == int(value) and 1500 <= value < 2100


@lru_cache(maxsize=1024)
def figures(text: str) -> tuple[Figure, ...]:
    """Return the figures of a text, in order; vague words of number are left out."""
    folded = fold(text)
    dates = [*_months(folded), *_clocks(folded)]
    within = [(date.at, date.at + len(date.said)) for date in dates]
    numbers = [*_digits(folded), *_spans(folded), *_words(folded), *_han(folded)]
    free = [figure for figure in numbers if figure.kind == "year" or not any(a <= figure.at < b for a, b in within)]
    return (*free, *dates)


def missing(claim: Iterable[Figure], passage: Iterable[Figure]) -> list[Figure]:
    """Return the figures of a claim that the passage does not hold."""
    held = list(passage)
    return [figure for figure in claim if not any(same(figure, other) for other in held)]


def same(claimed: Figure, found: Figure) -> bool:
    """Return whether a passage's figure bears a claimed one."""
    if claimed.month or found.month:
        agree = claimed.value == found.value if claimed.value % 1 else claimed.value == int(found.value)
        years = not (claimed.year and found.year) or claimed.year == found.year
        return claimed.month == found.month and agree and years
    if claimed.unit and found.unit and claimed.unit != found.unit:
        return False
    if claimed.decade:
        return claimed.value <= found.value < claimed.value + 10
    return claimed.value == found.value or _rounds(claimed.value, found.value)


def _rounds(claimed: Decimal, found: Decimal) -> bool:
    """Return whether the claimed value is the found one with fewer decimals."""
    places = max(0, -int(claimed.as_tuple().exponent))
    return -int(found.as_tuple().exponent) > places and round(found, places) == claimed


def _digits(text: str) -> Iterator[Figure]:
    for match in _NUMBER.finditer(text):
        value = Decimal(match["digits"].replace(",", "")) * _SCALES.get(match["scale"] or "", 1)
        unit = _UNIT_OF.get(match["unit"] or match["sign"] or "", "")
        if match["sign"] and unit == "m":  # $4.2m
            value, unit = value * 10**6, _UNIT_OF[match["sign"]]
        yield Figure(value.normalize() + 0, unit, match.group().strip(), bool(match["decade"]), at=match.start())


def _spans(text: str) -> Iterator[Figure]:
    """Yield the second year of a span: 2018–2019, 2018–19, 1998/02."""
    for match in _SPAN.finditer(text) if _ANY_DASH.search(text) else ():
        first, last = int(match[1]), int(match[2])
        if last < 100:
            last += 100 * (first // 100 + (last <= first % 100))
        yield Figure(Decimal(last), "", match.group(), at=match.start())


def _words(text: str) -> Iterator[Figure]:
    for match in _WORD.finditer(text):
        if match["first"] not in _VAGUE_WORDS or match["scale"]:
            value = Decimal(_WORDS[match["first"]]) + _WORDS.get(match["then"] or "zero", 0)
            yield Figure(value * _SCALES.get(match["scale"] or "", 1), "", match.group(), at=match.start())


def _han(text: str) -> Iterator[Figure]:
    for match in _HAN_NUMBER.finditer(text):
        if match.group() not in ("一", "十", "百", "千"):
            yield Figure(Decimal(han_value(match.group())), "", match.group(), at=match.start())


def han_value(numeral: str) -> int:
    """Return the value of a numeral in Han characters: digit by digit (二〇二四) or by scales (三百五十)."""
    if not any(char in _HAN_SCALE for char in numeral):
        return int("".join(str(_HAN[char]) for char in numeral))
    total, digit = 0, 0
    for char in numeral:
        if char in _HAN_SCALE:
            total, digit = total + (digit or 1) * _HAN_SCALE[char], 0
        else:
            digit = _HAN[char]
    return total + digit


def _months(text: str) -> Iterator[Figure]:
    for match in _MONTH.finditer(text) if _ANY_MONTH.search(text) else ():
        name = match["name"] or match["name_after"] or match["alone"] or match["bare"]
        day = (match["day"] or match["day_before"] or "0").rstrip("stndrh")
        year = match["year1"] or match["year2"] or match["year3"]
        yield _month(year, _MONTHS.index(name[:3]) + 1, day, match)
    numeric = (*(_ISO.finditer(text) if "-" in text else ()), *(_HAN_MONTH.finditer(text) if "月" in text else ()))
    for match in numeric:
        yield _month(match[1], match[2], match[3], match)


def _month(year: str | None, month: str | int, day: str | None, match: re.Match[str]) -> Figure:
    value = int(month) + Decimal(day or 0) / 100
    return Figure(value, "", match.group(), month=True, year=int(year or 0), at=match.start())


def _clocks(text: str) -> Iterator[Figure]:
    for match in _CLOCK.finditer(text) if ":" in text else ():
        yield Figure(int(match[1]) + Decimal(match[2]) / 100, "o'clock", match.group(), at=match.start())
