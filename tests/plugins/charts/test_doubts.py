"""What speaks against a point of a chart: its label stands nowhere, the quote's order gives it another number."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.charts.doubts import Told, denied_by, doubts, renumbered
from leadline_plugins.charts.points import Point
from leadline_plugins.charts.tasks import PlannedChart

FUNDS = "Norway's fund held 71.4% equities. Japan's pension fund, GPIF, held 50.2% of them."
Row = tuple[str, str, float]


def chart(*rows: Row, title: str = "Share of equities held by the funds", evidence: str = "e") -> PlannedChart:
    points = tuple(
        Point(series=series, label=label, value=value, evidence_id=evidence) for series, label, value in rows
    )
    return PlannedChart(title=title, chart_type="bar", points=points, unit="%")


def against(quote: str, *rows: Row, under: str = "", title: str = "") -> dict[int, str]:
    return doubts(chart(*rows), {"e": Told(quote, f"{under}\n{title}")})


@pytest.mark.parametrize(
    ("label", "under", "title"),
    [
        ("Norway", "", ""),
        ("Norwegian fund", "", ""),
        ("GPIF (2024)", "", ""),
        ("CIC, China", "China › Allocation", ""),
        ("Temasek", "", "What Temasek holds"),
        ("2024", "", ""),
        ("May 2024", "", ""),
        ("Other", "", ""),
        ("Government Pension Investment Fund", "", ""),
        ("淡马锡", "", ""),
    ],
)
def test_a_label_stands_in_the_quote_over_it_in_the_title_in_another_form_or_language(
    label: str, under: str, title: str
) -> None:
    assert against(FUNDS, ("", label, 71.4), ("", "pension", 50.2), under=under, title=title) == {}


def test_a_label_that_stands_nowhere_is_told() -> None:
    found = against(FUNDS, ("", "Norway", 71.4), ("", "Saudi Arabia (PIF)", 50.2))
    assert found == {1: "'Saudi Arabia (PIF)' does not stand in the passage, nor over it"}


def test_one_word_of_a_name_that_others_have_as_well_is_not_enough() -> None:
    assert list(against(FUNDS, ("", "Alaska Permanent Fund", 71.4), ("", "Japan", 50.2))) == [0]


def test_a_label_stands_by_what_sets_it_apart_from_the_others() -> None:
    found = against(FUNDS, ("", "Equities of Norway", 71.4), ("", "Equities of Singapore", 50.2))
    assert list(found) == [1]


def test_so_does_a_series_but_none_that_all_points_share() -> None:
    rows = (("equities", "Norway", 71.4), ("dividends", "Japan", 50.2))
    assert list(against(FUNDS, *rows)) == [1]
    assert against(FUNDS, *(("dividends", label, value) for _, label, value in rows)) == {}


def test_of_a_quote_in_another_language_nothing_is_said() -> None:
    german = "Der norwegische Fonds hielt 71,4 % und der japanische Pensionsfonds hielt 50,2 % in Aktien."
    assert against(german, ("", "Oil fund", 71.4), ("", "Retirement money", 50.2)) == {}


@pytest.mark.parametrize(
    ("quote", "right"),
    [
        ("Leith had 12%, Wick had 7% and Oban had 31%.", ("Leith", "Wick", "Oban")),
        ("It was 12% in Leith, 7% in Wick and 31% in Oban.", ("Leith", "Wick", "Oban")),
        ("利斯占12%，威克占7%，奥本占31%。", ("利斯", "威克", "奥本")),
    ],
)
def test_where_names_and_numbers_take_turns_their_orders_are_the_same(quote: str, right: tuple[str, ...]) -> None:
    for names in permutations(right):
        found = against(quote, *zip(("",) * 3, names, (12.0, 7.0, 31.0), strict=True))
        assert set(found) == {place for place, name in enumerate(names) if name != right[place]}


SCORES = (
    "Against the 15-inch model, the 16-inch one rose in single-core from 11% to 12% and in multi-core from 54% to 56%."
)


@pytest.mark.parametrize("first", [("15-inch", "16-inch"), ("16-inch", "15-inch")])
def test_one_order_holds_for_all_series(first: tuple[str, str]) -> None:
    old, new = first
    single = [("single-core", old, 11.0), ("single-core", new, 12.0)]
    assert against(SCORES, *single, ("multi-core", old, 54.0), ("multi-core", new, 56.0)) == {}
    assert set(against(SCORES, *single, ("multi-core", new, 54.0), ("multi-core", old, 56.0))) == {0, 1, 2, 3}


NAMES = st.lists(st.sampled_from(["Leith", "Wick", "Oban", "Unst", "Yell"]), min_size=2, max_size=5, unique=True)


@given(NAMES, st.data())
def test_a_chart_as_its_quote_has_it_is_never_doubted(names: list[str], data: st.DataObject) -> None:
    size = len(names)
    values = data.draw(st.lists(st.integers(11, 99), min_size=size, max_size=size))
    quote = "; ".join(f"{name} had a share of {value}%" for name, value in zip(names, values, strict=True))
    order = data.draw(st.permutations(range(size)))
    assert against(quote, *(("", names[at], float(values[at])) for at in order)) == {}


def test_what_a_repair_has_given_another_number_of_another_quote_is_known() -> None:
    before = chart(("", "IPO", 96), ("", "debt", 3))
    assert renumbered(before, before) == {}
    assert renumbered(chart(("", "IPO", 69), ("", "debt", 3)), before) == {}
    assert renumbered(chart(("", "IPO", 96), evidence="f"), before) == {}
    assert list(renumbered(chart(("", "debt", 3), ("", "IPO", 6.5), evidence="f"), before)) == [1]


def test_words_that_say_a_number_of_another_point_deny_it() -> None:
    shares = chart(("", "Equities", 51), ("", "Fixed income", 23), ("", "Real assets", 26))
    words = "51% equities, 26% fixed income, 23% real assets"
    assert [denied_by(shares, place, words) for place in range(3)] == [False, True, True]
    assert denied_by(shares, 1, "It has 23% real assets.")
    assert not denied_by(shares, 1, "23% fixed income")
    assert not denied_by(shares, 1, "23% bonds")


@pytest.mark.parametrize(
    ("title", "quote", "over", "told"),
    [
        ("Returns in 2024", "CIC's ten-year return was 6.57%.", "", True),
        ("Returns in 2024", "CIC returned 6.57% in 2024.", "", False),
        ("Returns in 2024", "CIC returned 6.57%.", "Results of 2024", False),
        ("Returns from 2014 to 2024", "CIC returned 6.57%.", "", False),
        ("Returns", "CIC returned 6.57%.", "", False),
    ],
)
def test_the_year_of_the_title_is_held_against_the_passages(title: str, quote: str, over: str, told: bool) -> None:
    found = doubts(chart(("", "CIC", 6.57), title=title), {"e": Told(quote, over)})
    assert bool(found) is told
    dated = doubts(chart(("", "CIC, since 2014", 6.57), title=title), {"e": Told(quote, over)})
    assert not dated
