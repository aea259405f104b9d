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
