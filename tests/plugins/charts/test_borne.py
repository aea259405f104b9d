"""Whether a chart's numbers stand in its evidence: what is refused, and what is not refused in error."""

from __future__ import annotations

from typing import Any

import pytest

from leadline.findings import Question
from leadline.records import Document, Evidence, Hit, Section, Source
from leadline_plugins.charts.borne import bound_of, invented
from leadline_plugins.charts.fitting import no_whole, side_by_side, unfit
from leadline_plugins.charts.forms import FORMS, form_of
from leadline_plugins.charts.planning import Material, own, passages, planned, repeated
from leadline_plugins.charts.points import Point, table
from leadline_plugins.charts.quoted import comparable
from leadline_plugins.charts.ranges import end_of, mixed
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
        (12.5, "%", "e2", "2021", "of '2021' does not stand in the quote it names"),
        (12.5, "%", "e9", "2021", "which does not exist"),
        (4.8, "units", "e4", "x", "the value 4.8 units"),
    ],
)
def test_what_does_not_is_refused_and_named(value: float, unit: str, evidence: str, label: str, because: str) -> None:
    assert because in said({"label": label, "value": value, "evidence_id": evidence}, unit=unit)


def test_places_and_dates_are_numbers_too() -> None:
    assert "'1999'" in said({"label": "x", "x": 1999, "value": 7, "evidence_id": "e2"}, unit="%")
    assert "1969" in said({"label": "x", "date": "1969-07-20", "evidence_id": "e1"})
    assert said({"label": "x", "date": "2021", "evidence_id": "e1"}) == ""


@pytest.mark.parametrize("date", ["2011-09", "2011", "2011-09-09"])
@pytest.mark.parametrize("quote", ["金价于2011年9月9日见顶。", "It peaked on 9 September 2011.", "Peak: 2011-09-09"])
def test_a_date_is_read_by_its_own_form(date: str, quote: str) -> None:
    assert of(quote, {"label": "x", "date": date}) == ""


@pytest.mark.parametrize("date", ["2012-09", "2011-10", "2011-09-10", "2012"])
def test_a_date_that_a_quote_does_not_say_is_refused(date: str) -> None:
    assert "does not stand" in of("It peaked on 9 September 2011.", {"label": "x", "date": date})


@pytest.mark.parametrize(
    ("quote", "point", "unit"),
    [
        ("Recovery combined both[19].", {"value": 19}, ""),
        ("Recovery combined both [18, 19] in the end.", {"value": 19}, ""),
        ("See https://example.org/a/19 for more.", {"value": 19}, ""),
        ("19. Recovery combined both.", {"value": 19}, ""),
        ("Growth was quick in the 1960s and 1970s.", {"date": "1960"}, ""),
        ("A share of 40.75% in 2024.", {"value": -40.75}, "%"),
        ("A change of -40.75% in 2024.", {"value": 40.75}, "%"),
        ("A share of 40.75% in 2024.", {"value": 2024}, "billion USD"),
        ("A share of 40.75% in 2024.", {"value": 2024}, ""),
        ("The market was 127.80 billion USD.", {"value": 128}, "billion USD"),
        ("- 33.1% public equity, 16.5% fixed income", {"value": -33.1}, "%"),
        ("- -3.1% in 2020", {"value": 3.1}, "%"),
        ("Growth – 3.1% in 2020", {"value": -3.1}, "%"),
        ("| 2020 | - 3.1 |", {"value": 3.1}, ""),
        ("−3.1% in 2020", {"value": 3.1}, "%"),
        ("出口同比-3.1%。", {"value": 3.1}, "%"),
        ("净利润：-3亿元", {"value": 3}, "亿元"),
        ("Penalties of up to $25,000 each.", {"value": 25000}, "billion USD"),
        ("A fee of $25.", {"value": 25}, "USD bn"),
        ("A fee of €500.", {"value": 500}, "million EUR"),
        ("A fee of €500.", {"value": 500}, "EUR (millions)"),
        ("A fee of €500.", {"value": 500}, "EUR m"),
        ("It cost 25 yuan.", {"value": 25}, "元（亿）"),
        ("It cost 25美元.", {"value": 25}, "百万美元"),
    ],
)
def test_what_only_looks_like_the_number_is_refused(quote: str, point: dict[str, Any], unit: str) -> None:
    assert "does not stand" in of(quote, {"label": "x", **point}, unit)


