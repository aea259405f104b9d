"""The provider without a model: one section, and no search beside the question itself."""

from __future__ import annotations

import pytest

from leadline.errors import Unsupported
from leadline.research_findings import Plan, Question
from leadline.tasks import TaskKind
from leadline.testing.context import FakeCall
from leadline_plugins.ai.embedded import Embedded
from leadline_plugins.prompting.research_tasks import PlanRequest, Queries, QueryRequest
from leadline_plugins.stages.plan import TASK as PLAN
from leadline_plugins.stages.query import TASK as QUERY

HARBOUR = Question(text="How deep is the harbour of Porto Alvo, and when was it last dredged?", language="en")


async def test_a_question_of_several_parts_is_one_section() -> None:
    made = await Embedded().perform(PLAN.of(PlanRequest(question=HARBOUR)), FakeCall())
    assert [section.questions for section in made.sections] == [(HARBOUR.text,)]


async def test_a_follow_up_question_is_searched_with_its_topic() -> None:
    asked = Question(text="And why?", context="Porto Alvo")
    made = await Embedded().perform(PLAN.of(PlanRequest(question=asked)), FakeCall())
    assert made.sections[0].questions == (asked.topic,)
    assert "Porto Alvo" in asked.topic


async def test_no_query_is_proposed() -> None:
    request = QueryRequest(question=HARBOUR, plan=Plan(title="", sections=()))
    assert await Embedded().perform(QUERY.of(request), FakeCall()) == Queries()


async def test_a_task_that_needs_a_model_is_refused_with_the_next_step() -> None:
    task = TaskKind("chart", PlanRequest, Queries).of(PlanRequest(question=HARBOUR))
    with pytest.raises(Unsupported, match=r"no algorithm for the task 'chart'.*Put a language model"):
        await Embedded().perform(task, FakeCall())
