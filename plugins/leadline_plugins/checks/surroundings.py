"""What stands around a figure and changes what it says: a word that makes it a bound, and a unit that is not read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from leadline_plugins.checks.figure import Bound, Figure
from leadline_plugins.checks.vocabulary import word_list

_SPACED: Mapping[Bound, str] = {
    "about": """about some roughly around approximately approx approx. circa ca ca. c. an_estimated estimated ~ ≈ ∼ ±
        rund etwa ungefähr zirka gut environ quelque quelques vers unos unas alrededor_de cerca_de aproximadamente
        ongeveer circa około cirka omkring около примерно приблизительно 약 대략""",
    "least": """over above more_than greater_than higher_than larger_than longer_than upwards_of in_excess_of
        exceeding exceeds exceeded surpassing surpassed topped > ≥ über mehr_als plus_de dépasse más_de sobre oltre
        più_di mais_de meer_dan ruim более больше свыше""",
    "most": """under below less_than fewer_than lower_than smaller_than shorter_than < ≤ unter weniger_als moins_de
        menos_de meno_di minder_dan менее меньше""",
    "near": """nearly almost close_to approaching just_under fast knapp nahezu près_de presque casi quasi quase bijna
        почти 거의""",
    "floor": """at_least no_less_than not_less_than no_fewer_than no_lower_than not_lower_than no_smaller_than
        not_smaller_than not_below not_under mindestens nicht_unter nicht_weniger_als au_moins al_menos
        almeno pelo_menos minstens 최소""",
    "ceiling": """at_most up_to as_much_as as_many_as no_more_than not_more_than no_higher_than
        not_higher_than no_greater_than not_greater_than no_larger_than not_larger_than no_longer_than not_longer_than
        not_exceed not_exceeds not_exceeded not_exceeding never_exceeded not_above not_over höchstens nicht_über
        nicht_mehr_als
        bis_zu au_plus a_lo_sumo hoogstens до 최대""",
}
_PHRASES = {phrase.replace("_", " "): bound for bound, phrases in _SPACED.items() for phrase in word_list(phrases)}
_SIGNS = frozenset(phrase for phrase in _PHRASES if len(phrase) == 1 and not phrase.isalnum())
_LONGEST = 3
"""Words of the longest such phrase."""
_BEFORE: Mapping[Bound, tuple[str, ...]] = {
    "about": ("约", "約", "大概", "大致", "差不多", "およそ"),
    "least": ("超过", "超過", "超", "逾", "多于", "大于", "高于", "突破"),
    "most": (
        *(
            "不到",
            "不足",
            "不满",
            "不滿",
            "不及",
            "未到",
            "未及",
            "未满",
            "未滿",
            "未达",
            "未達",
            "未达到",
            "少于",
            "低于",
            "小于",
        ),
    ),
    "near": ("近", "接近", "将近", "將近", "ほぼ"),
    "floor": ("至少", "不少于", "不低于", "不小于"),
    "ceiling": (
        *("至多", "最多", "不超过", "不超過", "不超", "未超过", "未超過", "未超"),
        *("不逾", "未逾", "不多于", "不高于", "未高于", "不大于"),
    ),
}
_ENDS = tuple(ending for endings in _BEFORE.values() for ending in endings)
_BY_LENGTH = sorted(((end, bound) for bound, ends in _BEFORE.items() for end in ends), key=lambda pair: -len(pair[0]))
_JOINING = frozenset("有为為占佔达達合了")
"""What may stand between a Chinese one and the digits: 约有, 超过了."""
_OPENING = " \t(（[\"'“$€£¥"
"""What may stand between the word and the digits."""
_CODES: Mapping[str, str] = {
    "us": "",
    "usd": "usd",
    "eur": "eur",
    "gbp": "gbp",
    "rmb": "yuan",
    "cny": "yuan",
    "krw": "won",
}
_CURRENCY = re.compile(rf"\b(?P<code>{'|'.join(sorted(_CODES, reverse=True))})\s*$")
_ENDS_OF_CODES = tuple(_CODES)
"""A currency that stands before its number: `USD 127 billion`, `US$ 5`."""
_BEHIND = re.compile(
    r"\s?(?:(?P<least>\+|多|余(?![额額])|餘|強|or more\b|or over\b|-plus\b|이상|초과)"
    r"|(?P<most>弱|or less\b|or fewer\b|이하|미만)"
    r"|(?P<about>or so\b|-odd\b|前後|가량|정도))"
    r"|\s?[^\W\d_a-z]?(?:(?P<atleast>以上)|(?P<atmost>以下|以内|以內|未満|未满)|(?P<around>左右|上下))"
)
_KINDS: Mapping[str, Bound] = {
    **dict.fromkeys(("least", "atleast"), "least"),
    **dict.fromkeys(("most", "atmost"), "most"),
    **dict.fromkeys(("about", "around"), "about"),
}
_REACH = 24
"""Characters before a figure in which such a word may stand."""

_PREFIX = "(?:[pnuµμmcdhkgt])?"
_UNREAD = re.compile(
    rf"[\s-]?(?:{_PREFIX}(?:wh|hz|pa|cal|ev|bar|mol|bps|bit|[glwvjbats])|db|ha|lbs?|oz|gal|bbl|pp[mb]|mph|kph|rpm"
    r"|[a-z]{1,2}[23]"
    r"|(?:square|cubic) [a-z]+|percentage points?|basis points?|quadrat[a-z]+|kubik[a-z]+"
    r"|(?:hecto|deci|centi|milli|micro|nano|kilo|mega|giga|tera)?(?:lit(?:re|er)s?|gram(?:me)?s?|watt(?:s|[- ]?hours?)?"
    r"|hertz|joules?|volts?|bytes?|bits?|pascals?|calories?)|hectares?|acres?|gallons?|barrels?|ounces?|inch(?:es)?"
    r"|decibels?)?"
    r"(?:\s?/\s?[a-z]{1,6}[23]?|\sper\s[a-z]+)?(?![^\W_])"
    r"|\s?(?:[个個]?百分[点點]|ポイント)|\s?(?:平方|立方)?(?:公里|千米|厘米|毫米|公顷|英亩|亩|立方|毫升|升(?![至到为為高值幅])|克|兆瓦时|千瓦时|兆瓦|千瓦|吉瓦|瓦|度|斤|磅|桶|加仑|盎司|里)"
)
"""A unit that is not read as one, or what makes another of one that is: `dB/m`, `hl`, `km/h`, `m2`."""


def situated(figure: Figure, text: str) -> Figure:
    """Return a figure of a folded text with what its surroundings make of it; dates are as they are."""
    if figure.month:
        return figure
    end = figure.at + len(figure.said)
    before = text[max(0, figure.at - _REACH) : figure.at].rstrip(_OPENING)
    money = _CURRENCY.search(before) if before.endswith(_ENDS_OF_CODES) else None
    if money:
        before = before[: money.start()].rstrip(_OPENING)
    unit = figure.unit or (_CODES[money["code"]] if money and not figure.dated else "")
    bound = figure.bound or _before(before) or _behind(text, end)
    unread = _UNREAD.match(text, end)
    if not bound and unit == figure.unit and (not unread or unread.end() == end):
        return figure
    tail = "".join(unread.group().strip("- \n\t").split()) if unread else ""
    return replace(figure, unit=unit, bound=bound, certain=figure.certain and not bound, tail=tail)


def _before(text: str) -> Bound:
    """Return what the words before a figure make of it."""
    text = text[:-1] if text[-1:] in _JOINING else text
    if text.endswith(_ENDS):
        return next(bound for ending, bound in _BY_LENGTH if text.endswith(ending))
    if text[-1:] in _SIGNS:
        return _PHRASES[text[-1]]
    words = [word.lstrip(_OPENING) for word in text.rsplit(None, _LONGEST)[-_LONGEST:]]
    phrases = (" ".join(words[at:]) for at in range(len(words)))
    return next((_PHRASES[phrase] for phrase in phrases if phrase in _PHRASES), "")


def _behind(text: str, end: int) -> Bound:
    found = _BEHIND.match(text, end)
    return _KINDS[found.lastgroup] if found and found.lastgroup else ""
