"""Quarters, halves and whole years, in whichever wording: 一季度, Q1, the first quarter and 1-3月 are one time.

A figure of the first quarter is none of the second. That is held against a claim only where the passage tells such a
time beside the same figure, or where both tell one and nothing else of the kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from leadline_plugins.checks.figure import Figure, same
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.marks import marked
from leadline_plugins.checks.vocabulary import MONTHS, either
from leadline_plugins.text import content_set
from leadline_plugins.text.tokens import fold

_Kind = Literal["calendar", "open", "months"]
_ORDER = {"首": 1, "上": 1, "下": 2, "first": 1, "second": 2, "third": 3, "fourth": 4, "final": 4, "last": 4}
_ORDER |= {"two": 2, "three": 3, "six": 6, "nine": 9}
_ORDER |= {char: value for value, char in enumerate("一二三四五六七八九", start=1)} | {"两": 2, "兩": 2}
_ORDER |= {word: value for value, word in enumerate(("erst", "zweit", "dritt", "viert"), start=1)}
_MONTH = rf"(?P<{{}}>{either(MONTHS)})\b\.?"
_ENGLISH = re.compile(
    r"\b(?P<quarter>first|second|third|fourth|final|[1-4](?=st|nd|rd|th))(?:st|nd|rd|th)?[\s-]quarter\b"
    r"|\bq(?P<q>[1-4])(?!\d)|\b(?P<nq>[1-4])q(?:\d\d)?\b"
    r"|\b(?P<half>first|second|[12](?=st|nd))(?:st|nd)?[\s-]half\b"
    r"(?!\s+(?:time|centur|game|match)|\s+of\s+(?:the\s+)?(?!year|fiscal|calendar|financial|(?:19|20)\d\d|this|next|fy))"
    r"|\bh(?P<h>[12])\b|\b(?P<nh>[12])h(?:\d\d)?\b"
    r"|\bfirst\s+(?:(?P<quarters>two|three)\s+quarters|(?P<months>two|three|six|nine|[2-9])\s+months)\b"
    r"|\b(?P<year>(?:full|whole|entire)[\s-]year)\b"
    rf"|\b{_MONTH.format('from')}\s?(?:to|through|until|bis|and|und|[-–—])\s?{_MONTH.format('to')}"
    r"|\b(?P<quartal>erst|zweit|dritt|viert|[1-4](?=\.))(?:e[nrs]?|\.)\s?quartals?\b"
    r"|\b(?P<halbjahr>erst|zweit|[12](?=\.))(?:e[nrs]?|\.)\s?halbjahr(?:e?s)?\b|\b(?P<gesamt>gesamtjahr)"
)
_HAN = re.compile(
    r"(?P<with>[一二三1-3])(?P<by>[、和及与與至到~〜–—-])(?:第\s?)?(?P<and>[二三四2-4])(?:个|個)?季度"
    r"|(?<![前首每续續近过過个個连連\d.])(?:第\s?)?(?P<quarter>[一二三四1-4])(?:季度|四半期)|第(?P<season>[一二三四1-4])季"
    r"|(?P<opening>首)季(?!節|节)度?|[前首头頭](?P<quarters>[二两兩三23])(?:个|個)?季度?"
    r"|(?P<half>[上下])半(?:年|期)|(?<![安健齐齊])(?P<year>全年|通年|通期)(?![龄齡级級])"
    r"|(?<![\d.,])(?P<from>1[0-2]|[1-9])(?:月份?)?\s?[-–—~〜至到]\s?(?P<to>1[0-2]|[1-9])月(?!\d)"
    r"|[前首头頭](?P<months>1[01]|[2-9]|[二两兩三四五六七八九])(?:[个個]|ヶ|か)?月"
)
_QUICK = re.compile(r"quart|half|halb|gesamtjahr|year|month|[qh][1-4]|[1-4][qh]|\bto\b|[-–—]|through|and|und|until|bis")
_QUICK_HAN = re.compile(r"季|四半期|半[年期]|全年|通[年期]|月")
_END = re.compile(r"末|底|\s?-?end\b")
_UNTIL = re.compile(
    r"(?:截至|截止|至|\bas of|\bby|\buntil|\bthe end of|\bend[- ]of)\s?(?:the\s)?(?:(?:19|20)\d\d年?)?\s?$"
)
_COMPARED = re.compile(
    r"(?:[比较較从從自由]|相比|上年|去年|\b(?:than|from|versus|vs\.?|against|since|after|over|compared\s(?:with|to)|von|gegenüber)\b)"
    r"[^\d,.;，。；、]{0,16}$"
)
"""What stands before a time that is only compared with."""
_CLAUSE = re.compile(r"[,;，；。！？!?]|\.(?!\d)")
_PART = re.compile(r"[;；。！？!?\n]|\.(?!\d)\s")
_ANCHOR = 12
"""Up to here a bare number may stand anywhere, beside anything."""
_SHORT = 3
"""Months of a quarter."""


@dataclass(frozen=True)
class Period:
    """A part of a year, by its first and last month."""

    first: int
    last: int
    kind: _Kind
    """Whether it is counted from January, from whenever its year begins, or in months that are named."""
    said: str
    at: int
    end: bool = False
    """Whether the end of it is told, and no more."""
    compared: bool = False
    """Whether something else is only compared with it."""

    def alike(self, other: Period) -> bool:
        """Return whether both may be the same time; of months and quarters of an unknown fiscal year nobody knows."""
        if self.last == other.last and (self.end or other.end or self.first == other.first):
            return True
        return {self.kind, other.kind} == {"open", "months"}


def other_period(claim: str, parts: Sequence[str], around: str) -> tuple[str, str] | None:
    """Return the time a claim tells a figure of, and the one that sentences of a passage tell it of instead.

    None where the claim tells of several, or what stands `around` tells that figure of the claim's own.
    """
    mine = _own(claim)
    for figure in _anchors(claim) if mine else ():
        found = _instead(figure, claim, mine, parts)
        if found and not any(_told_of(figure, mine, part) for part in _PART.split(around)):
            return mine[0].said, found.said
    return None


def other_alone(claim: str, best: str) -> tuple[str, str] | None:
    """Return the one time of a claim and the one of a passage that says the same, where neither has a figure."""
    mine = _own(claim)
    theirs = list(periods(best)) if mine and not _anchors(claim) else []
    differ = len(theirs) == 1 and not any(one.alike(theirs[0]) for one in mine) and not _anchors(best)
    return (mine[0].said, theirs[0].said) if differ else None


def told_then(claim: str, words: str) -> bool:
    """Return whether words tell a figure of the claim, and the time that the claim tells it of."""
    held = figures(words)
    spoken = any(same(one, other) for one in _anchors(claim) for other in held)
    return spoken and any(one.alike(other) for one in _own(claim) for other in periods(words))


def _own(claim: str) -> list[Period]:
    """Return the time that a claim tells of, in each of its wordings; none where it tells of several."""
    mine = [one for one in periods(claim) if not one.compared]
    return mine if all(one.alike(mine[0]) for one in mine) else []


def periods(text: str) -> Iterator[Period]:
    """Yield the parts of a year that a text tells."""
    folded = fold(marked(text))
    if _QUICK.search(folded):
        yield from _told(_ENGLISH, folded)
    if not folded.isascii() and _QUICK_HAN.search(folded):
        yield from _told(_HAN, folded)


def _told(pattern: re.Pattern[str], text: str) -> Iterator[Period]:
    for match in pattern.finditer(text):
        for first, last, kind in _months(match.groupdict(), fiscal="四半期" in match[0] or pattern is _ENGLISH):
            before = text[max(0, match.start() - 24) : match.start()]
            end = bool(_END.match(text, match.end()) or _UNTIL.search(before))
            compared = bool(_COMPARED.search(before))
            yield Period(first, last, kind, match[0], match.start(), end, compared)


def _months(said: dict[str, str | None], *, fiscal: bool) -> Iterator[tuple[int, int, _Kind]]:
    """Yield first and last month of what a match says, and whether its year may begin in any month."""
    kind: _Kind = "open" if fiscal else "calendar"
    for name, value in said.items():
        if not value or name in ("to", "by", "and"):
            continue
        if name in ("quarter", "season", "opening", "q", "nq", "quartal"):
            yield _SHORT * _count(value) - 2, _SHORT * _count(value), kind
        elif name in ("half", "h", "nh", "halbjahr"):
            yield 6 * _count(value) - 5, 6 * _count(value), kind
        elif name == "quarters":
            yield 1, _SHORT * _count(value), kind
        elif name in ("year", "gesamt"):
            yield 1, 12, kind
        elif name == "months":
            yield 1, _count(value), "months"
        elif name == "from" and _count(value) < _count(said["to"] or ""):
            yield _count(value), _count(said["to"] or ""), "months"
        elif name == "with":
            yield from _several(_count(value), _count(said["and"] or ""), kind)


def _several(one: int, other: int, kind: _Kind) -> Iterator[tuple[int, int, _Kind]]:
    """Yield two quarters and what they are together: 一、二季度 may be either."""
    yield from ((_SHORT * at - 2, _SHORT * at, kind) for at in (one, other))
    yield _SHORT * one - 2, _SHORT * other, kind


def _count(said: str) -> int:
    return int(said) if said.isdecimal() else _ORDER.get(said) or MONTHS[said]


def _instead(figure: Figure, claim: str, mine: list[Period], parts: Sequence[str]) -> Period | None:
    """Return the time that sentences tell a figure of, if it is another; a rounded one counts where it is alone."""
    places = {
        part: [one for one in figures(part) if same(figure, one)] for whole in parts for part in _PART.split(whole)
    }
    exact = any(one.value == figure.value for found in places.values() for one in found)
    wanted = content_set(claim)
    best, instead = 0, None
    for part, held in places.items():
        found = [one for one in held if not exact or one.value == figure.value]
        if not found:
            continue
        told = list(periods(part))
        if any(own.alike(one) for own in mine for one in told):
            return None
        shared = len(wanted & content_set(part))
        if shared > best:  # that which says more of the claim, though it may tell no time
            best, instead = shared, next(_of(found, told, fold(marked(part))), None)
    return instead


def _told_of(figure: Figure, mine: list[Period], part: str) -> bool:
    """Return whether a sentence has a figure and one of these times."""
    return any(same(figure, one) for one in figures(part)) and any(
        own.alike(one) for own in mine for one in periods(part)
    )


def _of(places: Iterable[Figure], told: list[Period], part: str) -> Iterator[Period]:
    """Yield the times that are told of figures: before them in the sentence, or behind them in the same clause."""
    for figure in places:
        end = figure.at + len(figure.said)
        for one in told:
            if not one.compared and (one.at < figure.at or not _CLAUSE.search(part[end : one.at])):
                yield one


def _anchors(text: str) -> list[Figure]:
    """Return the figures of a text that are of something, and not a time or a small count."""
    return [
        one
        for one in figures(text)
        if one.kind not in ("month", "year", "ordinal", "reference", "o'clock", "months to date", "months")
        and any(char.isdecimal() for char in one.said)
        and (one.unit or one.value > _ANCHOR or one.value % 1)
    ]
