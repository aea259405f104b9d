"""Figures that stand in no passage and follow from two that do: their difference, ratio, share, change, or sum.

Among many figures some two always come to any number. So the claim's words have to speak of such a figure, and the less
of what it is made from the claim says itself, the fewer figures the passages may have.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from leadline_plugins.checks.figure import Figure, same
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.marks import marked
from leadline_plugins.checks.risks import risk_ratios
from leadline_plugins.text.tokens import fold

POINTS = re.compile(
    r"\s?-?(?:percentage[- ]points?|points?\b|pp\b|[个個]?百分[点點]|ポイント|%?\s?포인트"
    r"|prozentpunkte?n?\b|puntos?\s+porcentual\w*|punt[oi]\s+percentual\w*|pontos?\s+percentua\w*)"
)
_DIFFERENCE = re.compile(
    r"\b(?:more|less|fewer|higher|lower|larger|smaller|longer|shorter|differ\w*|gap|apart|ahead|behind|increas\w+|decreas\w+"
    r"|r[io]se|grew|fell|fall|drop\w*|gain\w*|los[ste]\w*|narrow\w*|widen\w*|margin|up|down|by)\b"
    r"|相差|差[距额額值はがを]|差(?=[约約为為])|[高低多少][出了于於约約\d]|增加|减少|減少|上升|下降|扩大|擴大|收窄|提高|차이|증가|감소"
)
_SUM = re.compile(
    r"\b(?:total\w*|together|combined|sum\w*|altogether|in all|overall|jointly|plus)\b|合计|合計|总计|總計|[总總]共"
    r"|共计|共計|之和|共[有为為达達]|加起来|加起來|合わせ|합계|모두"
)
_SHARE = re.compile(
    r"\b(?:of|share|proportion|accounts?|represents?|equivalent|equals?|ratio|percentage|portion|part)\b"
    r"|[占佔]|比重|比例|相[当當]于|相當於|比率|割合|비중|비율"
)
_MORE = re.compile(
    r"\b(?:increas\w+|r[io]se|rais\w+|elevated|grow\w*|grew|up|more|greater|higher|gain\w*)\b"
    r"|增[长長加幅]|上升|上涨|上漲|[涨漲]幅|提高|高出|高[了约約]?\d|증가"
)
_LESS = re.compile(
    r"\b(?:decreas\w+|reduc\w+|fell|fall|drop\w*|declin\w+|down|less|lower\w*)\b"
    r"|下降|降低|减少|減少|下跌|[降跌]幅|低[了约約]?\d|감소"
)
_CHANGE = re.compile(rf"{_MORE.pattern}|{_LESS.pattern}|\bby\s+(?:(?:about|around|some|roughly|nearly)\s+)?[≈~]?\d")
_ROSE = re.compile(r"\b(?:increas\w+|r[io]sen?|grow\w*|grew)\b|增[长長加]|上升|上涨|上漲|提高|증가")
_FELL = re.compile(r"\b(?:decreas\w+|fell|fall\w*|drop\w*|declin\w+)\b|下降|降低|减少|減少|下跌|감소")
"""Verbs that tell which of two figures a change in percent is a share of: the one it was before."""
_DECIMALS = re.compile(r"\d[.,]\d")
_WITHIN = 40
"""Characters to each side of a figure in which such a word is of it."""
_CLAUSE = 90
"""The same within its clause; a share, which an `of` tells already, is not looked for so far off."""
_ENDS = re.compile(r"[,.:](?!\d)|[;!?，。：；！？、]")
_ALONE = 4
"""Figures of a unit among which a number may be found that says nothing of what it is made from."""
_BESIDE = 8
"""The same where the claim says one of the two."""
_SAID = 12
"""Figures of a claim that are tried."""
_SHOWN = 6
"""Figures that are shown; of more some come to anything."""
_LISTED = 16
"""Figures of a row or list that are shown, of which some side by side may be added up."""
_RUN = 6
"""How many of them at most."""
_LONGEST = 20
"""Digits; what has more nobody reckons."""
_CHANGES = ("change", "rise", "fall")
_WHOLE = Decimal(100)
_OFF = Decimal("0.05")
"""How far what is divided may lie from what is said: `twice` is not 2.4 times."""


def derived(figure: Figure, claim: str, said: Sequence[Figure], *texts: str) -> bool:
    """Return whether a claim's figure follows from two figures that one of the texts has."""
    if figure.month or figure.dated or figure.ordinal or figure.reference:
        return False
    folded = fold(marked(claim))
    ways = _ways(figure, folded)
    if figure.unit == "%" and not ways.isdisjoint(_CHANGES) and any(_by_ratio(figure, folded, text) for text in texts):
        return True
    return bool(ways) and any(_follows(figure, ways, said, figures(text)) for text in texts)


def follows(figure: Figure, shown: Sequence[Figure], said: Sequence[Figure] = ()) -> bool:
    """Return whether a figure is what a few others, which a reader is shown for it, come to, whatever is said of it.

    Of more that are shown only some of one unit, side by side, are added up; or such a sum has its share told, and is
    `said` beside it.
    """
    if figure.month or figure.ordinal or not shown or len(figure.value.as_tuple().digits) > _LONGEST:
        return False
    if len(shown) > _SHOWN:
        pools = _by_unit(shown) if len(shown) <= _LISTED else {}
        return any(unit and _of_list(figure, unit, pool, said) for unit, pool in pools.items())
    used = [one for one in shown if one.value > 0 and not (one.month or one.ordinal or one.reference)]
    ways = ("sum", "difference", "ratio", *(("share", "change") if figure.unit == "%" else ()))
    made = [value for pair in itertools.combinations(used, 2) for way in ways for value in _values(way, *pair)]
    if len(used) > 2:
        made.append(sum((one.value for one in used), Decimal(0)))
    if figure.unit == "%":
        made += [_WHOLE - one.value for one in used if one.unit == "%" and one.value < _WHOLE]
    return any(_same(figure, value) for value in made)


