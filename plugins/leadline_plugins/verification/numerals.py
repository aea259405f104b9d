"""What the spelling of one number means: digits with marks between them, and Han numerals.

Which mark separates thousands and which decimals depends on the language, so some spellings have two readings.
"""

from __future__ import annotations

import re
from decimal import Decimal

HAN_DIGITS = dict(zip("〇零一二三四五六七八九", (0, *range(10)), strict=True)) | {"两": 2, "兩": 2}
HAN_DIGITS |= dict(zip("壹贰叁肆伍陆柒捌玖", range(1, 10), strict=True))
HAN_SCALES = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000, "万": 10**4, "萬": 10**4, "만": 10**4}
HAN_SCALES |= {"亿": 10**8, "億": 10**8, "억": 10**8, "兆": 10**12, "조": 10**12}
_ALIKE = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
"""A number of thousands for some and one with three decimals for others."""
DIGITS = (
    r"\d{1,3}(?P<mark>[.,'’ \u066c])\d{3}(?:(?P=mark)\d{3})*(?!\d|(?P=mark)(?<=[.,])\d)"
    r"(?:(?!(?P=mark))[.,\u066b]\d+)?|\d{1,2}(?:,\d\d)+,\d{3}(?!\d)(?:\.\d+)?|\d+(?:[.,\u066b]\d+)?"
)
"""The digits of one number: `12 500`, `1.234,50`, `12,34,567`, `3,5`."""
_PARTS = re.compile(rf"\d+(?:\.\d+)?|[{''.join({*HAN_DIGITS, *HAN_SCALES})}]")


def readings(digits: str) -> tuple[Decimal, ...]:
    """Return what digits with marks may mean, the likeliest first."""
    marks = re.findall(r"[.,'’ \u066b\u066c]", digits)
    if not marks:
        return (Decimal(digits),)
    last = marks[-1]
    if len(marks) == 1 and _ALIKE.fullmatch(digits):
        thousands, decimal = Decimal(digits.replace(last, "")), Decimal(digits.replace(last, "."))
        return (decimal, thousands) if last == "." else (thousands, decimal)
    decimals = last == "\u066b" or (last in ".," and last not in marks[:-1])
    whole, _, rest = digits.rpartition(last) if decimals else (digits, "", "")
    bare = re.sub(r"\D", "", whole)
    # Plain spaces may separate two numbers as well: `120 345`.
    both = [Decimal(part) for part in digits.split(" ")] if " " in marks and not decimals else []
    return (Decimal(f"{bare}.{rest}" if decimals else bare), *both)


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
    """Return the sum of the parts; a scale multiplies all before it that is smaller: 6万1300亿 is 61300亿."""
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
