"""Find the numbers of a text: digits and words, scales, percent, ranges, months, units.

    found = find_numbers("20 million in March 2025")  # three, each with value, kind, unit and span

Languages use different marks for thousands and decimals, so some spellings have two readings.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from functools import cache
from itertools import pairwise
from typing import Literal

from leadline_plugins.text.language import language
from leadline_plugins.text.scripts import primary
from leadline_plugins.verification.lexicon import alternation, base_value, forms, values

Kind = Literal["number", "percent", "month", "decade", "clock", "version"]
# Numbers from here on may be rounded: `12,000` for 11,982, but not `120` for 119.
ROUNDED_FROM = 1000
_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_FOLD = _WIDTH | {0x3000: " ", 0xA0: " ", 0x202F: "\u066c", 0x2009: "\u066c", 0x2212: "-", 0x2032: "'"}
HAN_DIGITS = dict(zip("〇零一二三四五六七八九", (0, *range(10)), strict=True)) | {"两": 2, "兩": 2}
HAN_DIGITS |= dict(zip("壹贰叁肆伍陆柒捌玖", range(1, 10), strict=True))
HAN_SCALES = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000, "万": 10**4, "萬": 10**4, "만": 10**4}
HAN_SCALES |= {"亿": 10**8, "億": 10**8, "억": 10**8, "兆": 10**12, "조": 10**12}
# Thousands in some languages, three decimals in others.
_AMBIGUOUS = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
# Languages that group thousands by commas and have a point before decimals (CLDR).
_COMMA_GROUPS = frozenset(["en", "zh", "ja", "ko", "th", "he", "hi", "bn", "ta", "te", "ur", "ms", "fil", "sw"])
# The digits of one number: `12 500`, `1.234,50`, `12,34,567`, `3,5`.
DIGITS = (
    r"\d{1,3}(?P<mark>[.,'’ \u066c])\d{3}(?:(?P=mark)\d{3})*(?!\d|(?P=mark)(?<=[.,])\d)"
    r"(?:(?!(?P=mark))[.,\u066b]\d+)?|\d{1,2}(?:,\d\d)+,\d{3}(?!\d)(?:\.\d+)?|\d+(?:[.,\u066b]\d+)?"
)
_PARTS = re.compile(rf"\d+(?:\.\d+)?|[{''.join({*HAN_DIGITS, *HAN_SCALES})}]")


@dataclass(frozen=True)
class Number:
    """A number of a text.

    A percentage has its figure (20 for `20 %`), a month 1 to 12, a clock time the minutes after 12, a decade its first
    year, a version the number of its parts. Versions are compared as written.
    """

    value: Decimal
    # As written.
    text: str
    # Offset in characters.
    start: int
    end: int
    kind: Kind = "number"
    # As written, in lower case: `km`, `$`, `个月`; empty if there is none.
    unit: str = ""
    # Other readings of the spelling: `1.234` is 1234 in many languages.
    others: tuple[Decimal, ...] = ()
    # False for words that may be no numbers (`second`, `half`): they are never reported as missing.
    certain: bool = True
    # The fraction that a number states (0.5 of `1/2`, `half of`), if it states one.
    share: Decimal | None = None
    # The base unit and the value in it, if the unit is known: 5 km is m, 5000.
    base: tuple[str, Decimal] = field(default=("", Decimal(0)))

    @property
    def readings(self) -> tuple[Decimal, ...]:
        """Return the possible values of digits with marks, the likeliest first."""
        return (self.value, *self.others)

    @property
    def is_year(self) -> bool:
        """True if it may be a year: four digits from 1500 to 2099 and nothing else."""
        return self.kind == "number" and not self.unit and self.text.isdigit() and 1500 <= self.value < 2100

    @property
    def dimension(self) -> str:
        """What the number measures: its base unit, else its unit; `year`, `percent`, … of numbers without a unit."""
        return self.base[0] or self.unit or ("year" if self.is_year else self.kind)


def find_numbers(text: str) -> list[Number]:
    """Return the numbers of a text in order, in linear time."""
    low = _folded(text)
    numbers = [*_era_years(low), *_digit_numbers(low), *_word_numbers(low), *_han_numbers(low), *_roman_numerals(text)]
    outer: list[Number] = []
    for number in sorted(numbers, key=lambda n: (n.start, -n.end)):
        if not outer or number.start >= outer[-1].end or (number.start, number.end) == (outer[-1].start, outer[-1].end):
            outer.append(replace(number, text=text[number.start : number.end]))
    return _with_ranges(text, outer)


# --- patterns -----------------------------------------------------------------------------------------------------

_HAN_ANY = "".join([*HAN_DIGITS, *HAN_SCALES])
_CHAIN = rf"\s?[十百千万萬亿億兆만억조](?:[{_HAN_ANY}\d,.]*[{''.join(HAN_SCALES)}])?(?![瓦米克])"
# Before a number: no letter, digit or single point, but two points of a range, `100..499`.
_UNMARKED = r"(?<![a-z0-9_])(?<!(?<!\.)\.)(?<![a-z]-)(?<!\d,)"


# Groups of thousands, which could also be a version.
_GROUPED = r"[1-9]\d{0,2}(?:\.\d{3}){2,}(?![.\d])"
_VULGAR, _RAISED = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞", "⁰¹²³⁴⁵⁶⁷⁸⁹"
_PLAIN = str.maketrans("⁻" + _RAISED, "-0123456789")


_HALF = ("half", "hälfte", "mitad", "moitié")
_ROMAN_VALUES = dict(zip("IVXLC", (1, 5, 10, 50, 100), strict=True))
_ROMAN = re.compile(
    r"(?<!\w)(?P<roman>(?=[IVXLC]{2})C{0,3}(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3}))(?:e|er|th|st|nd|rd|ème)?(?!\w)"
)
_FRACTIONS = {sign: Decimal(unicodedata.numeric(sign)).quantize(Decimal("0.001")) for sign in _VULGAR}


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of numbers in digits, number words, and Han numerals."""
    scales, units = alternation("scales"), alternation("units")
    percent = alternation("percent")
    months = alternation("months")
    letter = "a-zß-ɏ"
    digits = re.compile(
        rf"{_UNMARKED}(?P<iso>(?P<y>\d{{4}})[-/.](?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}}))(?!\d)"
        rf"|{_UNMARKED}(?P<dmy>(?P<d1>\d{{1,2}})[-/.](?P<d2>\d{{1,2}})[-/.](?P<y2>\d{{4}}))(?!\d)"
        rf"|(?P<version>{_UNMARKED}(?!{_GROUPED})v?\d+(?:\.\d+){{2,}}(?![.\d]))"
        rf"|{_UNMARKED}(?P<clock>(?P<h>[01]?\d|2[0-3])(?:[:：h.](?P<min>[0-5]\d)(?::[0-5]\d)?(?![:\d]))?"
        rf"(?:\s?(?P<half>[ap])\.?m\b\.?|\s?uhr\b|(?<=\d[:：h]\d\d)))"
        rf"|(?P<east>午前|上午|午後|下午|오전|오후)\s?(?P<h2>\d{{1,2}})\s?[:：時时点點시](?:(?P<min2>[0-5]?\d)|(?P<thirty>半|반))?"
        rf"|(?:(?P<sign>us\$|[$€£¥₽₩])\s?)?{_UNMARKED}(?P<digits>{DIGITS})"
        rf"(?:(?P<decade>s\b|年代)|(?P<month>月(?!間))|(?P<ordinal>st|nd|rd|th)\b)?"
        rf"(?:(?P<vulgar>[{_VULGAR}])|[\s-](?P<part>[1-9])/(?P<parts>[2-9]|1\d)(?![\d/]))?(?=(?:/(?P<below>[1-9]\d?)(?![\d/]))?)"
        rf"(?:(?:\s?[×x·]\s?10|(?<=(?<![\d.,])10)(?=[\^⁻{_RAISED}]))"
        rf"(?:\^?(?P<power>[-−]?\d{{1,2}})|(?P<raised>⁻?[{_RAISED}]+))|e(?P<e>[-−+]?\d{{1,3}})(?![a-z\d]))?"
        rf"(?:[\s-]?(?P<scale>{scales}|b(?=\b)|m(?=\b))(?![{letter}\d])|(?P<chain>{_CHAIN}))?"
        rf"(?:\s?(?P<percent>[%％‰]|(?:{percent})(?![{letter}]))|[\s-]?(?P<unit>{units})(?![{letter}]))?"
        rf"|(?P<alone>[{_VULGAR}])"
        rf"|(?<![{letter}])(?P<named>{months})\b(?![{letter}])"
    )
    words = alternation("words", "doubtful")
    word = rf"(?:{'|'.join(forms('words'))}|{scales})"
    ordinals = "|".join(form for form in forms("doubtful") if form.endswith(("st", "nd", "rd", "th")))
    below = "|".join(forms("fractions"))
    spelled = re.compile(
        rf"(?<![{letter}\d])(?P<first>{words}|hundred|thousand|million|millions|billion|billions)(?P<rest>(?:(?:\s|-|\sand\s){word}(?![{letter}]))*(?:-(?:{ordinals}))?)"
        rf"(?:\sand\sa\s(?P<half>half|quarter)(?:\s(?P<scale>{scales}))?)?"
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
        rf"|(?<![{_HAN_ANY}\d])(?P<number>{number})(?:(?P<month>月)|(?P<unit>{units})|(?P<counter>{counters})|(?P<item>、))?"
    )


