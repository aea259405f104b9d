"""Of how many a text says something: of all, most, many, some, few or none of them.

A claim that says of all what its passage says of most is false with every word in its place. Only words of extent that
stand by the same noun are compared, and only where the passage has none that is as the claim's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from leadline_plugins.text import content_words
from leadline_plugins.text.tokens import has_cjk

_NONE, _FEW, _SOME, _MANY, _MOST, _ALL = range(6)
_OTHERS = r"(?!\s+(?:other|time|day|week|month|year|quarter|few|two|three|over|along|told|too|but|kinds|sorts|\d))"
_SPACED = re.compile(
    r"\b(?:"
    r"(?P<most>(?:nearly|almost|virtually|practically|not|fast)\s+(?:all|every|each|alle[nrs]?)"
    r"|(?<!the )(?<!at )(?<!second )(?<!third )most(?=\s+(?:of\b|[a-z-]+s\b|[a-z-]+\s[a-z-]+s\b|people\b))"
    r"|majority(?=\s+of)"
    r"|(?:die|der|den)\s+meisten|mehrheit|großteil)"
    rf"|(?P<all>(?<!of )(?<!after )(?<!above )(?<!at )(?:all|every|each|everyone|everybody){_OTHERS}"
    r"|alle[nr]?|sämtliche[nr]?)"
    r"|(?P<many>(?<!how )(?<!as )(?<!so )many|numerous|lots\s+of|a\s+lot\s+of|half(?=\s+of)|viele[nr]?)"
    r"|(?P<few>hardly\s+any|scarcely\s+any|minority(?=\s+of)|(?<!a )(?<!past )(?<!last )(?<!next )(?<!every )few"
    r"|wenige[nr]?)"
    r"|(?P<some>some(?=\s+(?!\d))|several|a\s+few|a\s+number(?=\s+of)|einige[nr]?|manche[nr]?)"
    r"|(?P<none>none(?=\s+of)|not\s+one(?=\s+of))"
    r")\b",
    re.IGNORECASE,
)
_HAN = re.compile(
    r"(?P<most>几乎(?:所有|全部|都)|幾乎(?:所有|全部|都)|[绝絕]大(?:部分|多[数數])|大部分|大多[数數]?|大都(?![市会會])|(?<!大)多[数數]|多半|大半"
    r"|ほとんど|大多数|ほぼ(?:すべて|全て))"
    r"|(?P<some>一部分|(?<![大成这這那该該各])部分(?=[^，。、的]{2})|一些|有些|若干|一部の?|いくつか)"
    r"|(?P<few>(?:极|極)?少[数數]|[个個]别)"
    r"|(?P<many>[许許很]多|不少|[众眾]多|[诸諸]多|多くの?)"
    r"|(?P<none>没有一[个個家位项項]|沒有一[個家位項]|[无無]一(?=[家人个個]))"
    r"|(?P<all>所有(?![权權者制])|全部|全[体體]|一切|每一?[个個家位项項]|(?<![首成古大港京新旧迁建定陪])都(?![市会會城督江])"
    r"|(?<![平人年日月户戶周场畝亩])均(?![衡值价價匀等线線分])|すべて|全て|全員|いずれも)"
)
_ANY_HAN = re.compile("[部多大有些全切每都均少别一くとす]")
_CLAUSE = re.compile(r"[,.;:!?，。；：！？、()（）\n]")
_BASE = re.compile(r"[^，。；]{0,12}?(?:中|之中|当中|當中|里|裡|のうち)")
"""What makes all of them only that of which something is said: 在所有行业中."""
_BEHIND = 4
"""Content words behind one of a language with spaces that tell of what it is said."""
_AROUND = 10
"""Characters to each side of one of Chinese or Japanese that do."""
_SHARED = 2
"""Words that two have in common which are said of the same."""
_STRONGER = {
    _ALL: (_FEW, _SOME, _MANY, _MOST),
    _MOST: (_FEW, _SOME, _MANY, _ALL),
    _MANY: (_FEW,),
    _FEW: (_MANY, _MOST, _ALL),
    _NONE: (_FEW, _SOME, _MANY, _MOST, _ALL),
}
"""What of a passage an extent of a claim does not follow from."""


@dataclass(frozen=True)
class _Extent:
    """A word of extent, and the content words that tell of what it is said, in their order."""

    level: int
    said: str
    of: tuple[str, ...]


def other_extent(claim: str, held: str) -> tuple[str, str] | None:
    """Return of how many a claim says what a sentence says of fewer, or of all and not of most; else None."""
    mine = list(_extents(claim))
    theirs = list(_extents(held)) if mine else []
    for one in mine:
        alike = [other for other in theirs if _alike(one, other)]
        said_too = any(own.level == other.level for own in mine for other in alike)  # 大部分企业都
        if alike and not said_too and all(other.level in _STRONGER.get(one.level, ()) for other in alike):
            return one.said, alike[0].said
    return None


def _alike(one: _Extent, other: _Extent) -> bool:
    """Return whether both are said of the same: the noun next to one is by the other too, and what is said of it."""
    shared = set(one.of) & set(other.of)
    enough = len(shared) >= min(_SHARED, len(set(one.of)), len(set(other.of)))
    if not shared or not enough:
        return False
    return not one.of[0].isascii() or one.of[0] in other.of or other.of[0] in one.of


def _extents(text: str) -> Iterator[_Extent]:
    if not has_cjk(text):
        for match in _SPACED.finditer(text):
            behind = _CLAUSE.split(text[match.end() : match.end() + 90], maxsplit=1)[0]
            if of := content_words(behind)[:_BEHIND]:
                yield _Extent(_level(match), match[0], tuple(of))
    elif _ANY_HAN.search(text):
        for match in _HAN.finditer(text):
            before = _CLAUSE.split(text[max(0, match.start() - _AROUND) : match.start()])[-1]
            behind = _CLAUSE.split(text[match.end() : match.end() + _AROUND], maxsplit=1)[0]
            of = [*content_words(before), *content_words(behind)]
            if of and not _BASE.match(text, match.end()):
                yield _Extent(_level(match), match[0], tuple(of))


def _level(match: re.Match[str]) -> int:
    return ("none", "few", "some", "many", "most", "all").index(match.lastgroup or "")
