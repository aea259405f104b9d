"""Rules that choose a pipeline: every rule has an example, several intents are research, own documents come first."""

from __future__ import annotations

import pytest

from leadline_plugins.routing import Rule, by_rules, rules
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
        "Compare quicksort with mergesort and write a function for each",
        "写一个函数并比较两种算法",
        "関数を書いて、二つの方法を比較して",
    ],
)
def test_several_things_at_once_are_researched(question: str) -> None:
    found = by_rules(question, ALL)
    assert found
    assert found.pipeline == "research"
    assert found.reason == "several things at once: a comparison and a request for a program"


def test_own_documents_come_before_everything_else() -> None:
    found = by_rules("How many days of leave, compared with last year, does our handbook allow?", ALL)
    assert found
    assert found.pipeline == "knowledge"


def test_a_greeting_before_a_question_is_no_small_talk() -> None:
    found = by_rules("Hi, who is the mayor of Bergen?", ALL)
    assert found
    assert found.pipeline == "search"


@pytest.mark.parametrize(
    "question", ["Is coffee good for the heart?", "咖啡对心脏好吗？", "コーヒーは心臓に良いですか？"]
)
def test_what_is_not_plain_is_left_open(question: str) -> None:
    assert by_rules(question, ALL) is None


def test_only_the_given_pipelines_are_chosen() -> None:
    assert by_rules("Write a function that adds two numbers", ["chat", "research"]) is None


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
    ],
)
def test_words_alone_decide_nothing(question: str) -> None:
    assert by_rules(question, ALL) is None