# --- readings -----------------------------------------------------------------------------------------------------


def _folded(text: str) -> str:
    """Return a text in lower case, full-width signs as ASCII, of the same length."""
    text = text.translate(_FOLD)
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _digit_numbers(low: str) -> Iterator[Number]:
    if not re.search(rf"[\d{_VULGAR}]", low):
        return
    comma_groups = bool(re.search(r"\d,\d{3}", low)) and primary(language(low)) in _COMMA_GROUPS
    last = -9
    for match in _patterns()[0].finditer(low):
        if match["named"]:
            beside = match.start() - last <= 5 or re.match(
                r"\.?,?\s(?:of\s|de\s)?\d", low[match.end() : match.end() + 6]
            )
            value = values("months")[match["named"]][0]
            yield Number(value, "", match.start(), match.end(), "month", certain=bool(beside))
        elif match["version"]:
            yield Number(Decimal(match["version"].count(".") + 1), "", *match.span(), "version")
        elif match["iso"] or match["dmy"]:
            yield from _from_date(match)
        elif match["clock"] or match["east"]:
            yield _from_clock(match)
        elif match["alone"]:
            share = _FRACTIONS[match["alone"]]
            yield Number(share, "", *match.span(), others=(round(share * 100, 1),), certain=False, share=share)
        else:
            yield from _from_digits(match, comma_groups)
        last = match.end()


