"""What a chart says to those who do not see it: its title, and its numbers as words in any language."""

from __future__ import annotations

from leadline.records import Chart
from leadline_plugins.charts.points import Point, read

_SAID = 24
"""Points that are read out, at most."""


def alt_text(chart: Chart) -> str:
    """Return the title and the data of a chart; of many points the first ones, and how many there are."""
    points = read(chart) if chart.rows else []
    said = "; ".join(_said(point, chart.unit) for point in points[:_SAID])
    more = f"; … ({len(points)})" if len(points) > _SAID else ""
    return f"{chart.title.rstrip('.。')}: {said}{more}" if said else chart.title


def _said(point: Point, unit: str) -> str:
    name = " ".join(dict.fromkeys(filter(None, (point.series, point.date, point.label))))
    place = "" if point.x is None else f"{point.x:,.10g}"
    value = "" if point.value is None else f"{point.value:,.10g}{'' if unit == '%' else ' '}{unit}".strip()
    return ": ".join(filter(None, (name, ", ".join(filter(None, (place, value))))))
