"""Marks between digits: which hold one number together and which part two, told before folding makes them alike."""

from __future__ import annotations

import re

_THIN = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_WIDE_THOUSANDS = re.compile(r"(?<![\d.])[1-9１-９]\d{0,2}(?:，\d{3})+(?!\d|，\d)")
_WIDE_COMMA = re.compile(r"(?<=\d)，(?=\d)")
_WIDE_STOP = re.compile(r"(?<=\d)．(?=(?:1[5-9]|20)\d\d年)")
_YEAR = r"(?:1[5-9]|20)\d\d"
_LISTED = re.compile(rf"\[\d+(?:[,;–-] ?\d+)+\]|(?<![\d.,])(?:{_YEAR},{_YEAR}(?![.,]?\d)|\d+(?:,\d+){{2,}})(?!\d)")
"""Numbers in a list without spaces: three or more, two years, or references: `1,2,3`, `2019,2020`, `[5,6]`."""
_REFERENCE = re.compile(r"\\?[\[【]\^?\d{1,3}(?:(?:[,;] ?|[–-])\d{1,3})*\\?[\]】]")
RAISED = r"e\+"
"""What stands for the 10 of a power whose exponent was raised, as a pattern."""
_POWER = re.compile("(?<=[×x·*])10(?=[⁺⁻]?[⁰¹²³⁴-⁹])|(?<=[×x·*] )10(?=[⁺⁻]?[⁰¹²³⁴-⁹])")
_TEN = re.compile("(?<![\\d.,^])10(?=[⁺⁻]?[⁰¹²³⁴-⁹])")
_TEN_CARET = re.compile(r"(?<![\d.,^×x*·])(?<![×x*·] )10\^(?=[-+−]?\d)")
"""A power of ten that nothing is multiplied by: `10⁶ cells`."""
_WRITTEN = re.compile(r"\b1e\+?(?=[-−]?\d)|e\+(?=[-−]?\d)")
_UNSPACED = re.compile(r",\d")
"""What no such list can do without, and is quickly seen to be missing."""
_GROUPED = re.compile(r"\[?(?:\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d\d)+,\d{3})\]?")


def marked(text: str) -> str:
    """Return the text with the marks between digits that part numbers made others; no character shifts.

    The spaces that hold a number together become a mark of thousands. A wide comma parts clauses, not decimals
    (`为250，2021年`): where it may part thousands, it becomes a space, which parts either.
    """
    if _UNSPACED.search(text):
        text = _LISTED.sub(_parted, text)
    if "10^" in text:
        text = _TEN_CARET.sub("1e+", text)
    if text.isascii():
        return text
    text = _TEN.sub("1e", _POWER.sub("e+", text))
    text = _THIN.sub("\u066c", text)
    if "，" in text:
        text = _WIDE_THOUSANDS.sub(lambda match: match.group().replace("，", " "), text)
        text = _WIDE_COMMA.sub("、", text)
    return _WIDE_STOP.sub("。", text) if "．" in text else text


def written(said: str) -> str:
    """Return a figure of a marked text as people write it: `1.5×10^6`."""
    return _WRITTEN.sub("10^", said)


def references(text: str) -> list[tuple[int, int]]:
    """Return where numbers stand in brackets, which mostly are the marks of a source's own references: `[38]`."""
    return [match.span() for match in _REFERENCE.finditer(text)] if "[" in text or "【" in text else []


def _parted(listed: re.Match[str]) -> str:
    said = listed.group()
    return said if _GROUPED.fullmatch(said) else said.replace(",", ";")
