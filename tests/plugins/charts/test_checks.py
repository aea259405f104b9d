"""Checks of planned charts: rows whose numbers are not in their passages, forms that do not fit, programs."""

from __future__ import annotations

from typing import Any

import pytest

from leadline_plugins.charts.checks import Checked, checked
from leadline_plugins.charts.planning import PlannedChart, PlannedRow
from leadline_plugins.prompting.numbered_passages import ShownPassage, ShownSource


def shown(*texts: str, **about: Any) -> tuple[ShownSource, ...]:
    about = {"id": "s1", "title": "Yearbook 2021"} | about
    passages = tuple(ShownPassage(id=f"e{n}", number=n, text=text) for n, text in enumerate(texts, start=1))
    return (ShownSource(**about, passages=passages),)


def plan(*rows: tuple[str, float | None, int], **more: Any) -> PlannedChart:
    planned = tuple(PlannedRow(label=label, value=value, passage=passage) for label, value, passage in rows)
    return PlannedChart(**({"title": "Harbours", "type": "bar", "rows": planned} | more))


def result(text: str, value: float, unit: str = "", label: str = "Oban", language: str = "data") -> Checked:
    """Check a chart of a value that the passage should state, and of two that it states."""
    scale = unit.partition(" ")[0] if unit.startswith(("million", "billion", "trillion", "万")) else ""
    passage = f"{text} Wick has 7.25 {scale} and Leith 8.25 {scale}."
    rows = (label, value, 1), ("Wick", 7.25, 1), ("Leith", 8.25, 1)
    return checked(plan(*rows, unit=unit), shown(passage), language)


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("Three quarters of the ships sank.", 75, "%"),
        ("Two thirds of the ships sank.", 67, "%"),
        ("Twenty million people live there.", 20, "million people"),
        ("Twenty million people live there.", 20_000_000, "people"),
        ("三分之二的船只沉没。", 66.7, "%"),
        ("人口达2千万。", 2000, "万"),
        ("人口达2千万。", 20_000_000, "人"),
        ("百分之三十五的船只沉没。", 35, "%"),
        ("It cost 1,234.5 euros.", 1234.5, "EUR"),
        ("It cost $589 billion.", 0.589, "trillion USD"),
        ("It fell by 3.2 %.", -3.2, "%"),
        ("| Oban | -3.2 |", -3.2, "%"),
        ("The share is 12-15 %.", 12, "%"),
        ("室温−350°C", 350, "°C"),
        ("Ships, in million: Oban 12.5.", 12.5, "million"),
        ("（单位：万人）大阪 12.5。", 12.5, "万人"),
    ],
)
def test_a_value_in_another_notation_is_in_the_passage(text: str, value: float, unit: str) -> None:
    found = result(text, value, unit)
    assert (found.dropped, found.problem, len(found.chart.rows)) == ("", "", 3)


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("Twenty million people live there.", 21, "million people"),
        ("It cost $589 billion.", 589, "million USD"),
        ("The share is 45 %.", 54, "%"),
        ("三分之二的船只沉没。", 33.3, "%"),
        ("| Oban | -3.2 |", 3.2, "%"),
        ("Nobody counted.", 40, ""),
        ("Two million people have 12.5 billion euros.", 12.5, "million euros"),
    ],
)
def test_a_row_whose_value_is_not_in_its_passage_is_dropped(text: str, value: float, unit: str) -> None:
    found = result(text, value, unit)
    assert [row.label for row in found.chart.rows] == ["Wick", "Leith"]
    assert "of 'Oban' is not in its passage" in found.dropped
    assert found.problem == ""


@pytest.mark.parametrize(
    "unit", ["billion USD", "USD billion", "USD (billions)", "US$ bn", "$bn", "$b", "bn USD per year", "billion $/year"]
)
def test_the_scale_of_a_unit_is_found_wherever_it_is_written(unit: str) -> None:
    text = shown("Oban cost $12.5 billion a year, Wick 7,500 million USD.")
    assert len(checked(plan(("Oban", 12.5, 1), ("Wick", 7.5, 1), unit=unit), text, "data").chart.rows) == 2
    assert checked(plan(("Oban", 12_500, 1), ("Wick", 7_500, 1), unit=unit), text, "data").chart.rows == ()


