"""Forms with bars and boxes: bar, grouped, stacked, horizontal, histogram, box."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from leadline_plugins.charts.axes import HATCHES, INK, colour, folded, numbers, value_label
from leadline_plugins.charts.points import Point, Table, by_series, table, values

_LABELLED = 16
"""The most bars that are labelled with their values."""
_NUMBERED = 40
"""The most parts of stacked bars that are labelled."""
_LOW = 0.05
"""A part that is a smaller share of the height has its label beside it."""
_LONG = 12
"""Characters of a category from which bars are horizontal."""


def bar(ax: Any, points: Sequence[Point], unit: str) -> None:
    """Draw a bar for each category and series; horizontal where names are long."""
    data = table(points)
    if max(map(_width, data.categories)) * len(data.categories) > _LONG * 8:
        horizontal(ax, points, unit)
    else:
        _side_by_side(ax, data, unit, lying=False)


def horizontal(ax: Any, points: Sequence[Point], unit: str) -> None:
    """Draw horizontal bars, the first category on top."""
    _side_by_side(ax, table(points), unit, lying=True)
    ax.invert_yaxis()


def stacked(ax: Any, points: Sequence[Point], unit: str) -> None:
    """Draw stacked bars: positive parts go up, negative ones down."""
    data = table(points)
    places = range(len(data.categories))
    parts: list[tuple[int, float, float]] = []
    tops, bottoms = [0.0] * len(places), [0.0] * len(places)
    for number, series in enumerate(data.series):
        row = [0.0 if math.isnan(value) else value for value in data.row(series)]
        starts = [tops[at] if value >= 0 else bottoms[at] for at, value in enumerate(row)]
        ax.bar(places, row, 0.7, bottom=starts, label=series, **_fill(number))
        parts += [(at, starts[at] + value / 2, value) for at, value in enumerate(data.row(series)) if value]
        for at, value in enumerate(row):
            tops[at], bottoms[at] = tops[at] + max(value, 0), bottoms[at] + min(value, 0)
    _number_parts(ax, parts, max(tops) - min(bottoms), unit)
    _name_categories(ax, data.categories, lying=False)
    value_label(ax.yaxis)


def _number_parts(ax: Any, parts: Sequence[tuple[int, float, float]], whole: float, unit: str) -> None:
    """Label parts of stacked bars with their values: inside, or beside the bar if a part is too low.

    A part is the place of its bar, its middle and its value. If there are many parts, none is labelled.
    """
    least = whole * _LOW
    beside: dict[int, float] = {}
    for at, middle, value in parts if len(parts) <= _NUMBERED else ():
        if math.isnan(value):
            continue
        if abs(value) >= least:
            ground = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
            ax.text(at, middle, _label(value, unit), ha="center", va="center", fontsize=8, color=INK, bbox=ground)
        else:
            beside[at] = max(middle, beside.get(at, -math.inf) + least)
            ax.text(at + 0.37, beside[at], _label(value, unit), ha="left", va="center", fontsize=8, color=INK)


def histogram(ax: Any, points: Sequence[Point], unit: str) -> None:
    """Draw how many values are in each class."""
    import numpy

    groups = {name: values(of) for name, of in by_series(points).items()}
    edges = numpy.histogram_bin_edges(numpy.concatenate(list(map(numpy.asarray, groups.values()))), bins="auto")
    for number, (name, group) in enumerate(groups.items()):
        several = {"alpha": 0.65} if len(groups) > 1 else {}
        ax.hist(group, bins=edges, label=name, edgecolor="white", color=colour(number), **several)
    ax.grid(axis="y")
    numbers(ax.xaxis)


def box(ax: Any, points: Sequence[Point], unit: str) -> None:
    """Draw median, quartiles, whiskers and outliers of each group."""
    groups = by_series(points, lambda point: point.series or point.label)
    drawn = ax.boxplot(list(map(values, groups.values())), patch_artist=True, widths=0.55)
    for number, patch in enumerate(drawn["boxes"]):
        patch.set(facecolor=colour(number), alpha=0.75, edgecolor=INK)
    for line in drawn["medians"]:
        line.set(color="white", linewidth=2)
    ax.set_xticks(range(1, len(groups) + 1), [folded(name) for name in groups])
    value_label(ax.yaxis)


def _side_by_side(ax: Any, data: Table, unit: str, *, lying: bool) -> None:
    width = 0.72 / len(data.series)
    labelled = len(data.values) <= _LABELLED
    draw = ax.barh if lying else ax.bar
    for number, series in enumerate(data.series):
        shift = (number - (len(data.series) - 1) / 2) * width
        drawn = draw([at + shift for at in range(len(data.categories))], data.row(series), width, **_fill(number))
        drawn.set_label(series)
        if labelled:
            texts = ["" if math.isnan(value) else _label(value, unit) for value in data.row(series)]
            ax.bar_label(drawn, labels=texts, padding=3, fontsize=9)
    _name_categories(ax, data.categories, lying=lying)
    ax.margins(**{"x" if lying else "y": 0.12})
    value_label(ax.xaxis if lying else ax.yaxis)


def _fill(number: int) -> dict[str, Any]:
    return {"color": colour(number), "hatch": HATCHES[number % len(HATCHES)], "edgecolor": "white", "linewidth": 0.5}


def _label(value: float, unit: str) -> str:
    return f"{value:,.10g}" + (unit if unit in ("%", "°C") else "")


def _name_categories(ax: Any, names: Iterable[str], *, lying: bool) -> None:
    texts = [folded(name, 32 if lying else 14) for name in names]
    if lying:
        ax.set_yticks(range(len(texts)), texts)
        ax.tick_params(axis="y", length=0)
    else:
        crowded = sum(map(_width, texts)) > 95
        ax.set_xticks(range(len(texts)), texts, **({"rotation": 40, "ha": "right"} if crowded else {}))
        ax.tick_params(axis="x", length=0)


def _width(text: str) -> int:
    """Return the width of a text in Latin letters; a CJK character counts as two."""
    return sum(2 if ord(mark) > 0x2E80 else 1 for mark in text)
