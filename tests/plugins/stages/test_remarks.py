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


LACKING = """
None of the passages puts these returns on one period or one currency.
None of the sources puts a figure on settlements in Illinois.
None of the passages separates the return of shares from that of bonds.
None of the sources has comparable data for the same year.
How much harmful output steering prevents under attack remains open.
None of the sources quotes a price for the new model.
None of the sources breaks the figure down by region.
No source ties the rise to any single cause.
Neither source dates the change.
None of the passages goes beyond 2020.
None of the sources tracks the outcome over time.
No passage weighs the costs against the benefits.
The sources do not put a number on this.
The passages have no data on this.
There are no comparable data in the sources.
Whether the effect lasts remains unclear.
It remains open whether the effect lasts.
The sources leave open whether the effect lasts.
A comparison on one basis cannot be drawn from the sources.
What the sources lack is a figure for Illinois.
Missing from the sources is any figure for Illinois.
However, neither of the passages ranks the two funds.
None of the passages splits fees from costs.
Which of the two is cheaper is still unknown.
None of the sources has data on this.
None of the sources estimates how many users left.
The passages do not normalise the figures.
所给来源没有同一年份、可以直接比较的各国数据。
资料中没有各国的可比数据。
各来源均未披露另类资产的配置。
没有来源给出具体金额。
材料未见相关数据。
两份来源都没有给出具体比例。
现有材料中找不到同一口径的数据。
来源里查不到各行的目标价格。
上述资料对此没有说明。
没有一份来源比较过两者的成本。
所有来源都未区分名义与实际收益率。
各份资料均未列明统计口径。
来源没有换算成同一货币。
三份资料均未提供同一年度的收益率。
现有来源未说明该比例的统计口径。
检索到的资料没有涉及这一问题。
文中没有给出分项金额。
来源只字未提分红的安排。
出典には比較可能なデータがない。
資料には同じ年の数値が示されていない。
いずれの資料も費用に触れていない。
どの出典も両者を比較していない。
費用については資料からは分からない。
提供された資料に各国の内訳は含まれていない。
どの資料にも金額の記載は見当たらない。
出典は理由を説明していません。
Keine der Quellen nennt einen Preis für Illinois.
Keine der Quellen beziffert die Vergleiche.
In den Quellen finden sich keine vergleichbaren Daten.
Die Quellen enthalten keine Angaben zu den Kosten.
Die vorliegenden Quellen geben darüber keine Auskunft.
Wie hoch die Kosten ausfallen, bleibt offen.
Ob die Wirkung anhält, bleibt unklar.
Den Quellen lässt sich nicht entnehmen, wie hoch die Kosten sind.
Die Quellen machen keine Angaben zur Rendite.
Vergleichbare Zahlen für dasselbe Jahr fehlen in den Quellen.
Keine der Textstellen trennt die Renditen nach Anlageklassen.
Offen bleibt, ob die Wirkung anhält.
Dazu schweigen die Quellen.
Aus den Quellen lässt sich nicht ableiten, ob die Kosten steigen.
"""
NOT_LACKING = """
None of the funds lost money in 2023.
None of the sources of income covers the rent.
No source of energy supplies more power than coal.
None of the sources disputes that the mayor stole it.
None of the sources hides the theft by the minister.
None of the energy sources emits carbon dioxide.
No source supplies as much power as coal.
These sources have no emissions.
None of the sources emits less carbon than wind.
No source has the capacity of coal.
None of the patients reports pain.
Neither fund gives a return.
None of the passages denies the theft by the minister.
None of the passages gives a figure of 40 dollars.
None of the passages gives a figure, but exports collapsed.
How much the minister stole remains open, but exports collapsed.
How Nixon murdered Ann remains open.
Whether Nixon murdered Ann remains unclear.
It remains unknown whether Nixon murdered Ann.
What Nixon stole is unknown.
The market remains open.
What the bank did is illegal.
Which bank failed is known.
How the shop is run is open to the public.
The sources have no scruples and exports collapsed.
None of the passages compares them, and exports collapsed.
No passage ship sank there.
没有公司给出具体金额。
没有收入来源可以弥补亏损。
该公司没有披露金额。
收入来源没有增长。
各国均未披露数据。
两家公司都没有给出具体比例。
来源没有给出数据，但公司已经破产。
资料没有40亿元的数据。
水源没有污染。
没有人知道价格数据。
该国的能源来源没有变化。
会社は費用を公表していない。
どの会社も両者を比較していない。
出典には数値がないが、会社は破産した。
資料には示されていないものの会社は破産した。
資料には40億円の記載がない。
会社には現金がない。
Keine der Firmen nennt einen Preis.
Die Firma macht keine Angaben zur Rendite.
Die Quellen nennen keinen Preis und der Minister stahl das Geld.
Keine der Quellen erwähnt, dass der Minister stahl.
Keine der Quellen bestreitet den Diebstahl.
Die Quellen nennen keinen Preis von 40 Euro.
Der Laden bleibt offen.
Die Börse ist heute offen.
In den Kassen finden sich keine Mittel.
没有资料显示该公司盈利。
"""
PLACES = "Returns in Illinois and Texas of two funds."


@pytest.mark.parametrize("sentence", LACKING.strip().splitlines())
def test_what_the_sources_lack_is_known_in_the_wordings_that_people_use(sentence: str) -> None:
    assert remark(sentence, PLACES) == "sources"
    assert speaks_of_sources(sentence)


@pytest.mark.parametrize("sentence", NOT_LACKING.strip().splitlines())
def test_what_looks_like_it_and_states_something_is_a_claim(sentence: str) -> None:
    assert remark(sentence, PLACES) is None
