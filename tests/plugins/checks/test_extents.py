"""Of how many something is said: all, most, many, some, few or none of the same."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.causes import cause
from leadline_plugins.checks.extents import other_extent
from leadline_plugins.checks.judge import judge


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("所有企业均实现盈利。", "大部分企业实现盈利。"),
        ("各省经济都保持增长。", "各省经济大都保持增长。"),
        ("全部受访者支持该方案。", "绝大多数受访者支持该方案。"),
        ("受访者都认为价格过高。", "多数受访者认为价格过高。"),
        ("所有地区房价下跌。", "部分地区房价下跌。"),
        ("All patients recovered within two weeks.", "Some patients recovered within two weeks."),
        ("Every bank raised its rates in May.", "Most banks raised their rates in May."),
        ("All of the surveyed firms plan to hire.", "Many of the surveyed firms plan to hire."),
        ("The majority of members voted for the plan.", "All members voted for the plan."),
        ("Most users prefer dark mode.", "Some users prefer dark mode."),
        ("すべての企業が賃上げを実施した。", "大半の企業が賃上げを実施した。"),
        ("沿线国家都已签署协议。", "沿线国家大多已签署协议。"),
        ("个人投资者全部亏损。", "个人投资者大多数亏损。"),
    ],
)
def test_what_is_said_of_more_is_asked_about(claim: str, held: str) -> None:
    against = cause(claim, held)
    assert against is not None
    assert "the claim says it of" in against.reason
    assert not against.answered(held, [held])
    assert not judge(claim, held).exact


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("All patients recovered.", "All patients recovered and some patients went home."),
        ("Most patients recovered.", "Nearly all patients recovered."),
        ("All the patients received the drug.", "The patients received the drug, and some patients developed a rash."),
        ("在所有行业中，制造业增长最快。", "部分行业增长较快，制造业增长最快。"),
        ("大部分企业都实现盈利。", "大部分企业实现盈利。"),
        ("多数企业盈利。", "大多数企业盈利。"),
        ("企业利润均下降。", "许多企业面临困难，企业利润下降。"),
        ("Many banks raised rates.", "Most banks raised rates."),
        ("Some banks raised rates.", "Most banks raised rates."),
        ("The study covers all regions.", "The study covers every region, and most regions grew."),
        ("The most efficient machines are German.", "All machines are German."),
        ("成都市的大部分企业增长。", "成都市大部分企业增长。"),
        ("Almost all banks raised rates.", "Most banks raised rates."),
        ("Each of the banks raised rates, most of them in May.", "All banks raised rates, most of them in May."),
        ("出口和进口都增长。", "出口和进口大幅增长。"),
    ],
)
def test_what_is_said_of_as_many_or_of_others_is_not(claim: str, held: str) -> None:
    assert other_extent(claim, held) is None


def test_none_is_not_few() -> None:
    assert other_extent("None of the plants reopened after the fire.", "Few of the plants reopened after the fire.")


def test_german_words_are_known() -> None:
    assert other_extent("Alle Banken erhöhten die Zinsen.", "Die meisten Banken erhöhten die Zinsen.")
