"""Yen are no yuan, and the sign of both may be either."""

from __future__ import annotations

import time

import pytest

from leadline_plugins.checks.figure import same
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.judge import judge


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("120亿元", "120亿日元", False),
        ("120亿日元", "120億円", True),
        ("¥120", "120円", True),
        ("¥120", "120元", True),
        ("120 yen", "120 yuan", False),
    ],
)
def test_yen_are_no_yuan(one: str, other: str, alike: bool) -> None:
    assert same(figures(one)[0], figures(other)[0]) is alike
    assert same(figures(other)[0], figures(one)[0]) is alike


def test_a_rate_says_one_figure_however_it_is_joined() -> None:
    assert [one.said for one in figures("1ドルは150円だった。")] == ["150円"]
    assert [one.said for one in figures("1ドル=150円だった。")] == ["150円"]


def test_a_text_of_figures_alone_is_quickly_judged() -> None:
    started = time.process_time()
    assert judge("1-8月前8个月上半年一季度" * 6, "1-8月前8个月上半年一季度" * 200).verdict
    assert time.process_time() - started < 5
