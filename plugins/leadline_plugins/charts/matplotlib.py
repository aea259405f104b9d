"""The chart runner `matplotlib`: draws forms from data as PNG and SVG, without pyplot, display or foreign code.

Matplotlib draws a box for a missing glyph. Here a chart with a character that no font has is refused, and the error
names the package to install.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic import Field

from leadline.contracts import Call, Context
from leadline.display import one_line
from leadline.errors import Unsupported
from leadline.plugin import Limits, PluginSettings, chart_runner
from leadline.records import Chart, Figure
from leadline_plugins.charts import forms
from leadline_plugins.charts.forms import CHAIN, QUIET, folded, style, titles
from leadline_plugins.charts.points import FORMS, Point, alt_text, form_of, read

# Packages from PyPI that contain fonts.
_PACKAGES = ("noto_cjk_sans_otc", "manimgx_fonts")
_CJK = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "IDEOGRAPHIC", "BOPOMOFO", "FULLWIDTH", "KANGXI")
# The most missing characters that an error names.
_NAMED = 8
_AXELESS = ("pie", "timeline")
_TEXTS = ("title", "x_label", "y_label", "unit", "source")
# Dots an inch.
_DOTS = 200
# Matplotlib's settings and font caches belong to the process: one drawing at a time.
_LOCK = Lock()


def fonts_for(texts: Iterable[str], chain: Sequence[str]) -> list[str]:
    """Return the families that together have all characters of these texts. Raises `Unsupported` if there are none."""
    _register()
    needed = {ord(mark) for text in texts for mark in text if not _silent(mark)}
    families = [family for family in chain if _characters(family)]
    left = needed.difference(*map(_characters, families))
    if left:
        for family in _others():
            if left & _characters(family):
                families.append(family)
                left -= _characters(family)
    if left:
        raise Unsupported(_lacking(sorted(map(chr, left))))
    return families


def _lacking(missing: Sequence[str]) -> str:
    cjk = any(unicodedata.name(mark, "").startswith(_CJK) for mark in missing)
    package = "fonts-noto-cjk (or `leadline plugins install 'leadline[charts]'`)" if cjk else "fonts-noto-core"
    named = " ".join(f"{mark} (U+{ord(mark):04X})" for mark in missing[:_NAMED])
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return f"no installed font has {named}{more}: install {package} and draw again"


def _silent(mark: str) -> bool:
    """Return whether a character is invisible: white space, control, variation selector, joiner."""
    return mark.isspace() or unicodedata.category(mark) in ("Cc", "Cf", "Mn") or 0xFE00 <= ord(mark) <= 0xFE0F


@cache
def _register() -> None:
    """Register Noto fonts that matplotlib has not found: those of packages, and ones installed recently."""
    from matplotlib import font_manager

    known = {Path(font.fname).name for font in font_manager.fontManager.ttflist}
    for path in (*_packaged(), *map(Path, font_manager.findSystemFonts())):
        if path.name not in known and "Noto" in path.name:
            font_manager.fontManager.addfont(path)


def _packaged() -> Iterator[Path]:
    for spec in filter(None, map(find_spec, _PACKAGES)):
        for folder in spec.submodule_search_locations or ():
            yield from sorted(path for path in Path(folder).iterdir() if path.suffix in (".ttf", ".otf", ".ttc"))


@cache
def _characters(family: str) -> frozenset[int]:
    """Return the characters of a family; none if it is not installed."""
    from matplotlib import font_manager

    try:
        path = font_manager.fontManager.findfont(family, fallback_to_default=False)
    except ValueError:  # the font is not installed
        return frozenset()
    return frozenset(font_manager.get_font(path).get_charmap())


@cache
def _others() -> tuple[str, ...]:
    """Return all other families, those of Noto first, in alphabetical order."""
    from matplotlib import font_manager

    names = {font.name for font in font_manager.fontManager.ttflist if not font.name.startswith("Last")}
    return tuple(sorted(names, key=lambda name: (not name.startswith("Noto Sans"), name)))


def draw(chart: Chart, fonts: Sequence[str]) -> dict[str, bytes]:
    """Return PNG and SVG. Raises `Unsupported` for a chart that cannot be drawn."""
    form = form_of(chart.chart_type)
    if not form:
        raise Unsupported(f"the form {chart.chart_type!r} cannot be drawn; possible are {', '.join(FORMS)}")
    points = read(chart)
    chart = chart.model_copy(update={name: one_line(getattr(chart, name)) for name in _TEXTS})
    with _LOCK, warnings.catch_warnings():
        # Warnings of missing glyphs and of the layout belong in no log.
        warnings.simplefilter("ignore")
        return _drawn(chart, form, points, fonts_for(_texts(chart, points), fonts))


def _texts(chart: Chart, points: Sequence[Point]) -> list[str]:
    own = [*(getattr(chart, name) for name in _TEXTS), "0123456789-.,%"]
    return own + [text for point in points for text in (point.label, point.series)]


def _drawn(chart: Chart, form: str, points: list[Point], fonts: list[str]) -> dict[str, bytes]:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    with mpl.rc_context(style(fonts)):
        figure = Canvas(figsize=(8.0, _height(form, points)), layout="constrained")
        FigureCanvasAgg(figure)
        ax = figure.add_subplot()
        getattr(forms, form)(ax, points, chart.unit)  # its functions have the names of `FORMS`
        _describe(figure, ax, chart, form)
        return {"image/png": _saved(figure, "png"), "image/svg+xml": _saved(figure, "svg")}


def _height(form: str, points: Sequence[Point]) -> float:
    """Return the height in inches: lists grow with their items."""
    names = len({point.name for point in points})
    rows = {"timeline": len(points), "horizontal": len(points), "heatmap": len({p.series for p in points})}
    return min(14.0, max(4.5 if form != "timeline" else 1.5, 0.42 * rows.get(form, min(names, 12) * 0.5) + 1.4))


def _describe(figure: Any, ax: Any, chart: Chart, form: str) -> None:
    """Add axes with units, a legend of the series, the source below."""
    if form not in _AXELESS:
        _label_axes(ax, chart, form)
        handles, names = ax.get_legend_handles_labels()
        if len(handles) > 1 or (handles and names[0]):
            names = [folded(name, 24) for name in names]
            figure.legend(handles, names, loc="outside right upper", fontsize=9)
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
    return _with_palette(into) if kind == "png" else into.getvalue()


def _with_palette(picture: BytesIO) -> bytes:
    """Return a PNG with 256 colours, which is a third of the size: a run keeps each chart several times."""
    from PIL import Image

    into = BytesIO()
    Image.open(picture).convert("RGB").quantize(256).save(into, format="png", optimize=True)
    return into.getvalue()


class MatplotlibSettings(PluginSettings):
    """The look of charts."""

    fonts: tuple[str, ...] = Field(
        CHAIN, min_length=1, description="Font families: the first with a character is used."
    )


@chart_runner(
    "Draws twelve forms of charts from data, as PNG and SVG",
    settings=MatplotlibSettings,
    requires=("matplotlib=leadline[charts]",),
    work="local",
    limits=Limits(at_once=2, timeout=60),
)
class Matplotlib:
    """Draws in threads, one chart at a time."""

    def __init__(self, settings: MatplotlibSettings, context: Context) -> None:
        self._settings = settings
        self._context = context

    def accepts(self, language: str, /) -> bool:
        return language == "data"

    async def draw(self, chart: Chart, call: Call, /) -> Figure:
        """Return the chart as PNG and SVG."""
        media = await self._context.in_thread(draw, chart, self._settings.fonts)
        fields = {"caption": chart.title, "alt": alt_text(chart), "evidence_ids": chart.evidence_ids}
        return Figure(id=chart.id, media=media, **fields)
