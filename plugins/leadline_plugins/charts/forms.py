"""The forms of charts, drawn on matplotlib axes: bars and boxes, lines and areas, and their axes, colors and labels.

The colors are those of Okabe and Ito (2008), which color-blind readers distinguish, dark ones first. Marks, dashes and
hatches repeat them for charts in black and white.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

from leadline.errors import Unsupported
from leadline.records import Chart
from leadline_plugins.charts.points import Point, Table, by_series, date_of, table, values
from leadline_plugins.text.tokens import fold

CHAIN = ("Noto Sans CJK JP", "Noto Sans CJK TC", "Noto Sans CJK SC", "DejaVu Sans")
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#B8A800")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (4, 1.5, 1, 1.5)), (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)))
HATCHES = ("", "//", "..", "\\\\", "xx", "--", "oo", "++")
INK, QUIET, GRID = "#222222", "#5f6368", "#d9dce0"
SHADES = "cividis"
# Forms with values along one axis only: a unit in the label of the other belongs to the values.
_BARS = ("bar", "grouped", "stacked", "horizontal", "histogram", "box")


# Chinese and Japanese characters take full-width brackets.
_FULL_WIDE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
# The most bars that are labelled with their values.
_LABELLED = 16
# The most parts of stacked bars that are labelled.
_NUMBERED = 40
# A part that is a smaller share of the height has its label beside it.
_LOW = 0.05
# Characters of a category from which bars are horizontal.
_LONG = 12
# The most points of a line that are marked.
_MARKED = 40
_SLICES = 8
_EVENTS = 20
_CELLS = 150


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
        known = [date for date in dates if date]
        if all(month == 0 for _, month, _ in known):
            return _numeric(ax, [float(year) for year, _, _ in known])
        if all(year >= 1 for year, _, _ in known):
            return [date(year, month or 1, day or 1) for year, month, day in known]
    order = list(dict.fromkeys(point.name for point in points))
    ax.set_xticks(range(len(order)), [folded(name) for name in order])
    return [order.index(point.name) for point in points]


def _numeric(ax: Any, positions: list[float]) -> list[Any]:
    numbers(ax.xaxis, years=all(value == int(value) and 1000 <= value <= 2200 for value in positions))
    return positions


def folded(text: str, width: int = 16) -> str:
    """Return a text on lines of this many Latin letters; a CJK character counts as two."""
    wide = sum(ord(mark) > 0x2E80 for mark in text) * 2 > len(text)
    lines = textwrap.wrap(" ".join(text.split()), max(2, width // 2 if wide else width))
    return "\n".join(lines)


def color_of(index: int) -> str:
    """Return the color of a series by its place."""
    return COLORS[index % len(COLORS)]


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


def bar(ax: Any, points: Sequence[Point], unit: str) -> None:
    """Draw a bar for each category and series; horizontal where names are long."""
    data = table(points)
    if max(map(_width, data.categories)) * len(data.categories) > _LONG * 8:
        horizontal(ax, points, unit)
    else:
        _side_by_side(ax, data, unit, lying=False)


grouped = bar


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
    if len(parts) > _NUMBERED:
        return
    for at, middle, value in parts:
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
        ax.hist(group, bins=edges, label=name, edgecolor="white", color=color_of(number), **several)
    ax.grid(axis="y")
    numbers(ax.xaxis)


def box(ax: Any, points: Sequence[Point], unit: str) -> None:
    """Draw median, quartiles, whiskers and outliers of each group."""
    groups = by_series(points, lambda point: point.series or point.label)
    drawn = ax.boxplot(list(map(values, groups.values())), patch_artist=True, widths=0.55)
    for number, patch in enumerate(drawn["boxes"]):
        patch.set(facecolor=color_of(number), alpha=0.75, edgecolor=INK)
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
    return {"color": color_of(number), "hatch": HATCHES[number % len(HATCHES)], "edgecolor": "white", "linewidth": 0.5}


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


def line(ax: Any, points: Sequence[Point], unit: str) -> None:
    """Draw a line a series, along numbers, dates or names."""
    table(points)
    at, series = _by_place(ax, points)
    for number, (name, own) in enumerate(series.items()):
        mark = MARKS[number % len(MARKS)] if len(own) <= _MARKED else ""
        dash = DASHES[number % len(DASHES)]
        heights = values(own)
        ax.plot(
            [at[id(point)] for point in own], heights, color=color_of(number), marker=mark, linestyle=dash, label=name
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
    colors = [color_of(number) for number in range(len(series))]
    ax.stackplot(sorted(along), heights, labels=list(series), colors=colors, alpha=0.85, edgecolor="white")
    value_label(ax.yaxis)


def scatter(ax: Any, points: Sequence[Point], unit: str) -> None:
    """Draw points by x and value, with their labels if they are few."""
    if any(point.x is None for point in points):
        raise Unsupported("a scatter chart needs an x (a number) in every row")
    at, series = _by_place(ax, points)
    for number, (name, own) in enumerate(series.items()):
        mark = MARKS[number % len(MARKS)]
        xs = [at[id(point)] for point in own]
        ax.scatter(xs, values(own), color=color_of(number), marker=mark, s=42, label=name, edgecolors="white")
    if len(points) <= _MARKED // 2:
        for point in points:
            spot = at[id(point)], point.value
            ax.annotate(point.label, spot, xytext=(5, 4), textcoords="offset points", fontsize=8)
    ax.grid(visible=True)
    numbers(ax.yaxis)


def pie(ax: Any, points: Sequence[Point], unit: str) -> None:
    """Draw the parts of a whole, each with its label, value and share."""
    data = table(points)
    parts = data.row(data.series[0])
    if len(data.series) > 1 or len(parts) > _SLICES or min(parts) < 0 or not sum(parts):
        raise Unsupported(f"a pie has one series of at most {_SLICES} parts, none negative: take bars")
    colors = [color_of(number) for number in range(len(parts))]
    whole = sum(parts)
    labels = [_slice(name, value, whole, unit) for name, value in zip(data.categories, parts, strict=True)]
    edge = {"edgecolor": "white", "linewidth": 1.5}
    ax.pie(parts, labels=labels, colors=colors, startangle=90, counterclock=False, wedgeprops=edge, labeldistance=1.12)
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
    if any(date is None or not point.label for date, point in dated):
        raise Unsupported("a timeline needs a date (YYYY, YYYY-MM or YYYY-MM-DD) and a label in every row")
    if len(points) > _EVENTS:
        raise Unsupported(f"a timeline has at most {_EVENTS} events, this one {len(points)}")
    events = [point for _, point in sorted(dated, key=lambda item: item[0] or (0, 0, 0))]
    ax.vlines(0, 0, len(events) - 1, color=QUIET, linewidth=1.5)
    for index, event in enumerate(events):
        ax.plot(0, index, marker="o", color=color_of(0), markersize=8)
        ax.text(-0.02, index, event.date, ha="right", va="center", color=QUIET)
        text = f"{event.label}" if event.value is None else f"{event.label}: {event.value:,.10g} {unit}".rstrip()
        ax.text(0.02, index, folded(text, 70), ha="left", va="center")
    ax.set(xlim=(-0.18, 0.9), ylim=(len(events) - 0.4, -0.6))
    ax.set_axis_off()


def _by_place(ax: Any, points: Sequence[Point]) -> tuple[dict[int, Any], dict[str, list[Point]]]:
    """Return the place of each point (by `id`), and the series with their points in the order of the axis."""
    at = dict(zip(map(id, points), places(ax, points), strict=True))
    return at, {name: sorted(own, key=lambda point: at[id(point)]) for name, own in by_series(points).items()}
