"""Values of a chart that are one end of a range in their quotes: of `32–42 %` a picture shows 32 % and nothing more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Literal, NamedTuple

from leadline.records import Evidence
from leadline_plugins.charts.borne import bearing
from leadline_plugins.charts.points import Point
from leadline_plugins.charts.quoted import quoted, unmarked
from leadline_plugins.charts.tasks import PlannedChart
from leadline_plugins.checks.figure import Figure
from leadline_plugins.text.tokens import fold

_DASH = re.compile(r"\s?[–—~〜～-]\s?")
_TO = re.compile(r"\s(?:to|bis|à|a|до)\s|\s?[至到]\s?")
_AND = re.compile(r"\s(?:and|und|et|y|e|и)\s|[和与與]")
_BETWEEN = re.compile(r"(?:\b(?:between|zwischen|entre|tra|fra|между)|[在于於介])[\s$€£¥]*$")
_FROM = re.compile(r"(?:\b(?:from|von|de|da|des|от|с)|[从從由自])[\s$€£¥]*$")
"""What makes of two figures a change, not a range: `from 12 % to 17 %`."""
_BEFORE = 12
"""Characters before a figure in which such a word stands."""


class End(NamedTuple):
    """Which end of a range a value is, and the range as the quote has it."""

    which: Literal["lower", "upper"]
    range: str


def end_of(quote: str, value: float, unit: str) -> End | None:
    """Return the range of which a quote says a value as one end; None where it says the value by itself."""
    bears = {figure.at for figure in bearing(quote, value, unit)}
    found = {}
    for low, high, said in _ranges(quote):
        found.update({low.at: End("lower", said), high.at: End("upper", said)})
    return found[min(bears)] if bears and bears <= found.keys() else None


def ends(chart: PlannedChart, evidence: Mapping[str, Evidence]) -> Iterator[tuple[Point, End]]:
    """Yield the points of a chart whose values are one end of a range, with it."""
    for point in chart.points:
        item = evidence.get(point.evidence_id)
        if item and point.value is not None and (end := end_of(item.quote, point.value, chart.unit)):
            yield point, end


def mixed(chart: PlannedChart, evidence: Mapping[str, Evidence]) -> str:
    """Say which values are lower and which upper ends of ranges, where a chart has both; empty where it does not.

    Where both ends of a range are shown, as a series of the lowest and one of the highest, nothing is mixed.
    """
    found = list(ends(chart, evidence))
    sides: dict[str, dict[str, set[str]]] = {}
    for point, end in found:
        sides.setdefault(point.series, {}).setdefault(end.which, set()).add(end.range)
    for series in sides.values():
        lower, upper = series.get("lower", set()), series.get("upper", set())
        if lower and upper and not lower & upper:
            named = "; ".join(f"{point.name!r} is the {end.which} end of {end.range}" for point, end in found)
            return f"it mixes lower and upper ends of ranges ({named}): take the same end of all, or leave them out"
    return ""


def _ranges(quote: str) -> Iterator[tuple[Figure, Figure, str]]:
    """Yield the two figures of each range of a quote, the lower one first, and its words."""
    folded = fold(unmarked(quote))
    shown = quote if len(folded) == len(quote) else folded
    found = sorted((one for one in quoted(quote) if one.kind != "year" and not one.month), key=lambda one: one.at)
    for low, high in pairwise(found):
        end = low.at + len(low.said)
        between = folded[end : high.at]
        before = folded[max(0, low.at - _BEFORE) : low.at]
        ranges = (
            _DASH.fullmatch(between)
            or (_TO.fullmatch(between) and not _FROM.search(before))
            or (_AND.fullmatch(between) and _BETWEEN.search(before))
        )
        alike = low.unit == high.unit or not (low.unit and high.unit)
        if ranges and alike and low.value < high.value:
            yield low, high, shown[low.at : high.at + len(high.said)]
