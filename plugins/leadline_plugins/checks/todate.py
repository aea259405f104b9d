"""Months from the beginning of a year: 1-8月, 前8月, 首两月, 前三季度 are the same way of saying how far it is told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from leadline_plugins.checks.figure import TO_DATE, Figure
from leadline_plugins.checks.spelled import han_value

_NUMBER = "(?:1[0-2]|[2-9]|十[一二]?|[二两兩三四五六七八九])"
_FROM_FIRST = re.compile(rf"(?<![\d.,十-])[1一]月?\s?[-–—~〜至到]\s?(?P<months>{_NUMBER})月")
_FIRST = re.compile(rf"[前首头頭](?P<number>{_NUMBER})(?:[个個]|ヶ|か)?(?P<of>月|季)")
_NAMED = re.compile("(?P<quarter>首季|(?<![二三四前上每])一季度|第1四半期)|上半[年期]")
_ANY = re.compile("[月季]|半[年期]|四半期")


def to_date(text: str) -> Iterator[Figure]:
    """Yield how many months of a year a folded text tells together; a name of them (上半年) may only bear another."""
    if not _ANY.search(text):
        return
    for match in _FROM_FIRST.finditer(text):
        yield _months(_value(match["months"]), match)
    for match in _FIRST.finditer(text):
        yield _months(_value(match["number"]) * (1 if match["of"] == "月" else 3), match)
    for match in _NAMED.finditer(text):
        yield _months(3 if match["quarter"] else 6, match, lent=True)


def _value(said: str) -> int:
    return int(said) if said.isdecimal() else int(han_value(said))


def _months(count: int, match: re.Match[str], *, lent: bool = False) -> Figure:
    return Figure(Decimal(count), TO_DATE, match.group(), lent=lent, at=match.start())
