"""Whether a chart's numbers stand in its evidence: a chart with invented ones is not drawn.

Every point names its evidence; its value, with its unit, stands in that quote, and so do the numbers of its label, its
`x` and its date, for which the headings over it and its source's title and date serve as well. A year is no value, a
decade no year, and a sign counts. Of code, which draws the same rows, no list may hold numbers of its own. What a
number is of, a model is asked (`stages/chart`), where there is one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal

from leadline.records import Evidence, Source
from leadline_plugins.charts.points import Point, date_of
from leadline_plugins.charts.quoted import UNCOUNTED, is_a_year, quoted, unmarked
from leadline_plugins.charts.tasks import PlannedChart
from leadline_plugins.charts.units import read
from leadline_plugins.checks.figure import Bound, Figure, is_year, missing, same
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.rounding import decimals_left_out, same_digits
from leadline_plugins.text.tokens import fold

_NAMED = 5
_TOLD = 3
"""Figures of a quote that are told in place of a value that it does not have."""
_DATA = 3
"""Numbers from which a list in code is data: fewer are a size or a place."""


def invented(chart: PlannedChart, evidence: Mapping[str, Evidence], sources: Mapping[str, Source]) -> str:
    """Say which numbers of a chart do not stand in its evidence; empty where all do."""
    found = [reason for point in chart.points if (reason := _unborne(point, chart.unit, evidence, sources))]
    found += [] if found else list(_of_code(chart))
    more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return "; ".join(found[:_NAMED]) + more


def _unborne(point: Point, unit: str, evidence: Mapping[str, Evidence], sources: Mapping[str, Source]) -> str:
    item = evidence.get(point.evidence_id)
    if item is None:
        return f"{point.name!r} names the evidence {point.evidence_id!r}, which does not exist"
    if point.value is not None and not says(item.quote, point.value, unit):
        said = f"{point.value:,.12g} {unit}".strip()
        has = f", which has {told}" if (told := _instead(item.quote, point.value, unit)) else ""
        return f"the value {said} of {point.name!r} does not stand in the quote it names{has}"
    source = sources.get(item.source_id)
    about = f"{source.hit.title} {source.hit.published or source.document.published or ''}" if source else ""
    held = (*quoted(item.quote), *figures(f"{item.under}\n{about}"))
    if point.date and (lacking := _undated(point.date, held)):
        return f"the date {lacking} of {point.name!r} does not stand in the quote it names"
    absent = missing(_placed(point), held)
    return f"{absent[0].said!r} of {point.name!r} does not stand in the quote it names" if absent else ""


def _instead(quote: str, value: float, unit: str) -> str:
    """Return what a quote has in place of a value: its digits in another scale, else the figures of its unit."""
    claimed = read(value, unit)
    held = [
        one for one in quoted(quote) if one.kind not in UNCOUNTED and one.unit in {"", *(of.unit for of in claimed)}
    ]
    scaled = [one for one in held if any(same_digits(of.value, one.value) for of in claimed)]
    found = scaled or [one for one in held if one.unit]
    return " and ".join(dict.fromkeys(repr(one.said) for one in found[:_TOLD]))


def says(quote: str, value: float, unit: str) -> bool:
    """Return whether a quote says a value, by its sign too: `fell by 3 %` says -3, `USD bn` is what `bn USD` is."""
    return any(_signed(value, figure, quote) for figure in bearing(quote, value, unit))


def bound_of(quote: str, value: float, unit: str) -> Bound:
    """Return what a quote says of a value: that it is more, or about that; empty where it says it plainly."""
    bounds = [figure.bound for figure in bearing(quote, value, unit)]
    return bounds[0] if bounds and all(bounds) else ""


def bearing(quote: str, value: float, unit: str) -> Iterator[Figure]:
    """Yield the figures of a quote that are a value with its unit, to the digit; a year is none."""
    claimed = read(value, unit)
    for figure in quoted(quote):
        if any(_is(one, figure) and not (figure.dated and one.unit) for one in claimed) and not is_a_year(
            figure, quote
        ):
            yield figure


def _is(claimed: Figure, found: Figure) -> bool:
    """Return whether two figures are the same to the digit, but for decimals that are left out."""
    alike = not set(claimed.readings).isdisjoint(found.readings) or decimals_left_out(claimed.value, found.value)
    return alike and not found.ordinal and same(claimed, found)


_FALLS = re.compile(
    r"\b(?:fell|fall(?:s|en|ing)?|declin|decreas|drop|down|los[st]|loss|lower|reduc|shr[aiu]nk|contract|negativ|minus|cut"
    r"|deficit|below|slump|plung|sank|sink|gesunken|gefallen|rückgang|verlust|weniger|baiss|recul|perte|diminu|caí|caída"
    r"|cayó|pérdida|descen|disminu|queda|perda|calo|perdit|сниз|упал|сократ|убыт)|[降跌减減负負亏虧赤]|縮小|감소|하락|적자",
    re.IGNORECASE,
)
_MINUS = re.compile(
    r"(?:[(|:]\s?[-–−]\s?|(?:^|[\s$€£¥])(?:[-–]|−\s?)"
    r"|(?<=[\u3040-\u30ff\u4e00-\u9fff])(?<!\d.)(?<!\d..)(?<!\d.{3})(?<!\d.{4})[-−])[$€£¥]?\Z",
    re.MULTILINE,
)
"""A minus before a figure. With a space behind it is a dash, but in a bracket or cell; 室温–350°C is a span."""
_NEAR = 8
"""Characters before a figure in which its sign stands."""


def _signed(value: float, figure: Figure, quote: str) -> bool:
    """Return whether a figure stands in a quote with the sign of a value."""
    minus = _MINUS.search(fold(unmarked(quote)), max(0, figure.at - _NEAR), figure.at)
    if value < 0:
        return bool(minus or _FALLS.search(quote))
    return not minus


def _undated(date: str, held: tuple[Figure, ...]) -> str:
    """Return what of a date the figures of a quote do not say; empty where they say all of it."""
    told = date_of(date)
    if told is None:
        return next((figure.said for figure in missing(figures(date), held)), "")
    year, month, day = told
    years = {int(figure.value) for figure in held if not figure.decade and not figure.month} | {
        one.year for one in held
    }
    if year not in years:
        return str(year)
    on = Figure(month + Decimal(day) / 100, "", date, month=True, year=year)
    return date if month and missing([on], held) else ""


def _placed(point: Point) -> tuple[Figure, ...]:
    """Return the numbers by which a point is placed, but for its date."""
    place = "" if point.x is None else f"{abs(point.x):.12g}"
    told = date_of(point.label)
    if told and told[1] and is_year(told[0]):  # 2011-12 is no span
        year, month, day = told
        return (Figure(month + Decimal(day) / 100, "", point.label, month=True, year=year), *figures(place))
    return figures(point.label) + figures(place)


def _of_code(chart: PlannedChart) -> Iterator[str]:
    """Yield what numbers a program brings itself: lists of data, and chance."""
    if not chart.code:
        return
    try:
        tree = ast.parse(chart.code)
    except SyntaxError as error:
        yield f"the code is no Python: line {error.lineno}: {error.msg}"
        return
    own = {abs(number) for point in chart.points for number in (point.value, point.x) if number is not None}
    own |= {float(one.value) for point in chart.points for one in (*_placed(point), *figures(point.date))}
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
            strange = [number for number in _numbers(node) if number not in own]
            if len(strange) >= _DATA:
                yield f"the code has numbers of its own in line {node.lineno} ({strange[0]:g}, …): draw `rows`"
        elif isinstance(node, ast.Attribute | ast.Name) and _name(node) == "random":
            yield f"the code draws by chance in line {node.lineno}: draw `rows`"


def _numbers(node: ast.expr) -> Iterator[float]:
    parts = (*node.keys, *node.values) if isinstance(node, ast.Dict) else getattr(node, "elts", ())
    for part in parts:
        for inner in ast.walk(part) if isinstance(part, ast.AST) else ():
            if isinstance(inner, ast.Constant) and isinstance(inner.value, int | float):
                yield abs(float(inner.value))


def _name(node: ast.Attribute | ast.Name) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id