def _of_list(figure: Figure, unit: str, pool: Sequence[Figure], said: Sequence[Figure]) -> bool:
    """Return whether a figure is the sum of some that stand side by side, or the share of such a sum that is said."""
    sums = [
        sum((one.value for one in pool[at : at + count]), Decimal(0))
        for count in range(2, _RUN + 1)
        for at in range(len(pool) - count + 1)
    ]
    if figure.unit == unit and any(_same(figure, value) for value in sums):
        return True
    if figure.unit != "%" or unit == "%":
        return False
    added = [one for one in said if one.unit == unit and any(_same(one, value) for value in sums)]
    return any(_same(figure, value) for one in added for other in pool for value in _values("share", one, other))


def _ways(figure: Figure, claim: str) -> frozenset[str]:
    """Return how a claim speaks of a figure: as a difference, a ratio, a share, a change, or a sum."""
    end = figure.at + len(figure.said)
    if figure.unit in ("", "%") and POINTS.match(claim, end):
        return frozenset(("points",))
    if figure.unit == "times":
        return frozenset(("ratio",))
    spoken = {"difference": _DIFFERENCE, "sum": _SUM}
    if figure.unit == "%":
        spoken = {"share": _SHARE, "change": _CHANGE, "sum": _SUM}
    near = claim[max(0, figure.at - _WITHIN) : end + _WITHIN]
    clause = _clause(claim, figure.at, end)
    ways = (way for way, words in spoken.items() if words.search(near) or (way != "share" and words.search(clause)))
    rose, fell = bool(_ROSE.search(clause)), bool(_FELL.search(clause))
    change = "change" if rose == fell else "rise" if rose else "fall"
    return frozenset(change if way == "change" else way for way in ways)


def _clause(claim: str, start: int, end: int) -> str:
    """Return the clause around a figure, as far as its words are taken to be of it."""
    before = _ENDS.split(claim[max(0, start - _CLAUSE) : start])[-1]
    return before + claim[start:end] + _ENDS.split(claim[end : end + _CLAUSE], maxsplit=1)[0]


def _by_ratio(figure: Figure, claim: str, text: str) -> bool:
    """Return whether a change in percent is what a ratio of risks comes to: `HR 1.32` is 32% more, 0.75 25% less."""
    near = _clause(claim, figure.at, figure.at + len(figure.said))
    more, less = bool(_MORE.search(near)), bool(_LESS.search(near))
    changes = [100 * (value - 1) for value in risk_ratios(text)]
    return any(_same(figure, abs(change)) for change in changes if change and (more == less or more == (change > 0)))


def _follows(figure: Figure, ways: frozenset[str], said: Sequence[Figure], held: Sequence[Figure]) -> bool:
    mine = {value for one in said[:_SAID] if one is not figure for value in one.readings}
    for unit, pool in _by_unit(held).items():
        fitting = {way for way in ways if _fits(figure, way, unit)}
        if not fitting:
            continue
        told = [one for one in pool if not mine.isdisjoint(one.readings)]
        pairs = list(itertools.combinations(told, 2))
        if len(pool) <= _BESIDE:
            pairs += [(one, other) for one in told for other in pool]
        if len(pool) <= _ALONE:
            pairs += itertools.combinations(pool, 2)
        if any(_same(figure, value) for way in fitting for pair in pairs for value in _values(way, *pair)):
            return True
        if "sum" in fitting and 2 < len(pool) <= _BESIDE and _same(figure, sum(one.value for one in pool)):
            return True
    return False


def _by_unit(held: Sequence[Figure]) -> dict[str, list[Figure]]:
    """Return the figures that can be reckoned with, each once."""
    found: dict[str, dict[Decimal, Figure]] = {}
    for one in held:
        if not (one.month or one.dated or one.ordinal or one.reference or one.decade) and one.value > 0:
            found.setdefault(one.unit, {}).setdefault(one.value, one)
    return {unit: list(values.values()) for unit, values in found.items()}


def _fits(figure: Figure, way: str, unit: str) -> bool:
    if way == "points":
        return unit == "%"
    return way in ("ratio", "share", *_CHANGES) or figure.unit == unit


def _values(way: str, one: Figure, other: Figure) -> Iterator[Decimal]:
    """Yield what two figures come to."""
    low, high = sorted((one.value, other.value))
    if low == high and way != "sum":
        return
    if way == "sum":
        yield low + high
    elif way in ("points", "difference"):
        yield high - low
    elif way == "ratio":
        yield from (high / low, low / high)
    elif way == "share":
        yield 100 * low / high
    else:
        yield from (100 * (high - low) / base for base in {"rise": (low,), "fall": (high,)}.get(way, (low, high)))


def _same(figure: Figure, value: Decimal | int) -> bool:
    """Return whether a figure is what two others come to, as far as it is told."""
    value = Decimal(value)
    if abs(value - figure.value) > _OFF * figure.value:
        return False
    return same(figure, Figure(value, figure.unit, "")) or _rounded(figure, value)


def _rounded(figure: Figure, value: Decimal) -> bool:
    """Return whether a figure that is told with decimals is a number rounded to as many: 0.4亿 of 0.39亿."""
    last = Decimal((0, (1,), int(figure.value.normalize().as_tuple().exponent)))
    told = bool(_DECIMALS.search(figure.said)) and abs(value) < last * 10**_LONGEST
    return told and value.quantize(last) == figure.value
