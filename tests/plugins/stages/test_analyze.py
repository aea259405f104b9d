from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from leadline.research_findings import Analysis, Perspective, Question
from leadline_plugins.prompting.numbered_passages import ShownPassage, ShownSource
from leadline_plugins.prompting.writing_tasks import AnalyzeRequest
from leadline_plugins.stages.analyze import (
    TASK,
    AnalyzeSettings,
    accept_after_retry,
    asks_for_analysis,
    cited_perspectives,
    reply_faults,
)

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
    assert asks_for_analysis(question, AUTO)


@pytest.mark.parametrize("question", ["When are default values evaluated?", "How deep is the bay?", "黄河有多长"])
def test_most_questions_do_not_ask_for_analysis(question: str) -> None:
    assert not asks_for_analysis(question, AUTO)


def test_the_examples_of_the_word_lists_ask_for_analysis() -> None:
    data = tomllib.loads(files("leadline_plugins.stages").joinpath("analyze.toml").read_text("utf-8"))
    for question in (example for group in data.values() for example in group["examples"]):
        assert asks_for_analysis(question, AUTO), question


def test_the_settings_decide_first() -> None:
    assert asks_for_analysis("How deep?", AnalyzeSettings(mode="on"))
    assert not asks_for_analysis("Why?", AnalyzeSettings(mode="off"))


PASSAGES = tuple(ShownPassage(id=name, number=number, text="Deep.") for number, name in enumerate("ab", start=1))
REQUEST = AnalyzeRequest(
    question=Question(text="Why is the bay deep?", language="en"),
    sources=(ShownSource(id="s1", title="Soundings", passages=PASSAGES),),
)


def analysis(*texts: str) -> Analysis:
    return Analysis(perspectives=tuple(Perspective(name=f"**view {n}**", text=text) for n, text in enumerate(texts)))


def test_perspectives_cite_the_passages_and_those_that_cite_none_are_left_out() -> None:
    made = cited_perspectives(REQUEST, analysis("It is deep [1][2].", "It may be deep.", "It is deep [7]."))
    assert made.perspectives == (Perspective(name="view 0", text="It is deep [@a][@b]."),)


def test_a_perspective_that_cites_nothing_is_asked_for_again_and_left_out_the_second_time() -> None:
    made = analysis("It is deep [1].", "It may be deep.")
    assert "view 1**' cites no passage" in reply_faults(REQUEST, made)
    assert accept_after_retry(REQUEST, made) == (made, "parts of the analysis that cite no passage were left out")
    assert accept_after_retry(REQUEST, analysis("It may be deep.")) is None
    assert not reply_faults(REQUEST, analysis("It is deep [1]."))


def test_the_prompt_shows_numbered_passages() -> None:
    assert "[2] Deep." in REQUEST.as_text()
    assert Analysis.model_validate_json(TASK.example).perspectives[0].name == "critical"
