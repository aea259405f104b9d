"""Whether a chart fits its form: what the form needs of each point; all that is wrong is told at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from leadline_plugins.charts.forms import form_of
from leadline_plugins.charts.points import date_of
from leadline_plugins.charts.tasks import PlannedChart

PARTS = 8
"""Parts of a pie, at most."""
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
    without = [point.name for point in chart.points if point.value is None]
    if without and form != "timeline":
        yield f"{_listed(without)} came without a value"
    if form == "scatter" and (without := [point.name for point in chart.points if point.x is None]):
        yield f"a scatter chart needs an x, a number, for every point, and {_listed(without)} came without"
    if form == "timeline" and any(date_of(point.date) is None or not point.label for point in chart.points):
        yield "a timeline needs a date (YYYY, YYYY-MM or YYYY-MM-DD) and a label for every event"
    if form == "pie" and (len(chart.points) > PARTS or any((point.value or 0) < 0 for point in chart.points)):
        yield f"a pie has at most {PARTS} parts, none of them negative: bars show this better"
    if form not in _GROUPS:
        cells = Counter((point.series, point.name) for point in chart.points)
        twice = [" / ".join(filter(None, cell)) for cell, count in cells.items() if count > 1]
        if twice:
            yield f"there are two values for {_listed(twice)}"


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
