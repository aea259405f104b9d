"""Axes and colours of all forms: numbers, dates and names on axes, long labels on several lines.

The colours are those of Okabe and Ito (2008), which the colour-blind can tell apart, dark ones first. Marks, dashes and
hatches repeat them for charts in black and white.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from datetime import date
from typing import Any

from leadline.records import Chart
from leadline_plugins.charts.points import Point, date_of
from leadline_plugins.text.tokens import fold

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#B8A800")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (4, 1.5, 1, 1.5)), (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)))
HATCHES = ("", "//", "..", "\\\\", "xx", "--", "oo", "++")
INK, QUIET, GRID = "#222222", "#5f6368", "#d9dce0"
SHADES = "cividis"
_BARS = ("bar", "grouped", "stacked", "horizontal", "histogram", "box")
"""Forms with values along one axis only: a unit in the label of the other belongs to the values."""


_FULL_WIDE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
"""Chinese and Japanese characters take full-width brackets."""


def titles(chart: Chart, form: str) -> tuple[str, str]:
    """Return the label of the names of a chart, and that of its values with the unit once.

    A plan of horizontal bars may call the values `x`: the label with the unit is that of the values.
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
    text, unit = fold(label).rstrip(" )]"), fold(unit).strip()
    before = text.removesuffix(unit)
    return bool(unit) and before != text and not (unit[0].isascii() and unit[0].isalnum() and before[-1:].isalnum())


def numbers(axis: Any, *, years: bool = False) -> None:
    """Show numbers with thousands separators, and years without."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    if years:
        axis.set_major_locator(MaxNLocator(integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}" if years else f"{value:,.10g}"))


def value_label(axis: Any) -> None:
    """Lay out the axis of the values, with a grid."""
    numbers(axis)
    axis.grid(visible=True)


def places(ax: Any, points: Sequence[Point]) -> list[Any]:
    """Lay out the x axis by number, date or name, and return the place of each point on it."""
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
    """Return a text on lines of this many Latin letters; a CJK character counts as two."""
    wide = sum(ord(mark) > 0x2E80 for mark in text) * 2 > len(text)
    lines = textwrap.wrap(" ".join(text.split()), max(2, width // 2 if wide else width))
    return "\n".join(lines)


def colour(place: int) -> str:
    """Return the colour of a series by its place."""
    return COLOURS[place % len(COLOURS)]


def style(fonts: Sequence[str]) -> Any:
    """Return the matplotlib settings of a drawing."""
    return {
        "font.family": list(fonts),
        "font.size": 10,
        "text.parse_math": False,  # a $ in a title is a dollar
        "text.usetex": False,
        "axes.unicode_minus": False,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": QUIET,
        "axes.labelcolor": QUIET,
        "axes.titlesize": 10,
        "axes.titlecolor": QUIET,
        "axes.axisbelow": True,
        "axes.grid": False,
        "text.color": INK,
        "xtick.color": QUIET,
        "ytick.color": QUIET,
        "grid.color": GRID,
        "hatch.linewidth": 0.6,
        "hatch.color": "white",
        "legend.frameon": False,
        "svg.fonttype": "path",  # independent of the fonts of the reader
        "svg.hashsalt": "leadline",  # the same chart is the same file
        "figure.facecolor": "white",
    }
