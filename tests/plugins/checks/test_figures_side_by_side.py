"""Figures that stand side by side: what parts two numbers is no mark within one."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.figure import differ, missing
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.judge import judge


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("2021年出口额为300亿元。", "2020年出口额为250，2021年出口额为300亿元。"),
        ("2021年收入为50亿元。", "2020年、2021年收入分别为45，50亿元。"),
        ("2021年收入为300亿元。", "2020年、2021年收入分别为250，300亿元。"),
    ],
)
def test_what_stands_beside_a_figure_makes_no_contradiction(claim: str, text: str) -> None:
    assert judge(claim, text).verdict == "supported"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("640×480，0.1–1us", [640, 480, "0.1", 1]),
        ("增长3．2020年", [3, 2020]),
        ("增长3．5％", ["3.5"]),
        ("员工1，234，567人", [1234567]),
        ("１，２３４人", [1234]),
    ],
)
def test_a_wide_comma_is_no_decimal_mark(text: str, values: list[int | str]) -> None:
    assert [str(figure.value) for figure in figures(text)] == [str(value) for value in values]
    assert not missing(figures(text), figures(text))


TABLE = "Year Sold Made Lost\n2019 120 345 567\n2020 130 355 577"


@pytest.mark.parametrize("value", ["120", "345", "567", "355"])
def test_a_column_of_a_row_without_lines_is_a_figure(value: str) -> None:
    assert not missing(figures(f"{value} units"), figures(TABLE))


def test_numbers_in_groups_differ_though_they_share_one() -> None:
    assert missing(figures("12 500 km"), figures("12 900 km"))
    assert not missing(figures("12 500 km"), figures("12,500 km"))


def test_several_numbers_are_held_only_where_all_of_them_are() -> None:
    assert not missing(figures("rows 120 345"), figures("rows 120 and 345"))
    assert missing(figures("rows 120 345"), figures("row 120"))


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Groups 2 and 3 improved in 2020.", "Groups 1,2,3 improved in 2020."),
        ("The risk was lower in groups 4 and 5.", "The risk was lower in groups 4,5 and 6."),
        ("Sales rose in 2020 and 2021.", "Sales rose in 2019,2020 and 2021."),
        ("The values 10, 20, and 30 matter.", "The values 10,20,30 matter."),
        ("Reviews 5 and 6 found a lower risk.", "Reviews [5,6] found a lower risk."),
        ("Reviews 9 and 14 found a lower risk.", "Reviews [9,10,14,16] found a lower risk."),
    ],
)
def test_a_list_without_spaces_is_held_as_its_numbers(claim: str, text: str) -> None:
    assert judge(claim, text).verdict == "supported"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("[5,6–8]", [5, 6, 8]),
        ("1,234,567", [1234567]),
        ("12,34,567", [1234567]),
        ("[1,234]", [1234]),
        ("3,5 %", ["3.5"]),
    ],
)
def test_only_lists_are_parted_at_their_commas(text: str, values: list[int | str]) -> None:
    found = figures(text)
    assert [str(figure.value) for figure in found] == [str(value) for value in values]
    assert not any(figure.parts for figure in found)


def test_decimals_that_may_be_a_list_differ_though_not_beyond_doubt() -> None:
    (claimed,), (found,) = figures("3,5"), figures("3,9")
    assert missing([claimed], [found])
    assert not differ(claimed, found)
    assert differ(figures("3,5 %")[0], figures("3,9 %")[0])
