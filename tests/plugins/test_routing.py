"""Rules that choose a pipeline: every rule has an example, several intents are research, own documents come first."""

from __future__ import annotations

import pytest

from leadline_plugins.routing import Rule, by_rules, may_ask_more, rules
from leadline_plugins.stages.route import RouteSettings

ALL = RouteSettings().pipelines


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: f"{rule.pipeline}: {rule.example[:30]}")
def test_every_rule_decides_its_example(rule: Rule) -> None:
    found = by_rules(rule.example, ALL)
    assert found
    assert (found.pipeline, found.reason, found.by) == (rule.pipeline, rule.reason, "rules")


@pytest.mark.parametrize(
    "question",
    [
        "Calculate the running costs of a heat pump compared with those of a gas boiler",
        "计算并比较两种贷款的月供",
        "二つのローンの返済額を計算して、条件を比較して",
    ],
)
def test_several_things_at_once_are_researched(question: str) -> None:
    found = by_rules(question, ALL)
    assert found
    assert found.pipeline == "research"
    assert found.reason == "several things at once: a calculation that a program makes and a comparison"


def test_longform_takes_research_questions_if_there_is_no_other_pipeline() -> None:
    pipelines = ("chat", "requirements", "longform")
    for question in (
        "Compare the shore power of Hamburg and Antwerp, and write the requirements for an app",
        "Compare the shore power of Hamburg and Antwerp",
    ):
        found = by_rules(question, pipelines)
        assert found
        assert found.pipeline == "longform"


def test_own_documents_come_before_everything_else() -> None:
    found = by_rules("How many days of leave, compared with last year, does our handbook allow?", ALL)
    assert found
    assert found.pipeline == "knowledge"


@pytest.mark.parametrize(
    ("question", "more"),
    [
        ("Search my documents for shore power and write a research report", True),
        ("在我的文档中查找岸电，再写一份调研报告", True),
        ("Write a requirements document for a booking system. Also survey what rivals offer.", True),
        ("How many days of leave does our employee handbook allow?", False),
        ("我们的员工手册规定年假有几天？", False),
        ("Think this through step by step: is it ever right to lie and to steal?", False),
    ],
)
def test_a_rule_that_may_cover_half_of_a_question_is_no_last_word(question: str, more: bool) -> None:
    route = by_rules(question, ALL)
    assert route
    assert may_ask_more(question, route) is more


def test_a_report_is_long_although_it_compares() -> None:
    found = by_rules("Write a 20-page report on wind power versus solar power", ALL)
    assert found
    assert found.pipeline == "longform"


@pytest.mark.parametrize(
    "question", ["Is coffee good for the heart?", "咖啡对心脏好吗？", "コーヒーは心臓に良いですか？"]
)
def test_the_rules_leave_ambiguous_questions_open(question: str) -> None:
    assert by_rules(question, ALL) is None


def test_only_the_given_pipelines_are_chosen() -> None:
    assert by_rules("Calculate the sum of 2 and 3", ["chat", "research"]) is None


@pytest.mark.parametrize(
    "question",
    [
        "Write a lesson plan for my class about volcanoes",
        "What are the requirements for a visa to Japan?",
        "How do I recover my files after a crash?",
        "Write an essay on bias in algorithms",
        "What is the prisoner's dilemma?",
        "注册公司需要哪些文件？",
        "什么是深度学习？",
        "入学要件をまとめてください",
        "Hi, who is the mayor of Bergen?",
        "What changed in Python 3.13?",
        "Find the best schools and write a script that plots their ranks",
        "学術論文の引用方法を教えて",
        "今天心情不错",
    ],
)
def test_words_alone_decide_nothing(question: str) -> None:
    assert by_rules(question, ALL) is None
