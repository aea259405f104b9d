"""What has a negator in it and denies nothing: words made with one, bounds of numbers, gaps of sources."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.figure import missing
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.polarity import contrary


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("未来五年市场将增长至5万亿元", "五年内市场增长至5万亿元"),
        ("無人機產量增長20%", "UAV產量增長20%"),
        ("无人驾驶市场规模达100亿元", "自动驾驶市场规模达100亿元"),
        ("不动产投资下降10.6%", "房地产投资下降10.6%"),
        ("不良贷款余额为3万亿元", "NPL余额为3万亿元"),
        ("无锡的不锈钢产量增长", "该市的钢材产量增长"),
        ("收入不平等加剧", "收入差距加剧"),
        ("财富的分布极不均衡，少数人持有财富", "少数人持有财富"),
        ("市场不稳，风险加大", "市场的不稳定使风险加大"),
        ("非税收入增长25.4%", "其余收入增长25.4%"),
        ("比例不到四成", "比例为38%"),
        ("比例不到四成", "比例不到40%"),
        ("比例未达到四成", "比例为38%"),
        ("占比不足一成", "占比为8.6%"),
        ("入会者不满三十人", "入会者为28人"),
        ("售价不超过5,000元", "售价最高为5,000元"),
        ("Return: not given", "The return of the fund in 2024 was 13.1%."),
        ("Rendite: keine Angabe", "Die Rendite des Fonds betrug 13,1 %."),
        ("The fund is praised, but without a number", "The fund is praised."),
        ("收益率未披露", "该基金的规模增长"),
        ("The plan covers no more than five towns.", "The plan covers up to five towns."),
    ],
)
def test_what_only_has_a_negator_in_it_is_no_denial(claim: str, held: str) -> None:
    assert not contrary(claim, held)
    assert not contrary(held, claim)


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("收入分配不平等", "收入分配平等"),
        ("前景不确定", "前景确定"),
        ("市场不稳定", "市场稳定"),
        ("收益率未披露", "收益率已经披露"),
        ("The price was not disclosed.", "The price was disclosed in May."),
        ("他未到北京", "他来到北京"),
        ("销量没有增长", "销量增长"),
    ],
)
def test_what_is_made_with_a_negator_is_denied_by_its_very_opposite(claim: str, held: str) -> None:
    assert contrary(claim, held)
    assert contrary(held, claim)


@pytest.mark.parametrize("said", ["不到", "不足", "不满", "不及", "未到", "未满", "未达到", "低于"])
def test_a_negated_bound_holds_what_is_below_it(said: str) -> None:
    assert not missing(figures(f"占比{said}四成"), figures("占比为38.6%"))
    assert missing(figures(f"占比{said}四成"), figures("占比为41%"))
