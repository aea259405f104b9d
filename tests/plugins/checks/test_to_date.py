"""Months from the beginning of a year, spans of years with any dash, and a 1 that says `per`."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.causes import cause
from leadline_plugins.checks.figure import missing
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.judge import judge

_TOLD = [
    "2025年1-8月",
    "2025年1—8月份",
    "2025年1月至8月",
    "2025年前8月",
    "2025年前八个月",
    "2025年首8個月",
    "2025年头八个月",
]


@pytest.mark.parametrize("claim", _TOLD)
@pytest.mark.parametrize("held", _TOLD)
def test_months_to_date_are_the_same_however_they_are_written(claim: str, held: str) -> None:
    assert not missing(figures(claim), figures(held))


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("前三季度投资下降", "1-9月投资下降"),
        ("1〜3月期の投資", "首季投资"),
        ("前6个月投资", "上半年投资"),
        ("首季投资", "投资下降"),
        ("上半年投资", "投资下降"),
        ("前8个月投资", "In the first eight months"),
        ("8月末投资", "1-8月投资"),
        ("2015〜16年の安値", "2015/2016年低点"),
        ("1オンス2,000ドル", "每盎司2000美元"),
        ("1株当たり50円", "每股50円"),
        ("8回連続", "八连降"),
    ],
)
def test_what_says_the_same_time_or_number_otherwise_is_not_missing(claim: str, held: str) -> None:
    assert not missing(figures(claim), figures(held))


@pytest.mark.parametrize(
    ("claim", "held"), [("前8月投资", "1-6月投资"), ("1-8月投资", "8月投资"), ("八连增", "连续9个月")]
)
def test_other_months_are_missing(claim: str, held: str) -> None:
    assert missing(figures(claim), figures(held))


def test_a_true_claim_of_the_first_months_is_not_contradicted() -> None:
    held = "2025年1-2月份，全国房地产开发投资10720亿元，同比下降9.8%"
    claim = "2025年首两月房地产开发投资10,720亿元"
    assert judge(claim, held).verdict != "contradicted"
    assert cause(claim, held) is None
