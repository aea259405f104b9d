"""Negation, and words that exclude each other: whether claim and passage say yes and no of the same thing."""

from __future__ import annotations

import re
from functools import cache

from leadline_plugins.checks.negators import scopes
from leadline_plugins.text import content_set, tokens
from leadline_plugins.text.tokens import stem

_PAIRS = """increase decrease|increased decreased|increases decreases|rise fall|rising falling|rose fell|grow shrink|
more fewer|more less|higher lower|high low|larger smaller|above below|before after|first last|win lose|won lost|
better worse|best worst|
true false|possible impossible|likely unlikely|safe unsafe|safe dangerous|effective ineffective|positive negative|
warming cooling|warmer cooler|hot cold|faster slower|early late|earlier later|include exclude|accept reject|
accepted rejected|support oppose|supported opposed|allow forbid|allowed banned|legal illegal|alive dead|open closed|
male female|man woman|men women|boy girl|north south|northern southern|east west|eastern western|left right|
all none|always never|everyone nobody|cause prevent|causes prevents|gain loss|strong weak|rich poor|old young|new old|
buy sell|bought sold|public private|domestic foreign|maximum minimum|major minor|majority minority|black white|
上升 下降|增加 减少|增加 減少|增长 下降|提高 降低|扩大 缩小|支持 反对|赞成 反对|成功 失败|男 女|男性 女性|白天 夜晚|
室内 室外|左 右|增 减|上 下|多 少|冷 热|大 小|高 低|新 旧|
開 閉|立って 座って|座って 立って|昼 夜|屋内 屋外|晴れ 雨|赤 青|白 黒"""


def contrary(claim: str, passage: str) -> str:
    """Return a word that is denied in one and said in the other; empty where there is none.

    A negation counts against the other text only where that speaks of what is negated and does not negate it itself;
    where that negates nothing at all, any negation in the claim counts, but for a mild one.
    """
    mine, theirs = list(scopes(claim)), list(scopes(passage))
    said, found = content_set(claim), content_set(passage)
    for scope, mild in mine:
        spoken = scope & found or not (mild or any(other.words & said for other in theirs))
        if spoken and not any(scope & other.words for other in theirs):
            return min(scope & found, default="not")
    for scope, _ in theirs:
        if len(scope & said) * 2 > len(scope) and not any(scope & own.words for own in mine):
            return min(scope & said)
    return ""


def opposed(claim: str, passage: str) -> tuple[str, str] | None:
    """Return a word of the claim and its opposite in the passage, where it lacks the first; None where none."""
    said, found = set(tokens(claim)), set(tokens(passage))
    for one, other in _opposites():
        if one in said and one not in found and other in found and other not in said:
            return _spelled(one, claim), _spelled(other, passage)
    return None


def _spelled(word: str, text: str) -> str:
    """Return a stem as the text spells it."""
    return next((said for said in re.findall(r"\w+", text) if stem(said.casefold()) == word), word)


@cache
def _opposites() -> tuple[tuple[str, str], ...]:
    pairs = [tuple(map(stem, pair.split())) for pair in _PAIRS.replace("\n", "").split("|")]
    return tuple(way for one, other in pairs for way in ((one, other), (other, one)))
