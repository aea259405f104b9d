"""Words that exclude each other, where claim and passage say them of the same thing.

Every page has a `more` and a `less`: the one is the opposite of the other only beside the same words, a character only
beside the same character (上半年, 下半年).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

from leadline_plugins.checks.negators import scopes
from leadline_plugins.text import content_words, tokens
from leadline_plugins.text.tokens import has_cjk, stem

_UP = """increase increased increases increasing rise rises rising rose risen grow grows growing grew grown climb climbs
climbed climbing jump jumped surge surged surging soar soared soaring expand expanded expanding
stieg stiegen gestiegen steigt wuchs wuchsen gewachsen erhöhte erhöhten kletterte kletterten
augmenté augmente augmentation hausse aumentó aumentado subió creció
上升 上涨 上漲 增长 增長 增加 提高 攀升 上扬 上揚 回升 走高 升至 涨至 漲至 增至 升到 涨到 漲到 增到
上昇 増加 増え 上がっ 증가 상승"""
_DOWN = """decrease decreased decreases decreasing fall falls falling fell fallen decline declines declined declining
drop drops dropped dropping plunge plunged plunging plummet plummeted tumble tumbled slump slumped slid shrink shrinks
shrank shrunk shrinking reduce reduced reduces reducing
sank sanken gesunken sinkt fiel fielen schrumpfte schrumpften verringerte verringerten
baissé baisse diminué diminution disminuyó disminuido cayó descendió
下降 下跌 减少 減少 降低 下滑 回落 走低 下挫 降至 跌至 减至 減至 降到 跌到 减到 減到
下落 低下 減っ 下がっ 감소 하락"""
"""What goes up and what goes down: of each language any of the one denies any of the other."""
_PAIRS = """improve worsen/deteriorate|improved worsened/deteriorated|strengthened weakened|
more fewer|more less|higher lower|high low|larger smaller|above below|before after|first last|win lose|won lost|
better worse|best worst|
true false|possible impossible|likely unlikely|safe unsafe|safe dangerous|effective ineffective|positive negative|
warming cooling|warmer cooler|hot cold|faster slower|early late|earlier later|include exclude|accept reject|
accepted rejected|support oppose|supported opposed|allow forbid|allowed banned|legal illegal|alive dead|open closed|
male female|man woman|men women|boy girl|north south|northern southern|east west|eastern western|left right|
all none|always never|everyone nobody|cause prevent|causes prevents|gain loss|strong weak|rich poor|old young|new old|
buy sell|bought sold|public private|domestic foreign|maximum minimum|major minor|majority minority|black white|
fastest/quickest slowest|quicker slower|largest/biggest/greatest smallest|bigger/greater smaller|highest lowest|
longest shortest|longer shorter|long short|strongest weakest|stronger weaker|richest poorest|oldest youngest/newest|
older younger/newer|earliest latest|cheapest dearest/costliest|cheaper dearer/costlier|expensive cheap|easiest hardest|
easy difficult|deepest shallowest|heaviest lightest|heavier lighter|nearest farthest|hottest coldest|safest riskiest|
safer riskier|upper lower|inner outer|inside outside|indoor outdoor|internal external|import export|imported exported|
importer exporter|nominal real|gross net|required/mandatory/compulsory optional/voluntary|permanent temporary|
active inactive/passive|visible invisible|direct indirect|linear nonlinear|formal informal|official unofficial|
regular irregular|reversible irreversible|listed unlisted|skilled unskilled|employed unemployed|paid unpaid|
surplus deficit|inflow outflow|upgrade downgrade|appreciated depreciated|optimistic pessimistic|bullish bearish|
overweight underweight|overvalued undervalued|overestimate underestimate|encourage discourage|enable disable|
approved rejected/vetoed|guilty innocent|urban rural|offline online|manual automatic|centralized decentralized|
symmetric asymmetric|hawkish dovish|tighten loosen/ease|widen narrow|accelerate slow/decelerate|victory defeat|
advantage disadvantage|outperform underperform|inflation deflation|
扩大/擴大 缩小/縮小/收窄|支持 反对/反對|赞成/贊成 反对/反對|成功 失败/失敗|男性 女性|白天 夜晚|室内 室外|室內 室外|
高于/高於 低于/低於|增幅/升幅/涨幅/漲幅 降幅/跌幅|转增/轉增/转升/轉升 转降/轉降/转减/轉減|转正/轉正 转负/轉負|
改善 恶化/惡化|上调/上調 下调/下調|加快/加速 放缓/放緩/减速/減速|盈利 亏损/虧損|流入 流出|
顺差/順差 逆差|升值 贬值/貶值|
买入/買入 卖出/賣出|增持 减持/減持|最高 最低|最大 最小|最多 最少|最快 最慢|最强/最強 最弱|最早 最晚|最长/最長 最短|
最贵/最貴 最便|进口/進口 出口|名义/名義 实际/實際|国内/國內 国外/國外/海外|长期/長期 短期|上游 下游|直接 间接/間接|
合法 非法|强制/強制 自愿/自願|看涨/看漲/看多 看跌/看空|利好 利空|
超配 低配|跑赢/跑贏 跑输/跑輸|宽松/寬鬆 收紧/收緊/紧缩/緊縮|
提前 推迟/推遲/延后/延後|优势/優勢 劣势/劣勢|优于/優於 劣于/劣於|大于/大於 小于/小於|多于/多於 少于/少於|
强于/強於 弱于/弱於|
早于/早於 晚于/晚於|快于/快於 慢于/慢於|多数/多數 少数/少數|显性/顯性 隐性/隱性|乐观/樂觀 悲观/悲觀|主动/主動 被动/被動|
固定 浮动/浮動|线上/線上 线下/線下|内部/內部 外部|扩张/擴張 收缩/收縮|批准 否决/否決|
男 女|左 右|增 减|增 減|上 下|多 少|冷 热|大 小|高 低|新 旧|開 閉|昼 夜|赤 青|白 黒|
立っ 座っ|屋内 屋外|晴れ 雨|拡大 縮小|黒字 赤字|増益 減益|増収 減収|上回 下回|円高 円安|
輸入 輸出|名目 実質|長期 短期|国内 海外|直接 間接|合法 違法|必須 任意|多数 少数|最初 最後|前半 後半|
上位 下位|最速 最遅|最古 最新|楽観 悲観|強気 弱気|
확대 축소|흑자 적자|최고 최저|최대 최소|수입 수출|명목 실질|장기 단기|국내 해외|직접 간접|합법 불법|다수 소수|낙관 비관|
mehr weniger|schneller langsamer|stärker schwächer|länger kürzer|älter jünger|früher später|teurer billiger/günstiger|
besser schlechter|höher niedriger/tiefer/geringer|größer kleiner|mehrheit minderheit|import export|importe exporte|
einfuhr ausfuhr|einfuhren ausfuhren|brutto netto|innerhalb außerhalb|gewinn verlust|gewinne verluste|
überschuss defizit|kaufte verkaufte|legal illegal|inflation deflation"""
_GERMAN = """höchst/größt niedrigst/kleinst/geringst|schnellst langsamst|stärkst schwächst|längst kürzest|ältest jüngst|
teuerst billigst/günstigst|best schlechtest|nominal real|öffentlich privat|direkt indirekt|
kurzfristig langfristig|ober unter|städtisch ländlich|inländisch ausländisch|nördlich südlich|östlich westlich|
positiv negativ|optimistisch pessimistisch|verpflichtend freiwillig|reich arm|stark schwach"""
"""Adjectives without their endings."""
_ENDINGS = ("e", "en", "er", "es", "em")
_WORD = re.compile(r"[^\W_]+")
_PAUSE = re.compile(r"[,，](?!\d)|[.;:!?。；：！？、()（）]")
_WITHIN = 60
"""Characters to each side in which the words of the same thing stand."""
_NEAR = 3
"""Content words to each side of one; of CJK, pairs of characters, twice as many."""
_LOOSE = "的\u3041-\u309f"
"""What joins a character to its noun: 大的房子, 赤い服."""


def opposed(claim: str, passage: str) -> tuple[str, str] | None:
    """Return a word of the claim and its opposite in the passage, where it lacks the first; None where none."""
    return next(_pairs(claim, passage), None)


def _pairs(claim: str, passage: str) -> Iterator[tuple[str, str]]:
    said, found = dict.fromkeys(tokens(claim)), set(tokens(passage))
    opposites = _opposites()
    for one in sorted(filter(opposites.__contains__, said), key=lambda word: len(word) == 1):
        for other in opposites[one]:
            if other not in found or _both_ways(one, other, said, found):
                continue
            if len(one) == 1:
                yield from _signs(one, other, claim, passage)
            elif one not in found and other not in said:
                mine, theirs = _places(one, claim), _places(other, passage)
                alike = mine and theirs and _alike(_beside(claim, mine), _beside(passage, theirs))
                if alike and _denied(one, claim) == _denied(other, passage):
                    yield mine[0][0], theirs[0][0]


def _both_ways(one: str, other: str, said: Collection[str], found: Collection[str]) -> bool:
    """Return whether of an up and a down a text has the other too, in whichever words: it rose before it fell."""
    up, down = _ways()
    for mine, theirs in ((up, down), (down, up)):
        if one in mine and other in theirs:
            return not (mine.isdisjoint(found) and theirs.isdisjoint(said))
    return False


def _denied(word: str, text: str) -> bool:
    """Return whether a text denies a word: what was not approved was rejected."""
    return any(word in scope.words for scope in scopes(text))


def _signs(one: str, other: str, claim: str, passage: str) -> Iterator[tuple[str, str]]:
    """Yield what a character makes with the one beside it, where its opposite stands beside the same."""
    for match in re.finditer(rf"(?P<before>[^\W{_LOOSE}])?{one}(?P<behind>[{_LOOSE}]*[^\W{_LOOSE}])?", claim):
        for mine in filter(
            None, (match["before"] and match["before"] + one, match["behind"] and one + match["behind"])
        ):
            theirs = mine.replace(one, other)
            if theirs in passage and mine not in passage and theirs not in claim:
                yield mine, theirs


def _places(word: str, text: str) -> list[re.Match[str]]:
    """Return where a text has a word, in whichever form."""
    if not word.isascii():
        return list(re.finditer(word, text))
    return [match for match in _WORD.finditer(text) if stem(match[0].casefold()) == word]


def _alike(mine: set[str], theirs: set[str]) -> bool:
    """Return whether two words are said of the same thing; where one is of nothing, nobody knows."""
    return not (mine and theirs) or not mine.isdisjoint(theirs)


def _beside(text: str, places: list[re.Match[str]]) -> set[str]:
    """Return the content words next to places of a text, of the same clauses."""
    near: set[str] = set()
    for place in places:
        before = _PAUSE.split(text[max(0, place.start() - _WITHIN) : place.start()])[-1]
        behind = _PAUSE.split(text[place.end() : place.end() + _WITHIN], maxsplit=1)[0]
        most = 2 * _NEAR if has_cjk(before + behind) else _NEAR
        near.update(content_words(before)[-most:], content_words(behind)[:most])
    return near


@cache
def _opposites() -> Mapping[str, Sequence[str]]:
    """Return the opposites of each word, all as tokens: of scripts without spaces one or two characters."""
    found: dict[str, list[str]] = {}
    written = (pair.split() for pair in _PAIRS.replace("\n", "").split("|"))
    pairs = (tuple(map(stem, side.split("/")) for side in pair) for pair in written)
    german = (pair.split() for pair in _GERMAN.replace("\n", "").split("|"))
    forms = (
        tuple({stem(one + end) for one in side.split("/") for end in _ENDINGS} for side in pair) for pair in german
    )
    for ones, others in (*pairs, *(map(sorted, pair) for pair in forms), map(sorted, _ways())):
        for one, other in itertools.product(ones, others):
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)
    return found


def _forms(side: str) -> list[str]:
    """Return the forms of German adjectives, as tokens."""
    return sorted({stem(one + ending) for one in side.split("/") for ending in _ENDINGS})


@cache
def _ways() -> tuple[frozenset[str], frozenset[str]]:
    """Return what goes up and what goes down, as tokens."""
    up, down = (frozenset(map(stem, words.split())) for words in (_UP, _DOWN))
    return up, down
