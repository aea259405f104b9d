"""Whether a chart's numbers stand in its evidence: what is refused, and what is not refused in error."""

from __future__ import annotations

from typing import Any

import pytest

from leadline.records import Document, Evidence, Hit, Source
from leadline_plugins.charts.borne import invented
from leadline_plugins.charts.points import Point
from leadline_plugins.charts.tasks import PlannedChart

QUOTES = {
    "e1": "In 2021 exports rose to 3.4 million tonnes, or 12.5 % of the total.",
    "e2": "Profits fell by 7 % to $1,250 million.",
    "e3": "2020年出口額為3.2億美元，占12%。",
    "e4": "Output reached 48,000 units.",
}
EVIDENCE = {
    name: Evidence(id=name, source_id="s", quote=quote, span=(0, len(quote)), claim=quote)
    for name, quote in QUOTES.items()
}
SOURCES = {
    "s": Source(
        id="s",
        hit=Hit(url="https://example.org", title="Yearbook 2023", published="2024-02-01"),
        document=Document(text=" ".join(QUOTES.values())),
    )
}


def said(*points: dict[str, Any], unit: str = "", code: str = "") -> str:
    chart = PlannedChart(
        title="T", chart_type="bar", points=tuple(Point(**point) for point in points), unit=unit, code=code
    )
    return invented(chart, EVIDENCE, SOURCES)


@pytest.mark.parametrize(
    ("value", "unit", "evidence", "label"),
    [
        (3.4, "million tonnes", "e1", "2021"),
        (12.5, "%", "e1", "exports"),
        (-7, "%", "e2", "profits"),
        (1250, "million USD", "e2", "profits"),
        (3.2, "億美元", "e3", "2020"),
        (12, "%", "e3", "2020"),
        (48000, "units", "e4", "2023"),
        (48000, "", "e4", "2024"),
    ],
)
def test_what_stands_in_the_quote_is_taken(value: float, unit: str, evidence: str, label: str) -> None:
    assert said({"label": label, "value": value, "evidence_id": evidence}, unit=unit) == ""


@pytest.mark.parametrize(
    ("value", "unit", "evidence", "label", "because"),
    [
        (3.5, "million tonnes", "e1", "2021", "the value 3.5 million tonnes"),
        (3.4, "billion tonnes", "e1", "2021", "the value 3.4 billion tonnes"),
        (3.4, "%", "e1", "2021", "the value 3.4 %"),
        (12.5, "%", "e1", "2019", "'2019'"),
        (12.5, "%", "e2", "2021", "does not stand in e2"),
        (12.5, "%", "e9", "2021", "there is none such"),
        (4.8, "units", "e4", "x", "the value 4.8 units"),
    ],
)
def test_what_does_not_is_refused_and_named(value: float, unit: str, evidence: str, label: str, because: str) -> None:
    assert because in said({"label": label, "value": value, "evidence_id": evidence}, unit=unit)


def test_places_and_dates_are_numbers_too() -> None:
    assert "'1999'" in said({"label": "x", "x": 1999, "value": 7, "evidence_id": "e2"}, unit="%")
    assert "1969" in said({"label": "x", "date": "1969-07-20", "evidence_id": "e1"})
    assert said({"label": "x", "date": "2021", "evidence_id": "e1"}) == ""


def test_no_points_are_no_chart() -> None:
    assert "it has no points" in said()


ROW = {"label": "2021", "value": 12.5, "evidence_id": "e1"}


@pytest.mark.parametrize(
    "code",
    [
        "plt.figure(figsize=(8, 4.5))\nplt.bar([r['label'] for r in rows], [r['value'] for r in rows])",
        "plt.bar([2021, 2021, 2021], [12.5, 12.5, 12.5])",
        "plt.rcParams.update({'font.size': 10, 'axes.labelsize': 9})",
    ],
)
def test_code_that_draws_the_rows_is_taken(code: str) -> None:
    assert said(ROW, unit="%", code=code) == ""


@pytest.mark.parametrize(
    ("code", "because"),
    [
        ("plt.plot([1, 2, 3], [4, 5, 6])", "numbers of its own in line 1"),
        ("data = {'a': 10, 'b': 20, 'c': 31}", "numbers of its own"),
        ("import numpy as np\ny = np.random.rand(9)", "by chance in line 2"),
        ("plt.plot(", "is no Python"),
    ],
)
def test_code_with_numbers_of_its_own_is_refused(code: str, because: str) -> None:
    assert because in said(ROW, unit="%", code=code)
