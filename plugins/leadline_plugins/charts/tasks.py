"""The typed tasks of charts: what a model is asked for, and what it replies."""

from __future__ import annotations

from typing import Annotated

from leadline.findings import Question
from leadline.records import SINGLE, Record, Text
from leadline_plugins.charts.points import Point
from leadline_plugins.tasks.writing import Passage


class PlannedChart(Record):
    """A chart as proposed: its form, what its axes and its values are, its points, each from one piece of evidence.

    `code` is the program that draws it, where the runner takes code.
    """

    title: Text
    chart_type: str
    points: tuple[Point, ...] = ()
    x_label: Text = ""
    y_label: Text = ""
    unit: Text = ""
    code: str = ""


class ChartPlan(Record):
    """The charts of a report, the most telling first; none where numbers are few."""

    charts: tuple[Annotated[PlannedChart, SINGLE], ...] = ()


class ChartPlanRequest(Record):
    """Asks for at most `limit` charts of these forms from the evidence; `language` is `data`, or that of the code."""

    question: Question
    limit: int
    forms: tuple[str, ...]
    language: str
    outline: tuple[Text, ...]
    evidence: tuple[Passage, ...]


class ChartRepairRequest(Record):
    """Asks to put one chart right that was refused or could not be drawn, with the reason."""

    question: Question
    forms: tuple[str, ...]
    language: str
    chart: PlannedChart
    error: Text
    evidence: tuple[Passage, ...]
