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


def form_of(name: str) -> str:
    """Return the form that a name means, however it is spelled (`Bar`, `heat_map`); empty where there is none."""
    form = name.strip().lower().replace(" ", "").replace("_", "").replace("-", "")
    form = form.removesuffix("chart").removesuffix("plot") or form
    return form if form in FORMS else ""