@pytest.mark.parametrize(
    ("quote", "value", "unit"),
    [
        ("Some 2000 people came.", 2000, "people"),
        ("A change of -40.75% in 2024.", -40.75, "%"),
        ("Profits declined by 7 %.", -7, "%"),
        ("利润下降7%。", -7, "%"),
        ("From 3-7 % of them.", 7, "%"),
        ("- 33.1% public equity, 16.5% fixed income", 33.1, "%"),
        ("– 33.1% public equity", 33.1, "%"),
        ("Funds:\n- $1.33 trillion in assets (2023)", 1.33, "trillion USD"),
        ("> - 33.1% public equity", 33.1, "%"),
        ("- -3.1% in 2020", -3.1, "%"),
        ("Growth – 3.1% in 2020", 3.1, "%"),
        ("Growth: -3.1% in 2020", -3.1, "%"),
        ("A loss of -$1.2 billion.", -1.2, "billion USD"),
        ("| 2020 | - 3.1 |", -3.1, ""),
        ("Growth (− 3.1 %)", -3.1, "%"),
        ("出口同比-3.1%。", -3.1, "%"),
        ("费用为10万元-20万元。", 20, "万元"),
        ("典型温度：室温–350°C。", 350, "°C"),
        ("It was worth $3.4 billion.", 3.4, "USD (billions)"),
        ("It was worth $3.4m.", 3.4, "USD m"),
        ("It was worth $589 billion.", 0.589, "trillion USD"),
        ("It fell ill: 25 deaths per million.", 25, "deaths per million"),
        ("Spending of $3 million per year.", 3, "USD million per year"),
        ("Debt of 60 % of GDP.", 60, "% of GDP"),
    ],
)
def test_what_a_quote_does_say_is_taken(quote: str, value: float, unit: str) -> None:
    assert of(quote, {"label": "x", "value": value}, unit) == ""


def test_what_stands_over_a_quote_dates_its_number_and_is_no_number_itself() -> None:
    (item,) = pieces("- 71.4% equities, 26.6% fixed income")
    held = {"e0": item.model_copy(update={"under": "Norway GPFG › Allocation in 2024, of 98%"})}
    share = Point(label="GPFG (2024)", value=71.4, evidence_id="e0")
    chart = PlannedChart(title="T", chart_type="bar", points=(share,), unit="%")
    assert invented(chart, held, {}) == ""
    over = chart.model_copy(update={"points": (share.model_copy(update={"value": 98}),)})
    assert "98 %" in invented(over, held, {})


def test_the_same_words_under_other_headings_are_other_evidence() -> None:
    first, second, third = pieces("- Bonds: 25%", "- Bonds: 25%", "- Bonds: 25%")
    second = second.model_copy(update={"under": "Japan", "score": 0.9})
    section = Section(id="1", title="Bonds", evidence_ids=("e0", "e1", "e2"))
    assert [item.id for item in own((first, second, third), (section,))] == ["e1", "e2"]


def test_a_planner_sees_the_headings_over_a_quote_that_it_does_not_say() -> None:
    item = pieces("- Equities: 71.4%")[0].model_copy(update={"under": "Norway GPFG › Equities"})
    assert [passage.under for passage in passages([item], {})] == ["Norway GPFG"]


def of(quote: str, point: dict[str, Any], unit: str = "") -> str:
    evidence = {"e": Evidence(id="e", source_id="s", quote=quote, span=(0, len(quote)), claim=quote)}
    chart = PlannedChart(title="T", chart_type="bar", points=(Point(**point, evidence_id="e"),), unit=unit)
    return invented(chart, evidence, {})


@pytest.mark.parametrize(
    ("form", "points", "because"),
    [
        ("bar", [], "it came without numbers"),
        ("bar", [{"label": "a", "value": 1}], "it has 1 number, and a chart compares at least 3"),
        ("line", [{"label": "a", "value": 1}, {"label": "b", "value": 2}], "it has 2 numbers"),
        ("sankey", [{"label": "a", "value": 1}], "the form 'sankey' cannot be drawn"),
        ("scatter", [{"label": "a", "value": 1}], "'a' came without"),
        ("bar", [{"label": "a"}], "'a' came without a value"),
        ("timeline", [{"label": "a", "value": 1}], "a timeline needs a date"),
        ("pie", [{"label": "a", "value": -1}], "none of them negative"),
        ("bar", [{"label": "a", "value": 1}, {"label": "a", "value": 2}], "there are two values for 'a'"),
    ],
)
def test_what_does_not_fit_its_form_is_told(form: str, points: list[dict[str, Any]], because: str) -> None:
    chart = PlannedChart(title="T", chart_type=form, points=tuple(Point(**point) for point in points))
    assert because in "; ".join(unfit(chart))


