"""The edges of a span in its text: one that begins or ends within a number says another number.

As signs, "5% of the patients" stands in "95% of the patients"; as words it does not. Nor does what ends a range, the
months to date or a spelled number: 1-8月 is not 8月, 十五亿 not 五亿.
"""

from __future__ import annotations

import re

_HAN = frozenset("十百千万萬亿億点點两兩二三四五六七八九")
"""Numerals that mostly are part of the number behind them; 一 is not: 统一, 唯一."""
_RANGE = r"\d[%％年月日万萬亿億]?\s?[-‐‑–—−~〜～至到]\s?"
_CUT = re.compile(rf"(?:\d[.,·:/'’٬\u00a0\u2009\u202f]?|{_RANGE}|(?<![^\W_])[-−–])$")
"""What makes a digit behind it the rest of a number, the end of a range, or negative."""
_SPACED = re.compile(r"(?<![\d.,])\d{1,3} $")
_THOUSANDS = re.compile(r"\d{3}(?!\d)")
_REACH = 6
"""Characters before a span that such a thing takes."""
_GOES_ON = re.compile(r"[.,·:'’٬]?\d")


def parts_number(text: str, start: int, end: int) -> bool:
    """Return whether a span of a text begins or ends within a number."""
    return _begins_within(text, start) or (text[end - 1].isdecimal() and bool(_GOES_ON.match(text, end)))


def _begins_within(text: str, start: int) -> bool:
    if text[start].isdecimal():
        before = text[max(0, start - _REACH) : start]
        return bool(_CUT.search(before) or (_SPACED.search(before) and _THOUSANDS.match(text, start)))
    return (text[start] in _HAN or text[start] == "一") and text[max(0, start - 1) : start] in _HAN
