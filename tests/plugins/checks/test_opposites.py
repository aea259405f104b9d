"""Words that exclude each other count where both are said of the same thing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.checks.opposites import opposed


@pytest.mark.parametrize(
    ("claim", "held", "words"),
    [
        ("比重升至3.6%", "比重降至3.6%", ("升至", "降至")),
        ("收入跌至5万亿元", "收入涨至5万亿元", ("跌至", "涨至")),
        ("降幅扩大0.8个百分点", "降幅收窄0.8个百分点", ("扩大", "收窄")),
        ("土地出让收入由降转增", "土地出让收入由增转降", ("转增", "转降")),
        ("占比高于平均值", "占比低于平均值", ("高于", "低于")),
        ("深松整地会削减产量", "深松整地对增产有促进作用", ("减产", "增产")),
        ("上半年流入397吨", "下半年流入397吨", ("上半", "下半")),
        ("彼は赤い服を着ている", "彼は青い服を着ている", ("赤い服", "青い服")),
        ("有小的盒子", "要大的盒子", ("小的盒", "大的盒")),
        ("売上高は増加した", "売上高は減少した", ("増加", "減少")),
        ("Solar was the slowest-growing source.", "Solar was the fastest-growing source.", ("slowest", "fastest")),
        ("Short-term debt rose.", "Long-term debt rose.", ("Short", "Long")),
        ("The nominal return is 5%.", "The real return is 5%.", ("nominal", "real")),
        ("Exports of oil rose.", "Imports of oil rose.", ("Exports", "Imports")),
        ("最低气温出现在一月", "最高气温出现在一月", ("最低", "最高")),
        ("进口额为5万亿元", "出口额为5万亿元", ("进口", "出口")),
        ("輸入は少なかった", "輸出は少なかった", ("輸入", "輸出")),
        ("Die höchsten Preise zahlt Kiel.", "Die niedrigsten Preise zahlt Kiel.", ("höchsten", "niedrigsten")),
        ("매출은 증가했다", "매출은 감소했다", ("증가", "감소")),
        ("The larger display has 14 inches.", "The smaller display has 14 inches.", ("larger", "smaller")),
    ],
)
def test_opposites_of_the_same_thing_are_seen(claim: str, held: str, words: tuple[str, str]) -> None:
    assert opposed(claim, held) == words
    assert opposed(held, claim) == words[::-1]


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("2025年上半年流入397吨", "2025年1-6月流入397吨，同比下降5%"),
        ("今年上市公司增多", "该公司下调了预期"),
        ("The plan was not accepted by the council.", "The plan was rejected by the council."),
        ("政府没有批准该项目", "政府否决了该项目"),
        ("Most towns agreed.", "At least 40 towns agreed."),
        ("The fastest train runs at night.", "The slowest answer came by post."),
        ("Erst im Mai stieg die Zahl.", "Die letzte Zahl stammt aus dem Mai."),
        ("小米公司发布产品", "大疆公司发布产品"),
        (
            "For the smaller sibling, the size will remain 13 inches.",
            "The size is 13 inches; many hope for a larger 14.",
        ),
    ],
)
def test_opposites_of_other_things_are_none(claim: str, held: str) -> None:
    assert opposed(claim, held) is None
    assert opposed(held, claim) is None


_PIECES = st.lists(
    st.sampled_from([*"上下升降男女高低的い_-.'，, ", "上升", "下降", "north", "south", "Men", "women’s", "1,5"])
)


@given(_PIECES, _PIECES)
def test_whatever_is_opposed_stands_in_its_text(said: list[str], found: list[str]) -> None:
    claim, held = "".join(said), "".join(found)
    pair = opposed(claim, held)
    assert pair is None or (pair[0] in claim and pair[1] in held)
    assert opposed(claim, claim) is None