def test_one_event_is_a_timeline() -> None:
    assert not list(unfit(PlannedChart(title="T", chart_type="timeline", points=(Point(label="a", date="1871"),))))


def shares(form: str, *parts: tuple[str, str, float], unit: str = "%") -> PlannedChart:
    points = tuple(Point(label=label, series=series, value=value) for label, series, value in parts)
    return PlannedChart(title="T", chart_type=form, points=points, unit=unit)


@pytest.mark.parametrize(
    ("chart", "why"),
    [
        (shares("pie", ("a", "", 25), ("b", "", 25), ("c", "", 25)), "its parts make 75 %"),
        (shares("pie", ("a", "", 60), ("b", "", 40), ("c", "", 20), unit="% of GDP"), "its parts make 120 %"),
        (shares("pie", ("a", "s", 50), ("b", "t", 25), ("c", "t", 25)), "one series"),
        (shares("pie", *((f"p{n}", "", 10) for n in range(10))), "at most 8 parts"),
        (shares("stacked", ("x", "a", 60), ("x", "b", 40), ("y", "a", 67)), "the parts of 'y' make 67 %"),
        (shares("area", ("1", "a", 60), ("1", "b", 40), ("2", "a", 50), ("2", "b", 30)), "the parts of '2' make 80 %"),
    ],
)
def test_parts_that_make_no_whole_are_drawn_beside_each_other(chart: PlannedChart, why: str) -> None:
    assert why in no_whole(chart)
    assert why in "; ".join(unfit(chart))
    apart = side_by_side(chart)
    assert apart.chart_type in ("bar", "grouped", "line")
    assert (no_whole(apart), list(unfit(apart)), apart.points) == ("", [], chart.points)


@pytest.mark.parametrize(
    "chart",
    [
        shares("pie", ("a", "", 33), ("b", "", 33), ("c", "", 33)),
        shares("pie", ("a", "", 56.2), ("b", "", 18.5), ("c", "", 16.7), ("d", "", 8.6)),
        shares("pie", ("a", "", 6.5), ("b", "", 3), ("c", "", 2), unit="billion USD"),
        shares("stacked", ("x", "a", 71.4), ("x", "b", 26.6), ("x", "c", 1.8), ("y", "a", 51), ("y", "b", 49)),
        shares("stacked", ("x", "a", 30), ("x", "b", 20), ("y", "a", 35), ("y", "b", 10)),
        shares("bar", ("a", "", 25), ("b", "", 25), ("c", "", 25)),
    ],
)
def test_parts_of_a_whole_and_of_one_that_nobody_knows_stay_as_they_are(chart: PlannedChart) -> None:
    assert (no_whole(chart), list(unfit(chart))) == ("", [])


@pytest.mark.parametrize("form", ["Bar", "bar chart", "heat_map", "Scatter plot", "stacked"])
def test_a_form_is_known_however_it_is_spelled(form: str) -> None:
    assert form_of(form) in FORMS


@pytest.mark.parametrize(
    ("names", "ordered"),
    [
        (["2024", "2025", "2033", "2032"], ["2024", "2025", "2032", "2033"]),
        (["2024年", "2022年", "2023年"], ["2022年", "2023年", "2024年"]),
        (["2025E", "2024", "FY2023"], ["FY2023", "2024", "2025E"]),
        (["2011-09", "2011-02"], ["2011-02", "2011-09"]),
        (["Europe", "Asia", "2024"], ["Europe", "Asia", "2024"]),
    ],
)
def test_years_and_dates_stand_in_the_order_of_time(names: list[str], ordered: list[str]) -> None:
    found = table([Point(label=name, value=1) for name in names])
    assert list(found.categories) == ordered