def _from_date(match: re.Match[str]) -> Iterator[Number]:
    """Yield year, month and day of a date in digits; 03/04/2025 has two readings."""
    year, month, day = ("y", "m", "d") if match["iso"] else ("y2", "d2", "d1")
    numbers = int(match[month]), int(match[day])
    if max(numbers) > 31 or not min(numbers) <= 12:
        for part in (year, month, day):
            yield Number(Decimal(match[part]), "", *match.span(part))
        return
    months = tuple(Decimal(number) for number in numbers if 1 <= number <= 12)
    days = tuple(Decimal(number) for number in reversed(numbers))
    if match["iso"]:
        months, days = months[:1], days[:1]
    elif len(months) == 1:
        days = tuple(Decimal(number) for number in numbers if Decimal(number) not in months) or days
    yield Number(Decimal(match[year]), "", *match.span(year))
    yield Number(months[0], "", *match.span(month), "month", others=months[1:])
    yield Number(days[0], "", *match.span(day), others=days[1:])


def _from_clock(match: re.Match[str]) -> Number:
    """Return the minutes of the day; `5:30` has two readings, `05:30`, `17:30` and `5.30 pm` have one."""
    written, half = match["h"] or match["h2"], match["half"] or match["east"]
    hour = int(written)
    minutes = hour * 60 + int(match["min"] or match["min2"] or (30 if match["thirty"] else 0))
    if half:
        afternoon = half in ("p", "午後", "下午", "오후")
        minutes += 720 * (afternoon and hour < 12) - 720 * (not afternoon and hour == 12)
    others = (Decimal((minutes + 720) % 1440),) if not half and 1 <= hour <= 12 and written[0] != "0" else ()
    return Number(Decimal(minutes), "", *match.span(), "clock", others=others)


