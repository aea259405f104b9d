"""Whether a chart's numbers stand in its evidence: a chart with invented ones is not drawn.

Every point names its evidence; its value, with its unit, stands in that quote, and so do the numbers of its label, its
`x` and its date, for which the source's title and date serve as well. Of code, which draws the same rows, no list may
hold numbers of its own. That a label fits its number is the reader's to see, as the quote is cited.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from leadline.records import Evidence, Source
from leadline_plugins.charts.points import Point
from leadline_plugins.charts.tasks import PlannedChart
from leadline_plugins.checks.figure import Figure, missing
from leadline_plugins.checks.figures import figures

_NAMED = 5
_DATA = 3
"""Numbers from which a list in code is data: fewer are a size or a place."""


def invented(chart: PlannedChart, evidence: Mapping[str, Evidence], sources: Mapping[str, Source]) -> str:
    """Say which numbers of a chart do not stand in its evidence; empty where all do."""
    if not chart.points:
        return "it has no points: every number is a point with its evidence_id"
    found = [reason for point in chart.points if (reason := _unborne(point, chart.unit, evidence, sources))]
    found += [] if found else list(_of_code(chart))
    more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return "; ".join(found[:_NAMED]) + more


def _unborne(point: Point, unit: str, evidence: Mapping[str, Evidence], sources: Mapping[str, Source]) -> str:
    item = evidence.get(point.evidence_id)
    if item is None:
        return f"the point {point.name!r} has the evidence_id {point.evidence_id!r}, and there is none such"
    quoted = figures(item.quote)
    if point.value is not None and not _stands(point.value, unit, quoted):
        return f"the value {point.value:g} {unit} of {point.name!r} does not stand in {item.id}".replace("  ", " ")
    source = sources.get(item.source_id)
    around = figures(f"{source.hit.title} {source.hit.published or source.document.published or ''}") if source else ()
    lacking = missing(_placed(point), (*quoted, *around))
    return f"{lacking[0].said!r} of the point {point.name!r} does not stand in {item.id}" if lacking else ""


def _stands(value: float, unit: str, quoted: Sequence[Figure]) -> bool:
    """Return whether a quote says a value: `fell by 3 %` says -3, `USD bn` is what `bn USD` is."""
    units = {unit, " ".join(reversed(unit.split()))}
    said = [figures(f"{abs(value):.12f}".rstrip("0").rstrip(".") + f" {name}")[:1] for name in units]
    return any(claimed and not missing(claimed, quoted) for claimed in said)


def _placed(point: Point) -> tuple[Figure, ...]:
    """Return the numbers by which a point is placed."""
    place = "" if point.x is None else f"{abs(point.x):.12g}"
    return figures(point.label) + figures(place) + figures(point.date)


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
    own |= {float(figure.value) for point in chart.points for figure in _placed(point)}
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
