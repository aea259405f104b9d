"""Whether a chart fits its form: what the form needs of each point; all that is wrong is told at once.

Parts that make no whole are not drawn as if they did: a pie of three quarters shows thirds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from leadline_plugins.charts.forms import form_of
from leadline_plugins.charts.points import date_of
from leadline_plugins.charts.tasks import PlannedChart
from leadline_plugins.checks.figures import figures

FEWEST = 3
"""Points of a chart, at least: two are said in a sentence. Of a timeline one event is one."""
PARTS = 8
"""Parts of a pie, at most."""
_WHOLE, _ROUNDED = 100, 2
"""A whole in per cent, and by how much parts that are rounded may miss it."""
_APART: Mapping[str, str] = {"pie": "bar", "stacked": "grouped", "area": "line"}
"""Forms of parts of a whole, and those that show the same values each by itself."""
_GROUPS = ("histogram", "box", "scatter", "timeline")
"""Forms in which several points may have one name."""


def unfit(chart: PlannedChart) -> Iterator[str]:
    """Yield what keeps a chart from being drawn in its form."""
    if not chart.points:
        yield "it came without numbers that name their quotes"
        return
    form = form_of(chart.chart_type)
    if not form:
        yield f"the form {chart.chart_type!r} cannot be drawn"
        return
    if (count := len(chart.points)) < FEWEST and form != "timeline":
        yield f"it has {count} {'number' if count == 1 else 'numbers'}, and a chart compares at least {FEWEST}"
    without = [point.name for point in chart.points if point.value is None]
    if without and form != "timeline":
        yield f"{_listed(without)} came without a value"
    if form == "scatter" and (without := [point.name for point in chart.points if point.x is None]):
        yield f"a scatter chart needs an x, a number, for every point, and {_listed(without)} came without"
    if form == "timeline" and any(date_of(point.date) is None or not point.label for point in chart.points):
        yield "a timeline needs a date (YYYY, YYYY-MM or YYYY-MM-DD) and a label for every event"
    if why := no_whole(chart):
        yield f"{why}: {_APART[form]} shows this better"
    if form not in _GROUPS:
        cells = Counter((point.series, point.name) for point in chart.points)
        twice = [" / ".join(filter(None, cell)) for cell, count in cells.items() if count > 1]
        if twice:
            yield f"there are two values for {_listed(twice)}"


def no_whole(chart: PlannedChart) -> str:
    """Say why a chart shows a whole that its points do not make; empty where they do, or nobody can tell."""
    form = form_of(chart.chart_type)
    if form == "pie" and (len(chart.points) > PARTS or any((point.value or 0) < 0 for point in chart.points)):
        return f"a pie has at most {PARTS} parts, none of them negative"
    if form == "pie" and len({point.series for point in chart.points}) > 1:
        return "a pie has one series"
    if form not in _APART or not any(figure.unit == "%" for figure in figures(f"1 {chart.unit}")):
        return ""
    sums = _sums(chart, form)
    short = [name for name, made in sums.items() if abs(made - _WHOLE) > _ROUNDED]
    if form == "pie":
        return f"its parts make {sums['']:.4g} %, which is no whole" if short else ""
    if not short or len(short) == len(sums):  # all of them wholes, or none
        return ""
    return f"the parts of {short[0]!r} make {sums[short[0]]:.4g} %, those of others a whole"


def _sums(chart: PlannedChart, form: str) -> Mapping[str, float]:
    """Return what the parts make that lie on one another, by name; a pie is one."""
    sums: defaultdict[str, float] = defaultdict(float)
    for point in chart.points:
        sums["" if form == "pie" else point.name] += point.value or 0
    return sums


def shows_a_whole(chart: PlannedChart) -> bool:
    """Return whether the form of a chart shows its points as parts of a whole."""
    return form_of(chart.chart_type) in _APART


def side_by_side(chart: PlannedChart) -> PlannedChart:
    """Return a chart with its parts beside each other, where it shows them as parts of a whole."""
    return chart.model_copy(update={"chart_type": _APART.get(form_of(chart.chart_type), chart.chart_type)})


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
