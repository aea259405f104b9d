"""Causes that no passage speaks of, also in a sentence of their own that has no word of the passage."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.causes import cause


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("这主要是因为原材料价格大幅下跌。", "2024年，公司净利润同比增长35%，创历史新高，毛利率为28%。"),
        ("这主要是由于欧洲客户提前备货。", "一季度出口同比增长6.9%，进口下降6%。"),
        ("主要原因是春节假期的消费需求提前释放。", "2月份居民消费价格同比下降0.7%，环比下降0.2%。"),
        (
            "This was mainly because household savings collapsed.",
            "Retail sales rose 5% in March, the strongest gain since 2021.",
        ),
        ("The main reason was a sudden shortage of skilled labour.", "Output of the plant fell by 12% in 2023."),
        ("The decline was driven by cheaper imports from Asia.", "Output of the plant fell by 12% in 2023."),
        ("これは主に猛暑による飲料需要の拡大が原因である。", "2024年の売上高は450億円で、前年から5%増加した。"),
    ],
)
def test_a_cause_from_nowhere_is_asked_about(claim: str, held: str) -> None:
    against = cause(claim, held)
    assert against is not None
    assert "gives the cause" in against.reason
    assert not against.answered(held, [held])
    assert against.answered(claim, [claim])


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("这主要是因为原材料价格下跌。", "毛利率提升至28%，系原材料价格下行所致。"),
        (
            "This was mainly because demand for chips was weak.",
            "Sales fell 5%, reflecting weak demand for memory chips.",
        ),
        ("The main reason was high demand.", "Demand was very high, which raised prices."),
        ("受出口带动，产量增长5%。", "产量增长5%，出口增长带动作用明显。"),
    ],
)
def test_a_cause_of_which_a_passage_speaks_is_not(claim: str, held: str) -> None:
    assert cause(claim, held) is None
