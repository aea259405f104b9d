"""Forms without bars: line, area, scatter, pie, heat map, timeline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from leadline.errors import Unsupported
from leadline_plugins.charts.axes import DASHES, INK, MARKS, QUIET, SHADES, colour, folded, numbers, places, value_label
from leadline_plugins.charts.points import Point, by_series, date_of, table, values

_MARKED = 40
"""The most points of a line that are marked."""
_SLICES = 8
_EVENTS = 20
_CELLS = 150


def line(ax: Any, points: Sequence[Point], unit: str) -> None:
    """Draw a line a series, along numbers, dates or names."""
    table(points)
    at, series = _by_place(ax, points)
    for number, (name, own) in enumerate(series.items()):
        mark = MARKS[number % len(MARKS)] if len(own) <= _MARKED else ""
        dash = DASHES[number % len(DASHES)]
        heights = values(own)
        ax.plot(
            [at[id(point)] for point in own], heights, color=colour(number), marker=mark, linestyle=dash, label=name
        )
    value_label(ax.yaxis)


def area(ax: Any, points: Sequence[Point], unit: str) -> None:
    """Draw stacked areas over the same places."""
    data = table(points)
    if any(math.isnan(value) for series in data.series for value in data.row(series)):
        raise Unsupported("areas need a value of every series at every place")
    at, series = _by_place(ax, points)
    along = [at[id(point)] for point in next(iter(series.values()))]
    heights = [[value for _, value in sorted((at[id(p)], p.value or 0.0) for p in own)] for own in series.values()]
    colours = [colour(number) for number in range(len(series))]
    ax.stackplot(sorted(along), heights, labels=list(series), colors=colours, alpha=0.85, edgecolor="white")
    value_label(ax.yaxis)


def scatter(ax: Any, points: Sequence[Point], unit: str) -> None:
    """Draw points by x and value, with their labels if they are few."""
    if any(point.x is None for point in points):
        raise Unsupported("a scatter chart needs an x (a number) in every row")
    at, series = _by_place(ax, points)
    for number, (name, own) in enumerate(series.items()):
        mark = MARKS[number % len(MARKS)]
        xs = [at[id(point)] for point in own]
        ax.scatter(xs, values(own), color=colour(number), marker=mark, s=42, label=name, edgecolors="white")
    for point in points if len(points) <= _MARKED // 2 else ():
        ax.annotate(point.label, (at[id(point)], point.value), xytext=(5, 4), textcoords="offset points", fontsize=8)
    ax.grid(visible=True)
    numbers(ax.yaxis)


def pie(ax: Any, points: Sequence[Point], unit: str) -> None:
    """Draw the parts of a whole, each with its label, value and share."""
    data = table(points)
    parts = data.row(data.series[0])
    if len(data.series) > 1 or len(parts) > _SLICES or min(parts) < 0 or not sum(parts):
        raise Unsupported(f"a pie has one series of at most {_SLICES} parts, none negative: take bars")
    colours = [colour(number) for number in range(len(parts))]
    whole = sum(parts)
    shown = [_slice(name, value, whole, unit) for name, value in zip(data.categories, parts, strict=True)]
    edge = {"edgecolor": "white", "linewidth": 1.5}
    ax.pie(parts, labels=shown, colors=colours, startangle=90, counterclock=False, wedgeprops=edge, labeldistance=1.12)
    ax.set_aspect("equal")


def _slice(name: str, value: float, whole: float, unit: str) -> str:
    text = f"{value:,.10g}{unit}" if unit == "%" else f"{value:,.10g} ({value / whole:.0%})"
    return f"{folded(name, 22)}\n{text}"


def heatmap(ax: Any, points: Sequence[Point], unit: str) -> None:
    """Draw a cell for each label (across) and series (down), shaded by its value; a missing one is white."""
    data = table(points)
    rows = [data.row(series) for series in data.series]
    drawn = ax.imshow(rows, cmap=SHADES, aspect="auto")
    ax.set_xticks(range(len(data.categories)), [folded(name, 12) for name in data.categories])
    ax.set_yticks(range(len(data.series)), [folded(name, 20) for name in data.series])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.figure.colorbar(drawn, ax=ax, label=unit, shrink=0.9).outline.set_visible(False)
    if len(data.values) <= _CELLS:
        middle = (max(data.values.values()) + min(data.values.values())) / 2
        for down, row in enumerate(rows):
            for across, value in enumerate(row):
                if not math.isnan(value):
                    ink = "white" if value < middle else INK
                    ax.text(across, down, f"{value:,.4g}", ha="center", va="center", color=ink, fontsize=8)


def timeline(ax: Any, points: Sequence[Point], unit: str) -> None:
    """Draw events on a vertical line, the earliest on top, at equal distances."""
    dated = [(date_of(point.date), point) for point in points]
    if any(found is None or not point.label for found, point in dated):
        raise Unsupported("a timeline needs a date (YYYY, YYYY-MM or YYYY-MM-DD) and a label in every row")
    if len(points) > _EVENTS:
        raise Unsupported(f"a timeline has at most {_EVENTS} events, this one {len(points)}")
    events = [point for _, point in sorted(dated, key=lambda item: item[0] or (0, 0, 0))]
    ax.vlines(0, 0, len(events) - 1, color=QUIET, linewidth=1.5)
    for place, event in enumerate(events):
        ax.plot(0, place, marker="o", color=colour(0), markersize=8)
        ax.text(-0.02, place, event.date, ha="right", va="center", color=QUIET)
        text = f"{event.label}" if event.value is None else f"{event.label}: {event.value:,.10g} {unit}".rstrip()
        ax.text(0.02, place, folded(text, 70), ha="left", va="center")
    ax.set(xlim=(-0.18, 0.9), ylim=(len(events) - 0.4, -0.6))
    ax.set_axis_off()


def _by_place(ax: Any, points: Sequence[Point]) -> tuple[dict[int, Any], dict[str, list[Point]]]:
    """Return the place of each point (by `id`), and the series with their points in the order of the axis."""
    at = dict(zip(map(id, points), places(ax, points), strict=True))
    return at, {name: sorted(own, key=lambda point: at[id(point)]) for name, own in by_series(points).items()}