@pytest.mark.parametrize("unit", ["100 km", "m", "t per million people", "km/h", "µg/m³"])
def test_a_unit_without_a_scale_has_none(unit: str) -> None:
    text = shown("Oban has 12.5 and Wick 7.5.")
    assert len(checked(plan(("Oban", 12.5, 1), ("Wick", 7.5, 1), unit=unit), text, "data").chart.rows) == 2


def test_a_scale_that_the_passage_does_not_name_is_not_assumed() -> None:
    found = checked(plan(("Oban", 12.5, 1), ("Wick", 7.5, 1), unit="billion"), shown("Oban 12.5, Wick 7.5."), "data")
    assert found.chart.rows == ()


def test_a_row_that_names_no_passage_is_dropped() -> None:
    found = checked(plan(("Oban", 1, 9), ("Wick", 2, 1), ("Leith", 3, 1)), shown("Wick 2, Leith 3"), "data")
    assert found.dropped == "'Oban' names passage 9, which is none of the 1 shown"


@pytest.mark.parametrize(("label", "kept"), [("2021", 3), ("2020", 3), ("2019", 2), ("Q3 2021", 3)])
def test_a_year_of_a_label_is_in_the_passage_or_in_the_title_of_its_source(label: str, kept: int) -> None:
    assert len(result("In 2020 it had 12.5.", 12.5, label=label).chart.rows) == kept


def test_a_chart_with_fewer_than_two_rows_is_refused_with_the_reasons() -> None:
    found = checked(plan(("Oban", 40, 1), ("Wick", 2, 1)), shown("Wick has 2 ships."), "data")
    assert found.problem == (
        "it has 1 of at least 2 rows that their passages state: the value 40 of 'Oban' is not in its passage"
    )


def test_an_event_of_a_timeline_has_its_date_in_the_passage() -> None:
    rows = tuple(PlannedRow(label=date, series="Landing", passage=1) for date in ("1969-07-20", "1968-07-20"))
    found = checked(plan(rows=rows, type="timeline"), shown("They landed on 20 July 1969."), "data")
    assert [row.label for row in found.chart.rows] == ["1969-07-20"]
    assert found.problem == ""


@pytest.mark.parametrize(
    ("form", "values", "drawn"),
    [
        ("pie", (40, 60), "pie"),
        ("pie", (40, 35), "bar"),
        ("pie", (140, -40), "bar"),
        ("stacked", (40, 99), "grouped"),
        ("area", (40, 60), "area"),
        ("horizontal", (40, 99), "horizontal"),
    ],
)
def test_parts_without_a_whole_are_drawn_separately(form: str, values: tuple[float, ...], drawn: str) -> None:
    rows = [(f"Part {letter}", value, 1) for letter, value in zip("abcd", values, strict=False)]
    lost = [("Lost", 77.7, 1)] if 99 in values else []
    found = checked(
        plan(*rows, ("Part c", 50, 1), *lost, type=form, unit="%") if lost else plan(*rows, type=form, unit="%"),
        shown("Parts: 40, 60, 35, 140, 99, 50 and -40 %."),
        "data",
    )
    assert found.chart.type == drawn
    assert bool(found.changed) is (drawn != form)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("plt.bar([r['label'] for r in rows], [r['value'] for r in rows])", ""),
        ("plt.figure(figsize=(8, 4)); plt.bar([1, 2], [7.25, 8.25])", ""),
        ("plt.bar([1, 2, 3], [4, 5, 6])", "the code has its own numbers in line 1"),
        ("plt.bar(('a', 'b'), {'a': 14, 'b': 15, 'c': 16})", "the code has its own numbers in line 1"),
        ("import random", ""),
        ("values = random.sample(range(9), 3)", "the code uses random numbers in line 1"),
        ("plt.bar(", "the code is not Python"),
    ],
)
def test_a_program_has_no_numbers_of_its_own(code: str, problem: str) -> None:
    chart = plan(("Wick", 7.25, 1), ("Leith", 8.25, 1), code=code)
    found = checked(chart, shown("Wick has 7.25 and Leith 8.25."), "python")
    assert found.problem.startswith(problem) if problem else found.problem == ""
