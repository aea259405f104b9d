"""How figures are compared: higher or lower, up or down, since when; what a claim's own figures already deny.

"Up from 1,128 to 1,061" and "49.7 %, below the average of 43.7 %" need no passage to be doubted.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from leadline_plugins.checks.figure import Figure, same
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.marks import marked
from leadline_plugins.checks.periods import other_alone
from leadline_plugins.text.tokens import fold

_SINCE = (
    re.compile(
        r"\byear[- ](?:on|over|to)[- ]year\b|\by[-/]?o[-/]?y\b|同比|前年(?:同期)?比|전년\s?(?:동기\s?)?대비",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:month|quarter|week)[- ](?:on|over|to)[- ](?:month|quarter|week)\b|环比|環比|前[月期]比"
        r"|전[월분기]+\s?대비",
        re.IGNORECASE,
    ),
)
"""Words of a comparison with the year before, and with the period before."""
_FROM_TO = ("から", re.compile("(?:に|へ|まで)"))
"""What stands between and behind two figures in Japanese: 9%から15%に."""
_HINT = re.compile(r"から|\b(?:from|von)\b|\b(?:above|below)\b|\b(?:than|als)\b|[由从從自]|[高低][于於]")
"""What any comparison of two figures has; most claims have none, and that is quickly seen."""
_UP = re.compile(
    r"\b(?:increas|r[io]se\b|rising|gr[eo]w|climb|jump|up\b|expand|soar|surg|stieg|wuchs|kletter)[a-z]*|升[至到为為]|[增涨漲][至到]|加到|高[至到]"
    r"|上昇|増加|拡大|上が"
)
_DOWN = re.compile(
    r"\b(?:decreas|declin|fell\b|fall|drop|down\b|shr[aiu]nk|slid|slump|reduc|lower|sank|fiel\b|schrumpf)[a-z]*|[降跌减減][至到为為]|少[至到]|低[至到]"
    r"|低下|減少|縮小|下落|下が"
)
_FROM = re.compile(r"(?:\b(?:from|von)|[由从從自])\s*(?:about|around|nearly|over|约|約)?\s*$")
_TO = re.compile(r"[^\d,.;，。；、]{0,12}?(?:\b(?:to|auf)\b|[至到]|[升降]为)[^\d,.;，。；、]{0,10}$")
_LEVEL = re.compile(
    r"\s*[,，]?\s*(?:which|that|it|and|is|was|were|are|far|well|slightly|still|much|also|仍|也|均|都|远|遠|略|明显|大幅|显著"
    r"|已|而|且|，|\s)*(?:(?P<above>\babove\b|\bhigher than\b|高[于於])|(?P<below>\bbelow\b|\blower than\b|低[于於]))"
    r"(?!.*\band\b)[^\d,.;，。；]{0,40}$"
)
_THAN = re.compile(
    r"(?<!no )(?<!not )\b(?:(?P<above>more|higher|larger|greater|bigger|mehr|höher|größer)"
    r"|(?P<below>less|fewer|lower|smaller|weniger|niedriger|kleiner|geringer))\b[^.;:\d]{0,80}\b(?:than|als)\b[^.;:\d]{2,60}"
    r"[:,(–—]\s*(?:at |with |mit )?[$€£]?$"
)
"""More of the one than of the other, before the figures of both."""
_AGAINST = re.compile(r"\s*(?:,\s)?(?:against|versus|vs\.?|compared (?:with|to)|as against|gegen(?:über)?)\s*[$€£]?")
_EXACT = re.compile(r"(?:\b(?:exactly|precisely|genau|exakt)|恰好|正好|刚好|剛好|ちょうど)\s*$")
_SAYS_EXACTLY = re.compile(_EXACT.pattern.removesuffix(r"\s*$"))
_ROUGH = ("about", "near")
"""Bounds that leave the number itself open."""
_PLACES = re.compile(r"\b(?:rank|place|position)|排名|位[次居]")
"""Where less is more."""
_CLAUSE = re.compile(r"[,.;:，。；：](?!\d)")
_OTHER = ("month", "year", "ordinal", "reference")
"""Kinds of figures that are not higher or lower than others."""
_BEFORE = 60
"""Characters before a pair in which its verb stands."""
_BEHIND = 12
"""Characters behind one in which Japanese has it."""
_AHEAD = 180
"""The same for what is said to be more than another."""
_SCALE = 100
"""Times from which two figures are not of one scale: `from 8 to 5 million`."""


@dataclass(frozen=True)
class _Pair:
    """Two figures side by side, and what stands before, between and right behind them."""

    one: Figure
    other: Figure
    before: str
    between: str
    behind: str
    ahead: str
    """All that stands close before it, of other clauses too."""

    @property
    def spanning(self) -> bool:
        """Whether it says from where to where."""
        japanese = self.between == _FROM_TO[0] and _FROM_TO[1].match(self.behind)
        return bool(japanese or (_FROM.search(self.before) and _TO.match(self.between)))


def untrue(claim: str) -> str:
    """Return the words of a claim that its own figures deny; empty where they deny none."""
    return next(filter(None, map(_denied, _pairs(claim))), "")


def turned(claim: str, passage: str) -> tuple[str, str] | None:
    """Return from where to where a claim says, if the passage says it the other way round; None where it does not."""
    mine = [pair for pair in _pairs(claim) if pair.spanning]
    theirs = [pair for pair in _pairs(passage) if pair.spanning] if mine else []
    for pair in mine:
        if not any(same(pair.one, one.one) and same(pair.other, one.other) for one in theirs):
            for one in theirs:
                if same(pair.one, one.other) and same(pair.other, one.one):
                    return f"{pair.one.said} → {pair.other.said}", f"{one.one.said} → {one.other.said}"
    return None


def other_since(claim: str, passage: str) -> tuple[str, str] | None:
    """Return since when a claim compares, or of which time it tells, and what the passage has instead."""
    for at in (0, 1):
        if said := _SINCE[at].search(claim):
            found = _SINCE[1 - at].search(passage)
            if found and not _SINCE[1 - at].search(claim) and not _SINCE[at].search(passage):
                return said[0], found[0]
    return other_alone(claim, passage)


def inexact(claim: str, passage: str) -> tuple[str, str] | None:
    """Return what a claim says to be exactly so, where the passage has it as roughly so; None where it does not."""
    folded = fold(marked(claim))
    for one in figures(claim) if _SAYS_EXACTLY.search(folded) else ():
        if exactly := _EXACT.search(folded, 0, one.at):
            alike = [other for other in figures(passage) if one.value == other.value and one.unit == other.unit]
            if alike and all(other.bound in _ROUGH for other in alike):
                return f"{exactly[0]}{one.said}", f"≈ {alike[0].said}"
    return None


def _pairs(text: str) -> Iterator[_Pair]:
    folded = fold(marked(text))
    if not _HINT.search(folded):
        return
    found = sorted((one for one in figures(text) if one.kind not in _OTHER), key=lambda one: one.at)
    for one, other in itertools.pairwise(found):
        end = one.at + len(one.said)
        if end <= other.at:
            before = _CLAUSE.split(folded[max(0, one.at - _BEFORE) : one.at])[-1]
            behind = _CLAUSE.split(folded[other.at + len(other.said) :][:_BEHIND])[0]
            ahead = folded[max(0, one.at - _AHEAD) : one.at]
            yield _Pair(one, other, before, folded[end : other.at], behind, ahead)


def _denied(pair: _Pair) -> str:
    """Return the words that say of two figures what they are not."""
    one, other = pair.one, pair.other
    if not _comparable(one, other) or _PLACES.search(pair.before) or pair.before.endswith(("-", "−")):
        return ""
    if level := _LEVEL.match(pair.between):
        wrong = one.value < other.value if level["above"] else one.value > other.value
        return f"{one.said}{pair.between}{other.said}" if wrong and one.unit else ""
    if (than := _THAN.search(pair.ahead)) and _AGAINST.fullmatch(pair.between):
        wrong = one.value < other.value if than["above"] else one.value > other.value
        return f"{than[0]}{one.said}{pair.between}{other.said}" if wrong and one.unit else ""
    if not pair.spanning or pair.between.rstrip().endswith(("-", "−")):
        return ""
    up, down = (
        kind.search(f"{pair.before} {pair.between} {pair.behind if _FROM_TO[0] in pair.between else ''}")
        for kind in (_UP, _DOWN)
    )
    if bool(up) == bool(down):
        return ""
    wrong = one.value > other.value if up else one.value < other.value
    return f"{one.said}{pair.between}{other.said}" if wrong else ""


def _comparable(one: Figure, other: Figure) -> bool:
    """Return whether two figures are of one unit and scale, and not the same."""
    if one.unit != other.unit and one.unit and other.unit:
        return False
    low, high = sorted((one.value, other.value))
    return one.tail == other.tail and 0 < low < high < low * _SCALE
