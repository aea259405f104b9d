"""Chart runner `matplotlib`: draws declared forms from data, without foreign code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from leadline.contracts import Call, Context
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Chart, Figure
from leadline_plugins.charts.alt import alt_text
from leadline_plugins.charts.fonts import CHAIN


class MatplotlibSettings(PluginSettings):
    """How charts look."""

    fonts: tuple[str, ...] = Field(CHAIN, min_length=1, description="Families, the first that has a character sets it.")
    title: bool = Field(False, description="Whether the title stands in the picture too; a report has it below.")


class Matplotlib:
    """Draws in the house's threads, one chart at a time."""

    def __init__(self, settings: MatplotlibSettings, context: Context) -> None:
        self._settings = settings
        self._context = context

    def accepts(self, language: str, /) -> bool:
        """Accept rows."""
        return language == "data"

    async def draw(self, chart: Chart, call: Call, /) -> Figure:
        """Return the chart as PNG and SVG."""
        from leadline_plugins.charts.drawing import draw

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