def _from_digits(match: re.Match[str], comma_groups: bool) -> Iterator[Number]:
    digits, chain, scale = match["digits"], match["chain"], match["scale"] or ""
    sign, unit = match["sign"] or "", match["unit"] or ""
    factor = values("scales").get(scale, (Decimal(1),))[0]
    if scale in ("b", "m"):
        factor = Decimal(10) ** (9 if scale == "b" else 6) if sign else Decimal(1)
        unit = unit or ("m" if scale == "m" and not sign else "")
    try:
        amounts = [value * factor for value in readings(digits, comma_groups)]
        if power := match["power"] or match["e"] or (match["raised"] or "").translate(_PLAIN):
            alone = match.string[match.end("digits")] in f"^⁻{_RAISED}"  # 10^6, not 5×10^6
            amounts = [(Decimal(1) if alone else n) * Decimal(10) ** int(power.replace("−", "-")) for n in amounts]
        elif match["vulgar"]:
            amounts = [amounts[0] + _FRACTIONS[match["vulgar"]]]
        elif match["part"]:
            amounts = [amounts[0] + Decimal(match["part"]) / int(match["parts"])]
        elif match["below"]:
            amounts.append(amounts[0] / int(match["below"]))
        if chain:
            amounts = [han_value(f"{value}{chain}") for value in amounts]
    except (InvalidOperation, ValueError):
        return
    share = amounts[-1] if match["below"] and amounts[-1] < 1 else None
    kind: Kind = "number"
    if match["percent"] and match["percent"] != "‰":
        kind = "percent"
    elif match["month"] and 1 <= amounts[0] <= 12:
        kind = "month"
    elif match["decade"] and len(digits) == 4:
        kind = "decade"
    start = match.start("sign") if sign else match.start("digits")
    others, unit = tuple(amounts[1:]), unit or sign
    base = base_value(amounts[0], unit)
    yield Number(amounts[0], "", start, match.end(), kind, unit, others, share=share, base=base)


def _word_numbers(low: str) -> Iterator[Number]:
    sure, doubtful, scales = values("words"), values("doubtful"), values("scales")
    fractions = values("fractions")
    for match in _patterns()[1].finditer(low):
        first, rest = match["first"], re.findall(r"[^\s-]+", (match["rest"] or "").replace(" and ", " "))
        total, part = Decimal(0), Decimal(0)
        certain = first in sure
        for word in (first, *rest):
            if word in scales:
                certain = certain or first not in scales
                part = (part or 1) * scales[word][0]
                if scales[word][0] >= ROUNDED_FROM:
                    total, part = total + part, Decimal(0)
            else:
                part += (sure.get(word) or doubtful[word])[0]
        value, unit = total + part, match["unit"] or ""
        if match["half"]:
            value += Decimal("0.5" if match["half"] == "half" else "0.25")
            value, certain = value * scales.get(match["scale"], (1,))[0], True
        others = () if rest else doubtful.get(first, ())[1:]
        share = None
        if below := match["below"] or (first in fractions and not rest and first):
            part = (value if match["below"] else 1) / fractions[below][0]
            others = (*others, part, *(round(part * 100, places) for places in (0, 1, 2)))
            certain = False
            if match["below"] or low[: match.start()].endswith("a "):  # not `the third of May`
                share = part
        elif first in _HALF and not rest:
            share = Decimal("0.5")
        kind: Kind = "percent" if match["percent"] else "number"
        base = base_value(value, unit)
        yield Number(value, "", *match.span(), kind, unit, others, certain=certain, share=share, base=base)


