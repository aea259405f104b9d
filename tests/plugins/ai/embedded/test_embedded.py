"""The embedded provider: sections from the parts of a question, searches from the names in what was found."""

from __future__ import annotations

import pytest

from leadline.errors import Unsupported
from leadline.records import Document, Hit, Source
from leadline.research_findings import Plan, Question
from leadline.tasks import Task
from leadline.testing.context import FakeCall
from leadline_plugins.ai.embedded.provider import ROUNDS, Embedded, plan, query
from leadline_plugins.passages.cutting import passages_of
from leadline_plugins.prompting.inputs import PastSearch
from leadline_plugins.prompting.research_tasks import PlanRequest, QueryRequest

HARBOUR = Question(text="Who is the mayor of the town that quarried the granite of Porto Alvo?", language="en")


def planned(text: str) -> Plan:
    return plan(PlanRequest(question=Question(text=text)))


def test_a_plain_question_is_one_section_with_one_key_question() -> None:
    (section,) = planned("How deep is the harbour of Porto Alvo?").sections
    assert section.questions == ("How deep is the harbour of Porto Alvo?",)


def test_each_part_of_a_compound_question_is_a_section_and_keeps_the_name_it_points_to() -> None:
    first, second = planned("How deep is the harbour of Porto Alvo and when was it last dredged?").sections
    assert first.questions == ("How deep is the harbour of Porto Alvo",)
    assert second.questions == ("when was it last dredged? Porto Alvo",)
    assert [first.title, second.title] == ["How deep is the harbour of Porto Alvo?", "When was it last dredged?"]


def test_chinese_parts_are_told_by_their_question_marks() -> None:
    assert len(planned("阿尔沃港有多深？谁建造了码头？").sections) == 2


def asked(number: int, *past: str) -> list[str]:
    source = Source(
        id="s1",
        hit=Hit(url="file:///1", title="Porto Alvo"),
        document=Document(text="The granite of Porto Alvo was quarried in Vila Fria. Boats come from Rio Novo."),
    )
    request = QueryRequest(
        question=HARBOUR,
        plan=plan(PlanRequest(question=HARBOUR)),
        round=number,
        limit=5,
        past=tuple(PastSearch(query=one, section="", pages=0, failure="") for one in past),
        evidence=tuple(passages_of(source)),
        titles={"s1": "Porto Alvo"},
    )
    return [one.query for one in query(request).queries]


def test_the_question_is_searched_first_and_then_its_names() -> None:
    assert asked(1) == [HARBOUR.text, "Porto Alvo"]


def test_later_rounds_follow_the_names_of_the_best_sentences_with_the_words_these_lack() -> None:
    first = asked(2, HARBOUR.text)[0]
    assert first.startswith("Vila Fria ")
    assert "mayor" in first
    assert "granite" not in first


def test_no_query_is_made_twice_and_none_after_the_last_round() -> None:
    (*_, last) = asked(2)
    assert last not in asked(2, last)
    assert asked(ROUNDS + 1) == []


async def test_a_task_that_needs_a_model_is_refused() -> None:
    task = Task(name="write", inputs=PlanRequest(question=HARBOUR), reply=Plan)
    with pytest.raises(Unsupported, match="it has plan, query"):
        await Embedded().perform(task, FakeCall())
