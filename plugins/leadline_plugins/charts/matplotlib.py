"""Chart runner `matplotlib`: draws declared forms from data as PNG and SVG, without pyplot, display or foreign code."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from threading import Lock
from typing import Any

from pydantic import Field

from leadline.contracts import Call, Context
from leadline.errors import Unsupported
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.printable import one_line
from leadline.records import Chart, Figure
from leadline_plugins.charts import bars, curves
from leadline_plugins.charts.axes import QUIET, folded, style, titles
from leadline_plugins.charts.fonts import CHAIN, fonts_for
from leadline_plugins.charts.points import FORMS, Point, alt_text, form_of, read

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
_TEXTS = ("title", "x_label", "y_label", "unit", "source")
_DOTS = 200
"""Dots an inch."""
_LOCK = Lock()
"""Matplotlib's settings and font caches belong to the process: one drawing at a time."""


def draw(chart: Chart, fonts: Sequence[str], titled: bool) -> dict[str, bytes]:
    """Return PNG and SVG. Raises `Unsupported` for a chart that cannot be drawn."""
    form = form_of(chart.chart_type)
    if not form:
        raise Unsupported(f"the form {chart.chart_type!r} cannot be drawn; possible are {', '.join(FORMS)}")
    points = read(chart)
    chart = chart.model_copy(update={name: one_line(getattr(chart, name)) for name in _TEXTS})
    with _LOCK, warnings.catch_warnings():
        # Warnings of missing glyphs and of the layout belong in no log.
        warnings.simplefilter("ignore")
        return _drawn(chart, form, points, fonts_for(_texts(chart, points), fonts), titled)


def _texts(chart: Chart, points: Sequence[Point]) -> list[str]:
    own = [*(getattr(chart, name) for name in _TEXTS), "0123456789-.,%"]
    return own + [text for point in points for text in (point.label, point.series)]


def _drawn(chart: Chart, form: str, points: list[Point], fonts: list[str], titled: bool) -> dict[str, bytes]:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    with mpl.rc_context(style(fonts)):
        figure = Canvas(figsize=(8.0, _height(form, points)), layout="constrained")
        FigureCanvasAgg(figure)
        ax = figure.add_subplot()
        _DRAWN[form](ax, points, chart.unit)
        _describe(figure, ax, chart, form, titled)
        return {"image/png": _saved(figure, "png"), "image/svg+xml": _saved(figure, "svg")}


def _height(form: str, points: Sequence[Point]) -> float:
    """Return the height in inches: lists grow with their items."""
    names = len({point.name for point in points})
    rows = {"timeline": len(points), "horizontal": len(points), "heatmap": len({p.series for p in points})}
    return min(14.0, max(4.5 if form != "timeline" else 1.5, 0.42 * rows.get(form, min(names, 12) * 0.5) + 1.4))


def _describe(figure: Any, ax: Any, chart: Chart, form: str, titled: bool) -> None:
    """Add axes with units, a legend of the series, the source below."""
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
    # Horizontal bars and histograms have their values along the x axis.
    horizontal = ax.yaxis_inverted() and form != "heatmap"
    if horizontal or form == "histogram":
        ax.set_xlabel(of_values)
        ax.set_title(of_names if horizontal else "", loc="left")
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


class MatplotlibSettings(PluginSettings):
    """The look of charts."""

    fonts: tuple[str, ...] = Field(
        CHAIN, min_length=1, description="Font families: the first with a character is used."
    )
    title: bool = Field(False, description="Whether the picture shows the title; the caption has it.")


class Matplotlib:
    """Draws in threads, one chart at a time."""

    def __init__(self, settings: MatplotlibSettings, context: Context) -> None:
        self._settings = settings
        self._context = context

    def accepts(self, language: str, /) -> bool:
        """Accept rows."""
        return language == "data"

    async def draw(self, chart: Chart, call: Call, /) -> Figure:
        """Return the chart as PNG and SVG."""
        media = await self._context.in_thread(draw, chart, self._settings.fonts, self._settings.title)
        shown = {"caption": chart.title, "alt": alt_text(chart), "evidence_ids": chart.evidence_ids}
        return Figure(id=chart.id, media=media, **shown)


def _make(settings: MatplotlibSettings, context: Context) -> Matplotlib:
    return Matplotlib(settings, context)


@hookimpl
def leadline_chart_runners() -> Iterator[Offer[Any, Matplotlib]]:
    """Offer the runner."""
    yield Offer(
        _make,
        MatplotlibSettings,
        "Draws twelve forms of charts from data, as PNG and SVG",
        requires=("matplotlib=leadline[charts]",),
        at_once=2,
    )
