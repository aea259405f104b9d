"""What states nothing of the world is told apart from claims, and no invention passes as such."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.stages.remarks import remark, speaks_of_sources, tells_nothing

AROUND = "The tools of the two ports, Oslo and Bergen, differ."


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("How reliable is steering in general?", "question"),
        ("Is Oslo the better port?", "question"),
        ("哪一种做法更可靠？", "question"),
        ("The sources do not give a target price.", "sources"),
        ("None of the passages compares the two tools.", "sources"),
        ("No passage gives heights of either.", "sources"),
        ("The passages at hand hardly speak of the interfaces of the two tools.", "sources"),
        ("The evidence gathered here says little about how the two relate, and what it says is indirect.", "sources"),
        ("A direct answer is missing: none of the passages measures it.", "sources"),
        ("No passage compares them in one experiment, so the comparison has to be drawn across papers.", "sources"),
        ("Rates of refusal are not reported in either passage.", "sources"),
        ("No passage gives the number of cranes or their height for Oslo or Bergen.", "sources"),
        ("No passage gives a return for Oslo or for Bergen.", "sources"),
        ("None of the passages gives a figure for Oslo and for Bergen.", "sources"),
        ("No passage gives a return for Ann or Nixon.", "sources"),
        ("现有段落没有列出高盛、瑞银等机构各自的目标价，因此无法逐家比较。", "sources"),
        ("所给段落没有直接列出压制金价的因素，这一问题有待补充资料。", "sources"),
        ("现有资料未给出2026年的预测。", "sources"),
        ("上述来源均未提供熊市情景的概率。", "sources"),
        ("缺乏相关数据，无法判断。", "sources"),
        ("No source says so, but traffic may move to Bergen.", "inference"),
        ("It may rest on less data, but this is an inference and not a reported measurement.", "inference"),
        ("来源没有直接说，但运量可能转移。", "inference"),
        ("No source says so, but it may be that a port builds because it cannot wait.", "inference"),
    ],
)
def test_a_remark_is_known_by_its_kind(sentence: str, kind: str) -> None:
    assert remark(sentence, AROUND) == kind


@pytest.mark.parametrize(
    "sentence",
    [
        "Oslo paid for it.",
        "Two methods dominate.",
        "Who paid 12 million?",
        "Did you know that the minister stole it?",
        "Isn't it true that taxes rose?",
        "Given that exports fell, why did wages rise?",
        "Why did Nixon murder Ann?",
        "难道港口没有破产吗？",
        "The sources give no figures, but Oslo paid 12 million in 1950.",
        "The sources give no figures, but exports collapsed.",
        "The sources give no figures and exports collapsed.",
        "The sources give no figures and Nixon lies.",
        "The sources give no figures or Nixon lies.",
        "None of the passages gives a figure for Oslo and Nixon.",
        "The sources give no figures and Oslo lies low.",
        "No source says so, but it may be that trade falls because Oslo is corrupt.",
        "No source says so, but it may be that trade falls because Oslo cannot pay, because the harbour burned.",
        "No source says so, but trade may fall because Oslo cannot pay.",
        "The sources do not hide that Nixon murdered Ann.",
        "The sources do not mention that the minister stole the money.",
        "The sources do not say why Nixon murdered Ann.",
        "The sources say that exports did not fall.",
        "The sources report no deaths.",
        "The evidence does not show a link between vaccines and autism.",
        "The material does not contain lead.",
        "No material is harder than diamond.",
        "No passage is needed to see that the mayor lied.",
        "What they do show is the corruption of the mayor.",
        "现有证据不足以说明疫苗有效。",
        "No evidence links Nixon to the murder of Ann, which Ford ordered.",
        "The sources are silent about the theft, a crime of the minister.",
        "Evidence is lacking in the sources; the minister stole it.",
        "The passages do not give the price of 40 dollars.",
        "现有段落没有列出目标价，但该公司已经破产。",
        "该公司破产了，来源没有说明原因。",
        "资料没有说明该公司为何在去年秋天突然宣布破产清算。",
        "现有资料未给出40美元的价格。",
        "This is an inference and not a measurement: 40 people died.",
        "No source says so, but Nixon may have murdered Ann.",
        "No source says so, but the harbour burned down.",
        "No source says so, but trade may fall because the harbour burned down.",
    ],
)
def test_what_states_something_on_its_way_is_a_claim(sentence: str) -> None:
    assert remark(sentence, AROUND) is None


@given(st.sampled_from(["The sources do not give a price", "None of the passages compares them"]), st.integers(0, 9999))
def test_a_figure_beside_a_remark_makes_it_a_claim(said: str, figure: int) -> None:
    assert remark(f"{said}.", "") == "sources"
    assert remark(f"{said}, but {figure} people died.", "") is None
    assert not tells_nothing(f"{said} for {figure} people.")


@pytest.mark.parametrize(
    ("sentence", "nothing"),
    [
        ("What follows is modest.", True),
        ("The picture changes at once.", True),
        ("The picture changes with Nixon.", False),
        ("The picture changes by 40 percent.", False),
        ("The picture changes by forty percent.", False),
        ("They called it “theft”.", False),
        ("It is " + "very " * 40 + "modest.", False),
    ],
)
def test_a_model_may_call_a_remark_only_what_tells_nothing(sentence: str, nothing: bool) -> None:
    assert tells_nothing(sentence) is nothing


@pytest.mark.parametrize(
    ("sentence", "under", "nothing"),
    [
        ("Prices since 2010 fall into two phases.", "Prices since 2010", True),
        ("Prices since 2010 fall into two phases.", "Prices", False),
        ("The prices in Oslo fall into two phases.", "Oslo › Prices", True),
        ("The prices in Oslo fall into two phases.", "Prices", False),
        ("2010年以降の価格は二つに分けられる。", "2010年以降の価格", True),
        ("2010年以降の価格は40に分けられる。", "2010年以降の価格", False),
    ],
)
def test_what_a_sentence_leads_on_to_may_be_named_as_its_headings_name_it(
    sentence: str, under: str, nothing: bool
) -> None:
    assert tells_nothing(sentence, under) is nothing


@pytest.mark.parametrize(
    ("sentence", "speaks"),
    [
        ("No passage gives the price of 40 dollars.", True),
        ("现有资料未给出40美元的价格。", True),
        ("No source says so, but Nixon may have murdered Ann.", True),
        ("The sources give no figures, but Oslo paid 12 million in 1950.", True),
        ("Nixon murdered Ann.", False),
        ("The passages are narrow.", False),
    ],
)
def test_how_what_speaks_of_the_sources_begins(sentence: str, speaks: bool) -> None:
    assert speaks_of_sources(sentence) is speaks
