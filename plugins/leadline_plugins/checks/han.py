"""Numbers in Han numerals, and shares in words: 三点五亿, 叁佰万, 百分之五十四, 八成, 3割5分, 四分之一."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from leadline_plugins.checks.figure import Figure, is_year, share
from leadline_plugins.checks.numbers import UNIT_OF
from leadline_plugins.checks.spelled import han_value, readings
from leadline_plugins.checks.vocabulary import CJK_SCALES, HAN_DIGITS, either

HAN = "".join(HAN_DIGITS)
_SMALL = "十拾百佰千仟"
_BIG = "万萬亿億兆"
_COUNTERS = "年月日号號个個人名位頭头匹台枚本只隻次回倍岁歳歲家种種条條座層层件冊杯羽艘輪段つ時点點分连連"
_UNITS = [name for name in UNIT_OF if not name.isascii() and re.fullmatch("[\u3040-\u30ff\u4e00-\u9fff]+", name)]
_FORMAL = re.compile("[壹壱贰貳弐叁參参肆伍陆陸柒捌玖]")
"""Formal numerals; alone many are other words: 参加, 陆军."""
_NUMBER = re.compile(
    rf"(?<![{HAN}{_SMALL}\d数數几幾上好.])(?P<number>[{HAN}{_SMALL}]+(?:[点點][{HAN}]+)?(?:[{_BIG}]+[{HAN}{_SMALL}]*)*)"
    rf"(?P<unit>{either(_UNITS)})?(?P<counter>(?=[{_COUNTERS}]|(?P<to>\s?[至到-]\s?[{HAN}\d])))?"
)
_EITHER = re.compile(f"(?P<low>[{HAN}])(?P<high>[{HAN}])")
"""Two digits side by side, as in 两三 or 三四千: one or the other."""
_ANY = rf"(?:\d+(?:[.,]\d+)*|[{HAN}{_SMALL}]+(?:[点點][{HAN}]+)?)"
_OF_HUNDRED = re.compile(rf"(?P<base>[百千万])分之\s?(?P<share>{_ANY})")
_FRACTION = re.compile(rf"(?<![\d.{HAN}{_SMALL}])(?P<below>{_ANY})\s?(?:分之|分の|분의)\s?(?P<above>{_ANY})")
_TENTHS = re.compile(
    rf"(?<![\d.,{HAN}{_SMALL}])(?P<tenths>[1-9](?:\.\d)?|[一二两三四五六七八九](?:[点點][{HAN}])?)"
    rf"(?:割(?:(?P<more>[1-9{HAN}])分|引)?(?![合り])|成(?P<half>[1-9一二三四五六七八九])?(?![员員立为為功果长長本人交分不熟年]))"
)
_ANY_SHARE = re.compile("分之|分の|분의|[成割]")


def han_numbers(text: str) -> Iterator[Figure]:
    """Yield the numbers of a folded text that are written in Han numerals."""
    for match in _NUMBER.finditer(text) if not text.isascii() else ():
        number = match["number"]
        if not _counts(number, bool(match["unit"]) or match["counter"] is not None) and not match["to"]:
            continue
        if either := _either(number):
            unit = UNIT_OF.get(match["unit"] or "", "")
            for value in either:
                yield Figure(value, unit, match.group(), certain=False, at=match.start())
            continue
        value = han_value(number)
        dated = len(number) == 4 and not any(char in CJK_SCALES for char in number) and is_year(value)
        others = _short(number, value)
        unit = UNIT_OF.get(match["unit"] or "", "")
        yield Figure(value, unit, match.group(), others=others, dated=dated, certain=not others, at=match.start())


def _either(number: str) -> tuple[Decimal, ...]:
    """Return what a numeral with two digits side by side says, the one or the other: 两三 is two or three.

    Not of a run of digits, which is a year or a number read out: 二〇二四, 一九九.
    """
    pair = _EITHER.search(number)
    if not pair or (len(number) > 2 and all(char in HAN_DIGITS for char in number)):
        return ()
    low, high = HAN_DIGITS[pair["low"]], HAN_DIGITS[pair["high"]]
    if not 0 < low < high <= low + 2:
        return ()
    before, behind = number[: pair.start()], number[pair.end() :]
    return tuple(han_value(f"{before}{pair[way]}{behind}") for way in ("low", "high"))


def _counts(number: str, counted: bool) -> bool:
    """Return whether a run of numerals is a number: 一 mostly is none, nor is 百 or 万 alone."""
    digits = any(char in HAN_DIGITS for char in number)
    if len(number) == 1:
        return counted and digits and number != "一" and not _FORMAL.match(number)
    if not counted and not (digits and any(char in _BIG for char in number)):
        return False
    return not _FORMAL.match(number) or any(char in "拾佰仟万萬亿億" for char in number)


def _short(number: str, value: Decimal) -> tuple[Decimal, ...]:
    """Return what a number means that ends in a digit below a scale: 三万五 is said for 三万五千."""
    above = CJK_SCALES.get(number[-2:-1], 0)
    digit = HAN_DIGITS.get(number[-1], 0)
    return (value - digit + Decimal(digit * above) / 10,) if above >= 100 and digit else ()


def shares(text: str) -> Iterator[Figure]:
    """Yield the shares of a folded text that are said in words, as percentages."""
    if text.isascii() or not _ANY_SHARE.search(text):
        return
    for match in _OF_HUNDRED.finditer(text):
        yield share(match.group(), match.start(), _value(match["share"]) * 100 / CJK_SCALES[match["base"]])
    for match in _FRACTION.finditer(text):
        if (below := _value(match["below"])) and match["below"] not in ("百", "千", "万"):
            yield share(match.group(), match.start(), _value(match["above"]) * 100 / below)
    for match in _TENTHS.finditer(text):
        less = match["more"] or match["half"]
        named = "成" in match.group() and not match["tenths"].isdecimal()  # 三成 is a man's name as well
        yield share(
            match.group(),
            match.start(),
            _value(match["tenths"]) * 10 + (_value(less) if less else 0),
            certain=not named,
        )


def _value(said: str) -> Decimal:
    return readings(said)[0] if said[0].isdecimal() else han_value(said)