def pieces(*quotes: str) -> list[Evidence]:
    return [
        Evidence(id=f"e{at}", source_id="s", quote=quote, span=(0, len(quote)), claim=quote)
        for at, quote in enumerate(quotes)
    ]


@pytest.mark.parametrize(
    ("quotes", "places"),
    [
        (["The share was 40%.", "It rose to 45%.", "In 2024 it was 50.5%.", "It has 12 cars."], [0, 1, 2]),
        (["In 2020 300 ships, in 2021 400 ships, in 2022 450 ships came."], [0]),
        (["Japan recovered[19].", "So did others [1, 2, 3].", "In 2011, 2012 and 2013.", "1. First\n2. Then"], []),
        (["The share was 40%.", "It has 12 cars.", "It took 3 hours."], []),
        (["The first of three, the 2nd of them, the 3rd."], []),
    ],
)
def test_charts_are_looked_for_where_figures_can_be_compared(quotes: list[str], places: list[int]) -> None:
    assert comparable(quotes, 3) == [quotes[place] for place in places]


@pytest.mark.parametrize(
    ("quote", "value", "bound"),
    [
        ("Over 57% of households have one.", 57, "least"),
        ("约57%的家庭拥有。", 57, "about"),
        ("57% of households have one.", 57, ""),
    ],
)
def test_what_a_quote_says_roughly_is_known(quote: str, value: float, bound: str) -> None:
    assert bound_of(quote, value, "%") == bound


def test_a_chart_notes_what_its_quotes_say_roughly() -> None:
    (item,) = pieces("Over 57% of households have one.")
    chart = PlannedChart(title="T", chart_type="bar", points=(Point(label="US", value=57, evidence_id="e0"),), unit="%")
    drawn = planned(chart, 1, Material(Question(text="Q"), "data", {"e0": item}, {}))
    assert drawn.source == "US: > 57 %"


SPANS = "ADIA: 32–42% developed equities, 7–15% EM equities, from 12% to 17% private equity, 5% property"


@pytest.mark.parametrize(
    ("value", "which"), [(32, "lower"), (42, "upper"), (15, "upper"), (17, ""), (12, ""), (5, ""), (9, "")]
)
def test_one_end_of_a_range_is_known_as_such(value: float, which: str) -> None:
    end = end_of(SPANS, value, "%")
    assert (end.which if end else "") == which


def ranged(*values: float, series: tuple[str, ...] = ("", "", "")) -> PlannedChart:
    points = tuple(
        Point(label=f"{value}", value=value, series=name, evidence_id="e0")
        for value, name in zip(values, series, strict=False)
    )
    return PlannedChart(title="T", chart_type="bar", points=points, unit="%")


def test_the_same_points_in_another_scale_are_the_same() -> None:
    one = PlannedChart(
        title="T", chart_type="bar", points=tuple(at(value) for value in (1.74, 1.33, 1.08)), unit="trillion USD"
    )
    other = one.model_copy(update={"title": "O", "points": (at(1330), at(1080)), "unit": "billion USD"})
    assert repeated([other, one]) == {0: "T"}
    assert repeated([one, one.model_copy(update={"points": (*other.points, at(2))}), other]) == {2: "T"}
    assert repeated([other, other]) == {1: "O"}


def at(value: float) -> Point:
    return Point(label=f"{value}", value=value, evidence_id="e0")


@pytest.mark.parametrize(
    ("value", "unit", "has"),
    [(3.4, "billion tonnes", "which has '3.4 million tonnes'"), (13, "%", "which has '12.5 %'"), (9, "kg", "names")],
)
def test_what_a_quote_has_instead_is_told(value: float, unit: str, has: str) -> None:
    assert said({"label": "x", "value": value, "evidence_id": "e1"}, unit=unit).endswith(has)


def test_a_chart_notes_ranges_and_mixes_no_lower_with_upper_ends() -> None:
    (item,) = pieces(SPANS)
    held = {"e0": item}
    assert "'15' is the upper end of 7–15%" in mixed(ranged(32, 15, 5), held)
    assert not mixed(ranged(32, 7, 5), held)
    assert not mixed(ranged(32, 42), held)
    assert not mixed(ranged(32, 15, series=("least", "most")), held)
    drawn = planned(ranged(32, 7, 5), 1, Material(Question(text="Q"), "data", held, {}))
    assert drawn.source == "32: 32–42%; 7: 7–15%"


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
