"""What a spelling of a number may mean: marks between its digits, and numerals of Han and Hangul.

Which mark parts thousands and which decimals depends on the language, and a sentence rarely tells it. So a spelling
that both conventions allow has both readings, the likelier first.
"""

from __future__ import annotations

import re
from decimal import Decimal

from leadline_plugins.checks.vocabulary import CJK_SCALES, HAN_DIGITS

THIN = "\u066c"
"""A mark that only ever parts thousands (the Arabic one); the narrow and no-break spaces are made it."""
_MARK = re.compile(r"[.,'’ \u066b\u066c]")
_ALIKE = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
"""What is a number of thousands for some and one with three decimals for others."""
DIGITS = (
    rf"\d{{1,3}}(?P<mark>[.,'’ {THIN}])\d{{3}}(?:(?P=mark)\d{{3}})*(?!\d|(?P=mark)(?<=[.,])\d)"
    r"(?:(?!(?P=mark))[.,\u066b]\d+)?|\d{1,2}(?:,\d\d)+,\d{3}(?!\d)(?:\.\d+)?|\d+(?:[.,\u066b]\d+)?"
)
"""The digits of one number: `12 500`, `1.234,50`, `12,34,567`, `3,5`."""
_WHOLE = re.compile(r"\d+")
_PAIR = re.compile(r"([1-9]\d{0,3}),([1-9]\d{0,3})")
_PARTS = re.compile(rf"\d+(?:\.\d+)?|[{''.join({*CJK_SCALES, *HAN_DIGITS})}]")


def readings(digits: str) -> tuple[Decimal, ...]:
    """Return what digits with marks may mean, the likeliest first."""
    marks = _MARK.findall(digits)
    if not marks:
        return (Decimal(digits),)
    last = marks[-1]
    if len(marks) == 1 and _ALIKE.fullmatch(digits):
        thousands, decimal = Decimal(digits.replace(last, "")), Decimal(digits.replace(last, "."))
        return (decimal, thousands) if last == "." else (thousands, decimal)
    decimals = last == "\u066b" or (last in ".," and last not in marks[:-1])
    whole, _, rest = digits.rpartition(last) if decimals else (digits, "", "")
    return (Decimal(_MARK.sub("", whole) + ("." + rest if decimals else "")),)


def parts(digits: str, *, measured: bool) -> tuple[Decimal, ...]:
    """Return the numbers that digits with marks may be instead of one: between plain spaces, or about a comma.

    Of a list about a comma the second is the greater (`4,5 and 6`), and no unit or scale follows (`measured`).
    """
    if " " in digits:
        return tuple(Decimal(part) for part in digits.split(" ") if _WHOLE.fullmatch(part))
    pair = None if measured or _ALIKE.fullmatch(digits) else _PAIR.fullmatch(digits)
    return (Decimal(pair[1]), Decimal(pair[2])) if pair and int(pair[1]) < int(pair[2]) else ()


def han_value(numeral: str) -> Decimal:
    """Return the value of a numeral in Han characters, digit by digit (二〇二四) or by scales (三百五十, 三点五亿).

    Digits may stand in it, and scales of Hangul: 6万1300亿, 3억5천만.
    """
    if all(char in HAN_DIGITS for char in numeral):
        return Decimal("".join(str(HAN_DIGITS[char]) for char in numeral))
    return _summed(_PARTS.findall(_pointed(numeral).replace(" ", "")))


def _pointed(numeral: str) -> str:
    """Return the numeral with a decimal in words as digits: 三点五亿 is 3.5亿."""
    whole, point, rest = numeral.replace("點", "点").partition("点")
    if not point:
        return numeral
    decimals = re.match(f"[{''.join(HAN_DIGITS)}]*", rest)
    end = decimals.end() if decimals else 0
    return f"{han_value(whole)}.{''.join(str(HAN_DIGITS[char]) for char in rest[:end])}{rest[end:]}"


def _summed(parts: list[str]) -> Decimal:
    """Return the sum of the parts; a scale multiplies all before it that is smaller: 6万1300亿 is 61300亿."""
    sums: list[Decimal] = []
    below, digit = Decimal(0), Decimal(0)
    for part in parts:
        if part not in CJK_SCALES:
            digit = Decimal(HAN_DIGITS[part]) if part in HAN_DIGITS else Decimal(part)
        elif (scale := CJK_SCALES[part]) < 10**4:
            below, digit = below + (digit or 1) * scale, Decimal(0)
        else:
            section = below + digit
            while sums and sums[-1] < scale:
                section += sums.pop()
            sums.append((section or Decimal(1)) * scale)
            below, digit = Decimal(0), Decimal(0)
    return sum(sums, below + digit)