def _era_years(low: str) -> Iterator[Number]:
    """Yield the years of eras: 令和5年 and Reiwa 5 are 2023."""
    for match in _era_pattern().finditer(low):
        count = Decimal(1) if match["year"] == "元" else _digit_or_han_value(match["year"])
        yield Number(values("eras")[match["era"]][0] + count, "", *match.span())


@cache
def _era_pattern() -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z])(?P<era>{alternation('eras')})\s?(?P<year>元|\d{{1,4}}|[{_HAN_ANY}]+)(?:年|년|\b)")


def _roman_numerals(text: str) -> Iterator[Number]:
    """Yield Roman numerals of two letters or more: the XIXth century, World War II."""
    for match in _ROMAN.finditer(text):
        signs = [_ROMAN_VALUES[sign] for sign in match["roman"]]
        value = sum(-sign if sign < after else sign for sign, after in zip(signs, [*signs[1:], 0], strict=True))
        yield Number(Decimal(value), "", *match.span(), certain=False)


def _han_numbers(low: str) -> Iterator[Number]:
    if low.isascii():
        return
    for match in _patterns()[2].finditer(low):
        if match["hundredth"]:
            yield Number(_digit_or_han_value(match["share"]), "", *match.span(), "percent")
        elif match["below"]:
            above, below = _digit_or_han_value(match["above"]), _digit_or_han_value(match["below"])
            if below:
                share = above / below
                yield Number(share, "", *match.span(), others=(round(share * 100, 1),), certain=False, share=share)
        elif match["tenths"]:
            yield Number(_digit_or_han_value(match["tenths"]) * 10, "", *match.span(), "percent", certain=False)
        elif number := match["number"]:
            yield from _han_number(match, number)


def _han_number(match: re.Match[str], number: str) -> Iterator[Number]:
    """Yield a Han numeral unless it is likely part of a word: 一些, 万一, 十分."""
    digits = sum(char in HAN_DIGITS for char in number)
    counted = any(match[name] for name in ("unit", "counter", "month"))
    year = len(number) == 4 and digits == 4
    if number[0] in "万萬亿億兆만억조" or not (counted or year or match["item"] or (digits and digits < len(number))):
        return
    value = han_value(number)
    kind: Kind = "month" if match["month"] and 1 <= value <= 12 else "number"
    unit = match["unit"] or ""
    certain = value > 1 and (len(number) > 1 or counted) and not re.search(r"[二三四五六七八九]{2}", number)
    end = match.end() if unit or kind == "month" else match.end("number")
    yield Number(value, "", match.start(), end, kind, unit, certain=certain or year, base=base_value(value, unit))


def _digit_or_han_value(numeral: str) -> Decimal:
    return Decimal(numeral) if numeral[0].isdecimal() and numeral.isascii() else han_value(numeral)


