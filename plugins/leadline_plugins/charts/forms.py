"""The declared forms of charts, by the names of `chart_type`: what plans may ask for, whoever draws."""

from __future__ import annotations

FORMS = (
    "line",
    "bar",
    "stacked",
    "grouped",
    "horizontal",
    "area",
    "scatter",
    "pie",
    "histogram",
    "box",
    "heatmap",
    "timeline",
)
