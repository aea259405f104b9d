"""What only leads to a table or names a stage needs no citation, and what states something does."""

from __future__ import annotations

import pytest

from leadline.records import Report, Section
from leadline_plugins.stages.paragraphs import leads, paragraphs
from leadline_plugins.stages.said import labels

TABLE = "| Port | Paid |\n|---|---|\n| Oslo | 12 [@e1] |"


def bare(text: str) -> list[str]:
    made = Report(
        title="T", language="en", sections=(Section(id="1", title="Ports", text=text),), sources=(), evidence=()
    )
    return [part.text for part in paragraphs(made) if part.states and not part.ends_with_citation]


@pytest.mark.parametrize(
    "lead",
    [
        "The table sums up what each route requires.",
        "The following table compares the ports.",
        "Table 2 sums up the ports.",
        "The figures are these.",
        "The costs are as follows.",
        "各国对比如下。",
        "以现有资料所列的峰谷计算，各阶段的幅度如下表。",
        "下表汇总了各阶段的涨跌幅。",
    ],
)
def test_a_sentence_that_leads_to_a_table_needs_no_citation(lead: str) -> None:
    assert leads(lead)
    assert not bare(f"{lead}\n\n{TABLE}")
    assert not bare(f"Oslo paid [@e1]. {lead}\n\n{TABLE}")
    assert bare(f"{lead}\n\nOslo paid [@e1].") == [lead]


@pytest.mark.parametrize(
    "said",
    [
        "The table shows that gold doubled.",
        "The table shows the rise of 40 percent.",
        "The table shows a rise. Costs fell.",
        "The list is long.",
        "The bay lies below.",
        "金价因央行购金而暴涨，各阶段如下表。",
        "金价上涨如下所述，央行是主因。",
    ],
)
def test_what_states_something_leads_to_nothing(said: str) -> None:
    assert not leads(said)
    assert bare(f"{said}\n\n{TABLE}") == [said]


@pytest.mark.parametrize(
    ("said", "label"),
    [
        ("**第四阶段（2023年末以来）：突破与加速。**", True),
        ("**Phase 2 (2013-2015): the long decline.**", True),
        ("**Stage 3.**", True),
        ("**Phase 2: Nixon murdered Ann.**", False),
        ("**Phase 2: it paid 40 million.**", False),
        ("**第二阶段：价格上涨40%。**", False),
        ("**第二阶段：价格上涨，工资下跌。**", False),
    ],
)
def test_a_stage_by_its_number_and_title_is_a_label(said: str, label: bool) -> None:
    assert labels(said) is label


def test_a_paragraph_knows_what_it_stands_under() -> None:
    section = Section(id="1", title="Ports", text="## Oslo\n\nIt paid [@e1].")
    made = Report(title="T", language="en", sections=(section,), sources=(), evidence=())
    assert [part.under for part in paragraphs(made)] == ["Ports", "Ports › Oslo"]


NOTHING = [
    "See section Returns earned.",
    "(see section Returns earned).",
    "None of the passages gives a figure for Kuwait.",
    "The sources do not say how much Oslo paid. See section Costs below.",
    "段落中没有给出科威特的数据。",
    "（详见“收益”一节）。",
    "This may suggest thrift, though no source says so.",
    "What a berth costs no source says.",
    "Nothing can be said about costs.",
]


@pytest.mark.parametrize("rest", NOTHING)
def test_what_states_nothing_may_stand_behind_the_last_citation_of_a_paragraph(rest: str) -> None:
    assert bare(f"Oslo paid 12 million [@e1]. {rest}") == []
    assert bare(f"Oslo paid 12 million. {rest}") != [], "it cites nothing"


@pytest.mark.parametrize(
    ("end", "leads_on"),
    [
        (" (see Costs).", True),
        ("（参见“成本”一章）。", True),
        (", as set out under Costs.", True),
        (", a sum whose origin is given under Costs.", True),
        (", which grew fast.", False),
        (" (see the 20 % in Costs).", False),
        (", as Bergen did.", False),
    ],
)
def test_the_end_of_a_sentence_may_lead_to_another_section(end: str, leads_on: bool) -> None:
    assert (bare(f"Oslo paid 12 million [@e1]{end}") == []) is leads_on


@pytest.mark.parametrize(
    "rest",
    [
        "Bergen paid more.",
        "None of the passages gives a figure for Kuwait. Bergen paid more.",
        "See section Costs: Bergen paid 14 million.",
        "The sources do not say why Bergen paid more.",
    ],
)
def test_what_states_something_behind_the_last_citation_is_uncited(rest: str) -> None:
    said = f"Oslo paid 12 million [@e1]. {rest}"
    assert bare(said) == [said]


UNCITED = "| Port | Paid |\n|---|---|\n| Oslo | 12 |"


@pytest.mark.parametrize(
    "below",
    [
        "The table above is of 2023 [@e1].",
        "All figures in the table are of 2023 [@e1][@e2].",
        "This table counts what was paid [@e1].",
        "表中数字均为2023年口径[@e1][@e2]。",
        "上表按年统计[@e1]。",
    ],
)
def test_a_paragraph_right_below_a_table_that_is_of_it_cites_for_it(below: str) -> None:
    assert bare(f"{UNCITED}\n\n{below}") == []


@pytest.mark.parametrize("below", ["Bergen paid more [@e1].", "The table above is of 2023.", "Tables are rare [@e1]."])
def test_what_stands_below_a_table_and_is_not_of_it_or_cites_nothing_serves_it_not(below: str) -> None:
    assert UNCITED in bare(f"{UNCITED}\n\n{below}")
