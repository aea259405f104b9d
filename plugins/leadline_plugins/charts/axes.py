"""What the forms share about their axes: numbers, dates and names where they belong, long words folded."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from datetime import date
from typing import Any

from leadline.records import Chart
from leadline_plugins.charts.points import Point, date_of
from leadline_plugins.text.tokens import fold

_BARS = ("bar", "grouped", "stacked", "horizontal", "histogram", "box")
"""Forms with values along one axis alone: a unit in the label of the other one is the values'."""


_FULL_WIDE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
"""Letters of Chinese and Japanese: brackets beside them are as wide as they are."""


def titles(chart: Chart, form: str) -> tuple[str, str]:
    """Return what the names of a chart are, and its values with their unit, once.

    Who plans lying bars may call the values `x`: the label that has their unit is theirs.
    """
    names, values = chart.x_label, chart.y_label
    if form in _BARS and _with_unit(names, chart.unit) and not _with_unit(values, chart.unit):
        names, values = values, names
    if not chart.unit or _with_unit(values, chart.unit):
        return names, values
    unit = f"（{chart.unit}）" if _FULL_WIDE.search(values) else f" ({chart.unit})"
    return names, f"{values}{unit}" if values else chart.unit


def _with_unit(label: str, unit: str) -> bool:
    """Return whether a label ends with a unit: `Share (%)`, `Price in USD`, 收入（元）."""
    said, unit = fold(label).rstrip(" )]"), fold(unit).strip()
    before = said.removesuffix(unit)
    return bool(unit) and before != said and not (unit[0].isascii() and unit[0].isalnum() and before[-1:].isalnum())


def numbers(axis: Any, *, years: bool = False) -> None:
    """Show whole numbers with their thousands apart, years as they are."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    if years:
        axis.set_major_locator(MaxNLocator(integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}" if years else f"{value:,.10g}"))


def value_label(axis: Any) -> None:
    """Lay out the axis of the values: a quiet grid, numbers that can be read."""
    numbers(axis)
    axis.grid(visible=True)


def places(ax: Any, points: Sequence[Point]) -> list[Any]:
    """Return where each point stands on the x axis, and lay the axis out: by number, by date, or by name in order."""
    if all(point.x is not None for point in points):
        return _numeric(ax, [float(point.x or 0) for point in points])
    names = [point.date or point.label for point in points]
    dates = [date_of(name) for name in names]
    if all(dates):
        known = [found for found in dates if found]
        if all(month == 0 for _, month, _ in known):
            return _numeric(ax, [float(year) for year, _, _ in known])
        if all(year >= 1 for year, _, _ in known):
            return [date(year, month or 1, day or 1) for year, month, day in known]
    order = list(dict.fromkeys(point.name for point in points))
    ax.set_xticks(range(len(order)), [folded(name) for name in order])
    return [order.index(point.name) for point in points]


def _numeric(ax: Any, found: list[float]) -> list[Any]:
    numbers(ax.xaxis, years=all(value == int(value) and 1000 <= value <= 2200 for value in found))
    return found


def folded(text: str, width: int = 16) -> str:
    """Return a text on lines of this many Latin letters; CJK characters count as two."""
    wide = sum(ord(mark) > 0x2E80 for mark in text) * 2 > len(text)
    lines = textwrap.wrap(" ".join(text.split()), max(2, width // 2 if wide else width))
    return "\n".join(lines)
