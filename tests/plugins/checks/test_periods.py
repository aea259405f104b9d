"""Quarters, halves and whole years: one time in all wordings, and a figure of one is none of another."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.causes import cause
from leadline_plugins.checks.judge import judge
from leadline_plugins.checks.periods import periods

_WAYS = [
    ("一季度", "Q1", "the first quarter", "第1四半期", "首季", "1Q24", "im ersten Quartal"),
    ("上半年", "H1", "the first half of 2024", "前两季度", "im 1. Halbjahr", "1H24"),
    ("全年", "the full year", "通期", "Gesamtjahr"),
    ("1-9月", "前三季度", "January to September", "the first nine months", "1月至9月"),
    ("第三季度", "Q3", "third-quarter", "7—9月", "3. Quartal"),
]


@pytest.mark.parametrize("ways", _WAYS)
def test_one_time_is_the_same_in_all_wordings_and_none_of_the_others(ways: tuple[str, ...]) -> None:
    told = [next(periods(way)) for way in ways]
    assert all(one.alike(told[0]) for one in told)
    assert not any(next(periods(other[0])).alike(told[0]) for other in _WAYS if other is not ways)


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("二季度GDP同比增长5.4%。", "一季度GDP同比增长5.4%，比上年四季度提高0.1个百分点。"),
        ("第三季度回报率为1.25%。", "第二季度回报率为1.25%。"),
        ("上半年净利润为35亿元。", "公司第二季度净利润为35亿元，同比增长8%。"),
        ("全年新增贷款12.9万亿元。", "上半年新增贷款12.9万亿元。"),
        ("三季度出口额增长6.9%。", "前三季度出口额增长6.9%。"),
        ("上半年投资199亿元", "1-3月投资199亿元"),
        ("上半年货物贸易实现顺差。", "一季度货物贸易实现顺差。"),
        (
            "Revenue rose 12% in the second quarter.",
            "In the first quarter, revenue rose 12% from a year earlier.",
        ),
        ("Revenue rose to $12.5bn in H1.", "Revenue rose to $12.5bn in Q2 2024."),
        ("Sales reached 450 million in the first half of 2024.", "Full-year sales reached 450 million."),
        ("In the second quarter of 2025, GDP grew 5.4%.", "一季度国内生产总值同比增长5.4%。"),
        ("Im zweiten Quartal stieg der Umsatz um 12 Prozent.", "Im ersten Quartal stieg der Umsatz um 12 Prozent."),
        ("第2四半期の売上高は450億円だった。", "第1四半期の売上高は450億円だった。"),
    ],
)
def test_another_time_of_the_figure_is_asked_about(claim: str, held: str) -> None:
    against = cause(claim, held)
    assert against is not None
    assert "tells it of" in against.reason or "the passage" in against.reason
    assert not against.answered(held, [held])
    assert not judge(claim, held).exact


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("一季度GDP同比增长5.4%。", "1-3月GDP同比增长5.4%。"),
        ("Q1 GDP grew 5.4%.", "一季度GDP同比增长5.4%。"),
        ("二季度GDP增长5.2%，比一季度低0.2个百分点。", "一季度GDP增长5.4%，二季度GDP增长5.2%。"),
        ("第二季度净利润同比增长10%。", "第二季度业绩：净利润同比增长10%，较一季度提升3个百分点。"),
        ("二季度净利润同比增长10%。", "净利润同比增长10%，较一季度有所提升。"),
        ("二季度出口增长6%。", "出口增长6%。一季度进口同样增长6%。"),
        ("截至二季度末，贷款余额为268.6万亿元。", "上半年末，贷款余额为268.6万亿元。"),
        ("Fiscal Q1 revenue was $450m.", "Revenue was $450m in the three months from April to June."),
        ("第1四半期の売上高は450億円。", "4〜6月期の売上高は450億円だった。"),
        ("全年GDP增长5.0%。", "2024年GDP增长5.0%。一季度增长5.3%。"),
        ("一、二季度分别增长5.4%和5.2%。", "一季度增长5.4%，二季度增长5.2%。"),
        ("The first half of the century saw 450 deals.", "In Q2 there were 450 deals."),
        ("安全年会有450人参加", "一季度的安全年会有450人参加"),
    ],
)
def test_the_same_time_or_none_is_not(claim: str, held: str) -> None:
    assert cause(claim, held) is None


def test_words_with_the_figure_and_its_time_answer() -> None:
    claim, held = "Revenue rose 12% in the second quarter.", "In the first quarter, revenue rose 12%."
    against = cause(claim, held)
    assert against is not None
    assert against.answered("second-quarter revenue rose 12%", [held, "Its second-quarter revenue rose 12%."])
