"""Search tasks: new, numbered, the most important first."""

from __future__ import annotations

import pytest

from leadline.research_findings import Plan, PlannedSection, Query, Question, SearchTask
from leadline_plugins.stages.query import new_tasks, next_queries, priority, with_sections

QUESTION = Question(text="How deep is the bay?")


@pytest.mark.parametrize(
    ("value", "expected"),
    [("HIGH", "high"), (1, "high"), ("2", "high"), (3, "medium"), (4, "low"), ("low", "low"), ("?", "medium")],
)
def test_priorities_are_words_or_numbers(value: str | int, expected: str) -> None:
    assert priority(value) == expected


def test_queries_are_new_numbered_and_high_priority_first() -> None:
    done = (SearchTask(id="q1.1", query="Depth of the bay"),)
    proposed = (
        Query(query="depth  of the BAY"),
        Query(query="who sounded it", priority="low", goal="names"),
        Query(query=" ", priority=1),
        Query(query="sounding 1831", priority=1),
        Query(query="one too many", priority=1),
    )
    tasks = new_tasks(proposed, done, 2)
    assert [(task.id, task.query, task.priority, task.round) for task in tasks] == [
        ("q2.1", "sounding 1831", "high", 2),
        ("q2.2", "who sounded it", "low", 2),
    ]
    assert tasks[1].goal == "names"


def test_a_gap_is_searched_for_once() -> None:
    done = (SearchTask(id="q2.1", query="toll 1831", goal="What was the toll?", round=2),)
    again = Query(query="harbour fee 1831", goal="what was  the toll?")
    assert new_tasks([again, Query(query="depth", goal="How deep?")], done, 5)[0].query == "depth"


def test_the_first_round_begins_with_the_question() -> None:
    queries = next_queries(QUESTION, [Query(query="bay depth")], ())
    assert [query.query for query in queries] == [QUESTION.text, "bay depth"]


def test_later_rounds_do_not_repeat_the_question() -> None:
    done = (SearchTask(id="q1.1", query=QUESTION.text),)
    assert [query.query for query in next_queries(QUESTION, [Query(query="bay depth")], done)] == ["bay depth"]


@pytest.mark.parametrize("name", ["2", "Section 2", "Soundings", "2. Soundings", "section 2: Soundings"])
def test_a_query_may_name_its_section_by_id_or_title(name: str) -> None:
    sections = (PlannedSection(id="1", title="Depth"), PlannedSection(id="2", title="Soundings"))
    (query,) = with_sections(Plan(title="Bay", sections=sections), [Query(query="x", section=name)])
    assert query.section == "2"
