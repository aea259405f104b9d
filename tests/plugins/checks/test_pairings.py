"""Two figures told the other way round: each stands in the passage, and belongs to the other."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.causes import cause
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.judge import judge
from leadline_plugins.checks.pairings import exchanged


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("淡马锡管理的资产为3240亿美元、GIC为5890亿美元。", "据估算，淡马锡5890亿美元、GIC3240亿美元。"),
        (
            "Temasek had $324 billion and GIC had $589 billion.",
            "Temasek has $589 billion, while GIC has $324 billion.",
        ),
        ("Exports were 40 tons in 1990 and 60 tons in 1995.", "Exports were 60 tons in 1990 and 40 tons in 1995."),
        ("GIC manages $589bn and Temasek $324bn.", "GIC的资产为3240亿美元，Temasek的资产为5890亿美元。"),
        ("一季度增长5.2%，二季度增长5.4%。", "一季度增长5.4%，二季度增长5.2%。"),
        ("Revenue rose 5% in Germany and 12% in France.", "Revenue rose 12% in Germany and 5% in France."),
        (
            "城镇居民人均收入增长6.3%，农村居民增长4.6%。",
            "城镇居民人均可支配收入增长4.6%，农村居民人均可支配收入增长6.3%。",
        ),
        (
            "Siemensの売上高は450億円、Boschの売上高は380億円だった。",
            "Siemensの売上高は380億円で、Boschの売上高は450億円だった。",
        ),
        (
            "Der Umsatz stieg in Berlin um 12 Prozent und in Bonn um 5 Prozent.",
            "In Berlin stieg der Umsatz um 5 Prozent, in Bonn um 12 Prozent.",
        ),
    ],
)
def test_figures_that_belong_to_each_other_are_asked_about(claim: str, held: str) -> None:
    against = cause(claim, held)
    assert against is not None
    assert "the other way round" in against.reason
    assert not against.answered(held, [held])
    assert against.answered(claim, [claim])
    assert not judge(claim, held).exact


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        (
            "Temasek had $589 billion and GIC had $324 billion.",
            "GIC has $324 billion, while Temasek has $589 billion.",
        ),
        ("5% in Berlin and 6% in Bonn.", "Berlin 5%, Bonn 6%, Cologne 7%."),
        ("The rates were 5% in Berlin and 6% in Bonn.", "In Bonn it was 6% and in Berlin 5%."),
        ("A公司增长5%，B公司增长6%。", "A、B公司分别增长5%、6%。"),
        ("从2020年的5.4%升至2024年的6.2%。", "2024年为6.2%，2020年为5.4%。"),
        (
            "Sales rose from 40 tons in 1990 to 60 tons in 1995.",
            "In 1995 sales were 60 tons, up from 40 tons in 1990.",
        ),
        ("出口增长6.2%，进口增长3.1%。", "进口增长3.1%；出口增长6.2%，其中对欧盟出口增长3.1%"),
        ("60 tons in 1995 followed 40 tons in 1990.", "Exports were 40 tons in 1990 and 60 tons in 1995."),
        ("In 1995 it was 60 tons, in 1990 40 tons.", "Exports were 40 tons in 1990 and 60 tons in 1995."),
        ("The share of Berlin was 5% and that of Bonn 6%.", "5% of sales came from Berlin and 6% from Bonn."),
        (
            "第一产业增长3.5%，第二产业增长5.9%。",
            "分产业看，第一产业增加值11713亿元，同比增长3.5%；第二产业增加值111903亿元，增长5.9%。",
        ),
    ],
)
def test_figures_with_their_own_in_another_order_are_not(claim: str, held: str) -> None:
    assert exchanged(claim, held) is None


def test_a_number_right_behind_a_name_is_one_where_a_scale_follows() -> None:
    assert [one.said for one in figures("GIC3240亿美元，GPT4和H100")] == ["3240亿美元"]


def test_many_figures_take_no_time() -> None:
    row = "；".join(f"地区{at}增长{at}.5%" for at in range(400))
    assert exchanged(row, row) is None
