"""Figures that stand side by side: what parts two numbers is no mark within one."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.figure import missing
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
