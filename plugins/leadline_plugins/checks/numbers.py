"""Numbers of a text in digits and in words, with their scales and units."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal

from leadline_plugins.checks.figure import Figure, is_year
from leadline_plugins.checks.marks import RAISED
from leadline_plugins.checks.spelled import DIGITS, han_value, parts, readings
from leadline_plugins.checks.vocabulary import (
    FOREIGN_WORDS,
    HAN_DIGITS,
    JOINED_BEHIND,
    ONES,
    ORDINALS,
    OTHER_SCALES,
    SCALES,
    UNITS,
    VAGUE_WORDS,
    WORDS,
    either,
)

UNIT_OF = {name: unit for unit, names in UNITS.items() for name in names}
_LETTER = "a-z\u00df-\u024f\u0400-\u052f\u0620-\u065f\u0900-\u0963"
"""Letters of the scripts with spaces: before one, what looks like a unit or scale begins another word."""


_HAN = "".join(HAN_DIGITS)
CJK_SCALE = "(?:[十拾십百佰백万萬만亿億억]|[千仟천](?![瓦克米赫卡字帕伏焦])|兆(?![瓦赫字比位帕欧歐伏])|조(?![각항례]))"
"""A scale, and not the beginning of a unit: 千瓦, 兆瓦."""
_CHAIN = (
    rf"(?:\s(?=[万萬亿億만억]))?{CJK_SCALE}(?:{CJK_SCALE}|[{_HAN}]+(?={CJK_SCALE})|\s?\d+(?:,\d{{3}})*(?:\.\d+)?(?={CJK_SCALE}))*"
    r"(?:\d{1,4}(?![\d년年월月일日]|[.,]\d)|(?<=[만억])\s\d{3,4}(?![\d년年]|[.,]\d))?"
)
"""What may follow the digits of a number in Chinese, Japanese or Korean: 亿, 万1300亿, 億5000万, 만 5000."""
_SIGN = r"us\$|[$€£¥₽₩]"
_POWER = (
    rf"(?:\s?[×x*·]\s?(?:10\^|{RAISED})(?P<power>[-+−]?\d{{1,2}})(?!\d)"
    r"|e\+?(?P<e>[-−]?\d{1,2})(?![\d.])|\s?e(?P<mega>[369])(?=[a-z]))"
)
"""A power of ten: `1.5×10⁶`, `1.5e6`, `10⁶`."""
_OVER = rf"(?P<over>\+(?=[\s-]?[a-z%])|[多余餘](?={CJK_SCALE}))"
"""What makes a number a bound before its scale is said: `100+ billion`, 100多亿."""
_NUMBER = re.compile(
    rf"(?=(?:{_SIGN})?\s?\d)"
    rf"(?:(?<![a-z0-9_.])|(?<=[a-z][a-z])(?=[\d.,]*\d万?[亿億]))(?:(?<![a-z]-)|(?<=top-)|(?<=mid-)|(?<=pre-)|(?<=post-)|(?<=under-)|(?<=over-))(?<!\d{{4}}[-–—〜~/])"
    rf"(?P<sign>{_SIGN})?\s?(?P<digits>{DIGITS})"
    rf"(?P<decade>s\b|年代)?(?P<ordinal>st|nd|rd|th)?{_POWER}?{_OVER}?(?:[\s-]?(?P<scale>{either(SCALES)})(?![{_LETTER}ธ])|(?P<chain>(?<!제\d)(?<!제\d\d)(?<!제\d\d\d){_CHAIN}))?"
    rf"(?:[\s-]?(?:d['’]|de\s|di\s)?(?P<unit>{either(UNIT_OF)})(?![{_LETTER}]))?(?(sign)(?P<billions>(?<=\d)b(?![{_LETTER}\d]))?)(?!\d|\s*[月월])"
)
_WORD = re.compile(rf"\b(?P<word>{either({*WORDS, *FOREIGN_WORDS})})\b")
_MORE = re.compile(
    rf"(?:[\s-](?P<then>{either((*ONES[1:10], *ORDINALS[:9]))})\b)?(?P<half>\sand\sa\shalf\b)?"
    rf"(?:[\s-](?P<scale>hundred|thousand|million|billion)\b)?(?:[\s-](?P<unit>{either(UNIT_OF)})(?![{_LETTER}]))?"
)
_MILLIONS = re.compile(rf"\s(?P<scale>{either(word for word in SCALES if SCALES[word] >= 10**6)})(?![{_LETTER}])")
_GOES_ON = re.compile(
    r"-|\s(?:[cs]en(?:t|ts|to|tos)\b|hundert|honderd|mill?[ae]?\b|tausend|duizend|тысяч|сот|[су]\s|y\s|e\s|drittel"
    r"|viertel|fünftel|tiers|quarts|terzi|quint|tercios)"
)
"""What makes a word of number the beginning of another: `cinq mille`, `zwei Drittel`."""
_REPEATED = ("twice", "thrice")
_NUMBERED = ("第", "제", "#", "№", "no. ", "no.", "nr. ")
"""What makes the number behind it one that counts a place."""
_PER = re.compile(
    r"(?:トロイ)?(?:オンス|バレル|トン|キロ|グラム|ドル|ユーロ|ポンド|[株人台戸坪口]|盎司|桶|股|美元|欧元|英镑)"
    r"(?:当た?り|あたり|につき|は(?=[\d$])|[=约約兑]|接近|等于|[\d$])"
)
"""What makes a 1 before it a mere `per`: 1オンス2,000ドル, 1ドル=150円."""
_TO = re.compile(r"\s?(?:to|bis|auf|à|a|до|[至到~〜～–—-])\s?|から")
_AND = re.compile(r"\s(?:and|und|et|y|e|и)\s|[和与與]")
_BETWEEN = re.compile(r"(?:\b(?:between|zwischen|entre|tra|fra|между)|[在于於介])[\s$€£¥]*$")
"""What makes the figure before an `and` the lower end of a range."""
_APART = 20
"""Times from which the first of two numbers is not said short: in `from 900 to 1.2 million` it is 900."""
_OF_YEAR = re.compile(r"(?:st|nd|rd|th|\.)?[\s-]?(?:quarter|half|quartal|halbjahr|季|四半期)")
"""What makes a number the place of a part of a year, which is a time (`periods`): the 2nd quarter, 第2季度."""
_PLACES_OF_YEAR = frozenset("1234")
_ANY_DIGIT = re.compile(r"\d")
_BEHIND = re.compile(r"(\w+)\s$")


def numbers(text: str) -> Iterator[Figure]:
    """Yield the numbers of a folded text that are written in digits, and those in words."""
    if _ANY_DIGIT.search(text):
        yield from _digits(text)
    yield from _words(text)


def _digits(text: str) -> Iterator[Figure]:
    matches = list(_NUMBER.finditer(text))
    for match, behind in itertools.zip_longest(matches, matches[1:]):
        digits, chain = match["digits"], match["chain"]
        if digits == "1" and _PER.match(text, match.end("digits")):
            continue
        if digits in _PLACES_OF_YEAR and _is_place(text, match):
            continue
        scale = 10**9 if match["billions"] else SCALES.get(match["scale"] or "", 1)
        unit = UNIT_OF.get(match["unit"] or match["sign"] or "", "")
        if match["sign"] and unit == "m":  # $4.2m
            scale, unit = scale * 10**6, UNIT_OF[match["sign"]]
        raised = match["power"] or match["e"] or match["mega"]
        by = Decimal(10) ** int(raised.replace("−", "-")) * scale if raised else scale
        first, *others = _scaled(readings(digits), by, chain)
        if scale > 1 and (also := OTHER_SCALES.get(match["scale"])):
            others += _scaled(readings(digits), also, None)
        start = _start(match)
        plain = digits.isdigit() and not raised
        several = () if plain else parts(digits, measured=bool(unit or chain or match["scale"]))
        found = Figure(
            first.normalize() + 0,
            unit,
            match.group().strip().removesuffix("+"),
            bool(match["decade"]),
            others=tuple(others),
            parts=tuple(_scaled(several, scale, chain)) if several else (),
            dated=plain and scale == 1 and not chain and is_year(first),
            ordinal=bool(match["ordinal"]) or text.endswith(_NUMBERED, 0, start),
            bound="least" if match["over"] else "",
            certain=not (several or match["over"]),
            at=start,
        )
        yield _completed(found, match, behind, text) if behind else found


def _is_place(text: str, match: re.Match[str]) -> bool:
    """Return whether a digit is the place of a part of a year: the 2nd quarter, 第2季度; not of 2 quarters."""
    placed = match["ordinal"] or text.endswith(_NUMBERED, 0, match.start("digits")) or text[match.end() :][:1] == "."
    return bool(placed and _OF_YEAR.match(text, match.end("digits")))


def _start(match: re.Match[str]) -> int:
    return match.start("sign") if match["sign"] else match.start("digits")


def _completed(figure: Figure, match: re.Match[str], behind: re.Match[str], text: str) -> Figure:
    """Return a figure with the scale and unit that are said once, at the end of its range: `12 to 15 million`.

    What is read into it is not certain, so its bare value is another reading.
    """
    scale = SCALES.get(behind["scale"] or "", 10**9 if behind["billions"] else 1)
    chain = behind["chain"] if not _ANY_DIGIT.search(behind["chain"] or "") else None
    unit = figure.unit or UNIT_OF.get(behind["unit"] or behind["sign"] or "", "")
    bare = not any(match[part] for part in ("scale", "chain", "unit", "decade", "ordinal", "billions", "e", "power"))
    if not bare or figure.dated or figure.parts or figure.ordinal or (scale == 1 and not chain and unit == figure.unit):
        return figure
    low, high = sorted((figure.value, readings(behind["digits"])[0]))
    if not _ranges(match, behind, text) or high > low * _APART:
        return figure
    if scale == 1 and not chain:
        return replace(figure, unit=unit)
    scaled = _scaled(figure.readings, scale, chain)
    return replace(
        figure, value=scaled[0].normalize() + 0, unit=unit, others=(*scaled[1:], *figure.readings), certain=False
    )


def _ranges(match: re.Match[str], behind: re.Match[str], text: str) -> bool:
    """Return whether two numbers are the ends of a range, or say from where to where."""
    between = text[match.end() : _start(behind)]
    if _TO.fullmatch(between):
        return True
    return bool(_AND.fullmatch(between) and _BETWEEN.search(text[max(0, match.start() - 12) : match.start("digits")]))


def _scaled(values: Iterable[Decimal], scale: Decimal | int, chain: str | None) -> list[Decimal]:
    if not chain:
        return [value * scale for value in values]
    return [han_value(f"{value}{chain.replace(',', '')}") * scale for value in values]


def _words(text: str) -> Iterator[Figure]:
    read = 0
    for match in _WORD.finditer(text):
        word = match["word"]
        if match.start() < read or (word in ORDINALS and _OF_YEAR.match(text, match.end())):
            continue  # the end of one, or the place of a part of a year: twenty-five, the third quarter
        if word in FOREIGN_WORDS:
            yield from _foreign(text, match)
        elif (more := _MORE.match(text, match.end())) and (word not in VAGUE_WORDS or more["scale"] or more["half"]):
            last = more["then"] or word
            value = Decimal(WORDS[word]) + WORDS.get(more["then"] or "zero", 0)
            value += Decimal("0.5") if more["half"] else 0
            read = more.end()
            said = text[match.start() : read]
            unit = "times" if word in _REPEATED else UNIT_OF.get(more["unit"] or "", "")
            yield Figure(
                value * SCALES.get(more["scale"] or "", 1), unit, said, ordinal=last in ORDINALS, at=match.start()
            )


def _foreign(text: str, match: re.Match[str]) -> Iterator[Figure]:
    """Yield a number word of another language; what it joins to is not always seen, so none of them is certain."""
    before = _BEHIND.search(text, max(0, match.start() - 16), match.start())
    scaled = _MILLIONS.match(text, match.end())
    end = scaled.end() if scaled else match.end()
    joined = (before and before[1] in JOINED_BEHIND) or text[match.start() - 1 : match.start()] == "-"
    if not joined and not _GOES_ON.match(text, end):
        value = Decimal(FOREIGN_WORDS[match["word"]] * (SCALES[scaled["scale"]] if scaled else 1))
        yield Figure(value, "", text[match.start() : end], certain=False, at=match.start())
