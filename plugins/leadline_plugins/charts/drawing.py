"""A chart drawn by matplotlib: from rows to PNG and SVG, without pyplot and without a display."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from threading import Lock
from typing import Any

from leadline.errors import Unsupported
from leadline.printable import one_line
from leadline.records import Chart
from leadline_plugins.charts import bars, curves
from leadline_plugins.charts.axes import folded, titles
from leadline_plugins.charts.fonts import fonts_for
from leadline_plugins.charts.forms import FORMS, form_of
from leadline_plugins.charts.palette import QUIET, style
from leadline_plugins.charts.points import Point, read

Draw = Callable[[Any, Sequence[Point], str], None]
_DRAWN: Mapping[str, Draw] = {
    "line": curves.line,
    "bar": bars.bar,
    "stacked": bars.stacked,
    "grouped": bars.bar,
    "horizontal": bars.horizontal,
    "area": curves.area,
    "scatter": curves.scatter,
    "pie": curves.pie,
    "histogram": bars.histogram,
    "box": bars.box,
    "heatmap": curves.heatmap,
    "timeline": curves.timeline,
}
_AXELESS = ("pie", "timeline")
_SAID = ("title", "x_label", "y_label", "unit", "source")
_DOTS = 200
"""Dots an inch: sharp in print."""
_LOCK = Lock()
"""Matplotlib's settings and caches of fonts are the process's: one drawing at a time."""


def draw(chart: Chart, fonts: Sequence[str], titled: bool) -> dict[str, bytes]:
    """Return PNG and SVG. Raises `Unsupported` for what cannot be drawn, or not be read."""
    form = form_of(chart.chart_type)
    if not form:
        raise Unsupported(f"the form {chart.chart_type!r} cannot be drawn; possible are {', '.join(FORMS)}")
    points = read(chart)
    chart = chart.model_copy(update={name: one_line(getattr(chart, name)) for name in _SAID})
    with _LOCK, warnings.catch_warnings():
        # What matplotlib warns of here is a glyph or a layout that went wrong, and belongs to nobody's log.
        warnings.simplefilter("ignore")
        return _drawn(chart, form, points, fonts_for(_texts(chart, points), fonts), titled)


def _texts(chart: Chart, points: Sequence[Point]) -> list[str]:
    own = [*(getattr(chart, name) for name in _SAID), "0123456789-.,%"]
    return own + [text for point in points for text in (point.label, point.series)]


def _drawn(chart: Chart, form: str, points: list[Point], fonts: list[str], titled: bool) -> dict[str, bytes]:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(style(fonts)):
        figure = Figure(figsize=(8.0, _height(form, points)), layout="constrained")
        FigureCanvasAgg(figure)
        ax = figure.add_subplot()
        _DRAWN[form](ax, points, chart.unit)
        _describe(figure, ax, chart, form, titled)
        return {"image/png": _saved(figure, "png"), "image/svg+xml": _saved(figure, "svg")}


def _height(form: str, points: Sequence[Point]) -> float:
    """Return the height in inches: forms that list things grow with them."""
    names = len({point.name for point in points})
    rows = {"timeline": len(points), "horizontal": len(points), "heatmap": len({p.series for p in points})}
    return min(14.0, max(4.5 if form != "timeline" else 1.5, 0.42 * rows.get(form, min(names, 12) * 0.5) + 1.4))


def _describe(figure: Any, ax: Any, chart: Chart, form: str, titled: bool) -> None:
    """Put on what the reader needs: axes with their units, series with their names, the source below."""
    if form not in _AXELESS:
        _label_axes(ax, chart, form)
        handles, names = ax.get_legend_handles_labels()
        if len(handles) > 1 or (handles and names[0]):
            names = [folded(name, 24) for name in names]
            figure.legend(handles, names, loc="outside right upper", fontsize=9)
    if titled:
        figure.suptitle(folded(chart.title, 80), x=0.01, ha="left", fontsize=12)
    if chart.source:
        figure.supxlabel(folded(chart.source, 120).replace(" ·\n", "\n· "), x=0.01, ha="left", fontsize=8, color=QUIET)


def _label_axes(ax: Any, chart: Chart, form: str) -> None:
    of_names, of_values = titles(chart, form)
    # Lying bars have their values along the x axis, and so have histograms.
    lying = ax.yaxis_inverted() and form != "heatmap"
    if lying or form == "histogram":
        ax.set_xlabel(of_values)
        ax.set_title(of_names if lying else "", loc="left")
    elif form == "heatmap":
        ax.set_xlabel(chart.x_label)
        ax.set_ylabel(chart.y_label)
    else:
        ax.set_xlabel(of_names)
        ax.set_title(of_values, loc="left")


def _saved(figure: Any, kind: str) -> bytes:
    into = BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    figure.savefig(into, format=kind, dpi=_DOTS, metadata=metadata)
    return into.getvalue()
