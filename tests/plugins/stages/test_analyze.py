from __future__ import annotations

import pytest

from leadline_plugins.stages.analyze import AnalyzeSettings, wanted

AUTO = AnalyzeSettings()


@pytest.mark.parametrize(
    "question",
    [
        "Compare the depths of the two harbours",
        "Why is the bay deep?",
        "比較兩個港口",
        "为什么港口很深",
        "港の深さを評価してください",
        "What are the market trends and their impact on ports?",
        "Comparing solar and wind in northern ports",
        "How does steel compare with concrete, and what is it compared with elsewhere?",
        "A comparative study of harbour dues",
        "Analysing the accounts of three ports",
        "An analytical view of port fees",
        "Evaluating models of tides",
        "A critical review of breakwater trials",
        "Criticize the plan for the new quay",
        "How do experts' perspectives of the market differ?",
        "港口为何收费",
        "對新港口計畫的批評",
        "二つの港を比べてください",
        "市場の見方を教えてください",
        "x" * 201,
    ],
)
def test_a_question_may_ask_for_analysis(question: str) -> None:
    assert wanted(question, AUTO)


@pytest.mark.parametrize("question", ["When are default values evaluated?", "How deep is the bay?", "黄河有多长"])
def test_most_questions_do_not_ask_for_analysis(question: str) -> None:
    assert not wanted(question, AUTO)


def test_the_settings_decide_first() -> None:
    assert wanted("How deep?", AnalyzeSettings(mode="on"))
    assert not wanted("Why?", AnalyzeSettings(mode="off"))