def _with_ranges(text: str, numbers: list[Number]) -> list[Number]:
    """Return the numbers; the lower end of a range may share the scale of the upper end: `3 to 5 million`."""
    between = _range_pattern()
    for index, (low, high) in enumerate(pairwise(numbers)):
        gap = text[low.end : high.start].lower()
        plain = low.kind == "number" and not low.is_year and low.value < ROUNDED_FROM
        if plain and len(gap) <= 6 and between.fullmatch(gap) and low.value:
            digits = re.search(DIGITS, high.text)
            first = readings(digits[0])[0] if digits else high.value
            scale = high.value / first if first else Decimal(1)
            others = tuple(value * scale for value in low.readings) if scale > 1 else ()
            kind: Kind = "percent" if high.kind == "percent" else "number"
            base = base_value(low.value * scale, high.unit) if not low.unit else low.base
            numbers[index] = replace(low, others=(*low.others, *others), kind=kind, base=base)
        elif low.is_year and gap in ("-", "–", "—", "/") and high.value < 100 and high.kind == "number":
            century = low.value // 100 * 100
            numbers[index + 1] = replace(high, others=(*high.others, century + high.value))
    return numbers


@cache
def _range_pattern() -> re.Pattern[str]:
    return re.compile(rf"\s?(?:[-–—~～〜至]|{'|'.join(forms('ranges'))})\s?[$€£¥]?")


# --- numerals -----------------------------------------------------------------------------------------------------


def readings(digits: str, comma_groups: bool = False) -> tuple[Decimal, ...]:
    """Return what digits with marks may mean, the likeliest first. `comma_groups`: a comma separates thousands."""
    marks = re.findall(r"[.,'’ \u066b\u066c]", digits)
    if not marks:
        return (Decimal(digits),)
    last = marks[-1]
    if len(marks) == 1 and _AMBIGUOUS.fullmatch(digits):
        thousands, decimal = Decimal(digits.replace(last, "")), Decimal(digits.replace(last, "."))
        return (decimal, thousands) if last == "." else (thousands,) if comma_groups else (thousands, decimal)
    decimals = last == "\u066b" or (last in ".," and last not in marks[:-1])
    whole, _, rest = digits.rpartition(last) if decimals else (digits, "", "")
    digits_only = re.sub(r"\D", "", whole)
    # A plain space may also separate two numbers: `120 345`, but not `800 000`.
    parts = digits.split(" ") if not decimals and " 0" not in digits else []
    both = [Decimal(part) for part in parts] if len(parts) > 1 else []
    return (Decimal(f"{digits_only}.{rest}" if decimals else digits_only), *both)


def han_value(numeral: str) -> Decimal:
    """Return the value of a Han numeral: 二〇二四, 三百五十, 三点五亿. Digits may occur in it: 6万1300亿."""
    if all(char in HAN_DIGITS for char in numeral):
        return Decimal("".join(str(HAN_DIGITS[char]) for char in numeral))
    whole, point, rest = numeral.replace("點", "点").replace(",", "").partition("点")
    if point:
        decimals = re.match(f"[{''.join(HAN_DIGITS)}]*", rest)
        end = decimals.end() if decimals else 0
        whole = f"{han_value(whole)}.{''.join(str(HAN_DIGITS[char]) for char in rest[:end])}{rest[end:]}"
    return _summed(_PARTS.findall(whole.replace(" ", "")))


def _summed(parts: list[str]) -> Decimal:
    """Return the sum of the parts; a scale multiplies all smaller parts before it: 6万1300亿 is 61300亿."""
    sums: list[Decimal] = []
    below, digit = Decimal(0), Decimal(0)
    for part in parts:
        if part not in HAN_SCALES:
            digit = Decimal(HAN_DIGITS[part]) if part in HAN_DIGITS else Decimal(part)
        elif (scale := HAN_SCALES[part]) < 10**4:
            below, digit = below + (digit or 1) * scale, Decimal(0)
        else:
            section = below + digit
            while sums and sums[-1] < scale:
                section += sums.pop()
            sums.append((section or Decimal(1)) * scale)
            below, digit = Decimal(0), Decimal(0)
    return sum(sums, below + digit)
