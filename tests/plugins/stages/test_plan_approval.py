"""A plan that a person approves or changes: its lines, and what begins before and after the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.plugin import ai_provider
from leadline.records import Answer, ChatRequest, Json, Message
from leadline.research_findings import Plan, PlannedSection, Query
from leadline.schemas import schema_of
from leadline.testing.fakes import ScriptedChat, fake_web
from leadline.testing.plugins import plugin
from leadline_plugins.prompting.research_tasks import LONG_PLAN_SCHEMA, PLAN_SCHEMA
from leadline_plugins.stages.plan import editable, read_plan

QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"
PLAN = Plan(
    title="Depth: a survey",
    scope="Porto Alvo",
    form="a table",
    sections=(
        PlannedSection(
            id="1", title="Soundings", goal="the depth", grid="1871 × depth", questions=("How deep?",), domain="history"
        ),
        PlannedSection(id="2", title="Tides"),
    ),
    queries=(
        Query(query="survey of Porto Alvo"),
        Query(query="soundings 1871", goal="figures", priority="high", section="1"),
    ),
)
LINES = """\
Title: Depth: a survey
Scope: Porto Alvo
Form: a table
Search: survey of Porto Alvo

Section: Soundings
  Goal: the depth
  Table: 1871 × depth
  Question: How deep?
  Search: soundings 1871

Section: Tides"""


def test_a_plan_becomes_lines_and_lines_become_the_same_plan() -> None:
    assert editable(PLAN) == LINES
    assert read_plan(LINES, PLAN, 2) == PLAN.model_copy(update={"approval": "edited"})


def test_sections_questions_and_searches_are_changed_added_and_dropped() -> None:
    text = "section：Tides\nQuestion: When is it low?\nSearch:  low  water\nSection: Tolls\nSEARCH: soundings 1871"
    plan = read_plan(text, PLAN, 2)
    assert [(section.id, section.title, section.questions) for section in plan.sections] == [
        ("1", "Tides", ("When is it low?",)),
        ("2", "Tolls", ()),
    ]
    assert [(query.query, query.section, query.priority) for query in plan.queries] == [
        ("low water", "1", "medium"),
        ("soundings 1871", "2", "high"),
    ]
    assert (plan.title, plan.scope) == (PLAN.title, "")


def test_lines_without_a_name_are_searches_of_the_plan_as_it_is() -> None:
    plan = read_plan("low water\n  soundings 1871", PLAN, 2)
    assert (plan.sections, plan.approval) == (PLAN.sections, "edited")
    assert [query.query for query in plan.queries] == ["low water", "soundings 1871"]
    assert [query.query for query in read_plan("tolls of 1871\nSection: Tolls", PLAN, 2).queries] == ["tolls of 1871"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("looks good", "line 1, 'looks good', must begin with one of Title:, Scope:, Form:, Search:, Section:"),
        ("Goal: depth", "line 1, 'Goal: depth', must begin with one of Title:"),
        ("Section: A\n\nScope: B", "line 3, 'Scope: B', must begin with one of Section:, Goal:, Table:, Question:"),
        ("Section: A\nSearch: ", "line 2: nothing follows Search:"),
        ("Section: A\nGoal: B\nGoal: C", "line 3 is a second Goal:"),
        ("Title: A\nSearch: B", "it has no line that begins with Section:"),
        ("Section: A", "it has no line that begins with Search:"),
        ("Section: A\nSearch: a\nSearch: b\nSearch: c", "it has 3 searches; there can be 2 (research.first_queries"),
    ],
)
def test_a_line_at_fault_is_named(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=re.escape(fault)):
        read_plan(text, PLAN, 2)


@pytest.mark.parametrize("schema", [PLAN_SCHEMA, LONG_PLAN_SCHEMA, schema_of(Plan)])
def test_the_planner_is_asked_for_the_fields_that_a_model_writes_and_no_others(schema: dict[str, Any]) -> None:
    assert {*schema["properties"]} == {*Plan.model_fields} - {"approval"}


async def test_an_approval_that_a_model_writes_is_none(tmp_path: Path) -> None:
    async with client_of(tmp_path, [], {"approval": "approved"}, **{"plan.approve": "never"}) as runs:
        result = await runs.research(QUESTION)
    assert json.loads((result.folder / "plan.json").read_text())["approval"] == ""


def client_of(folder: Path, asked: list[str], more: dict[str, Any] | None = None, **settings: Any) -> leadline.Client:
    """Return a client whose model writes the plan above, with more fields, and nothing else."""

    def reply(request: ChatRequest) -> Message:
        asked.append(request.messages[-1].text)
        return Message(
            role="assistant", text=json.dumps(PLAN.model_dump(mode="json", exclude={"approval"}) | (more or {}))
        )

    chat = ai_provider("A chat")(lambda: ScriptedChat([reply] * 9))
    values = {
        "ai.providers": ["embedded"],
        "ai.tasks.plan": "scripted",
        "search.engines": ["fakeweb"],
        "read.fetchers": ["fakeweb"],
        "clarify.mode": "off",
        "plan.approve": "ask",
    }
    plugins = [fake_web(), plugin("scripted", chat)]
    return leadline.Client(plugins=plugins, folder=folder / "r", cache=folder / "c", set={**values, **settings})


def calls(folder: Path, until: str = "") -> list[str]:
    """Return the kinds of the calls of a run that began, in order, up to the first event of a kind."""
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    if until:
        events = events[: [event["kind"] for event in events].index(until)]
    return [event["data"]["kind"] for event in events if event["kind"] == "call.started"]


async def answered(folder: Path, answers: Sequence[Callable[[str], Answer]], **settings: Any) -> tuple[Any, list[str]]:
    """Return the result and the messages of the questions."""
    messages, left = list[str](), [*answers]

    async def asker(message: str, schema: Json) -> Answer:
        messages.append(message)
        properties: Any = schema["properties"]
        return left.pop(0)(properties["plan"]["default"])

    async with client_of(folder, [], **settings) as runs:
        result = await runs.research(QUESTION, asker=asker)
    assert not left
    return result, messages


def plan(text: str) -> Answer:
    return Answer(action="accept", content={"plan": text})


async def test_only_the_first_search_and_the_plan_come_before_the_answer_and_the_changed_plan_is_followed(
    tmp_path: Path,
) -> None:
    changed = [lambda text: plan(text.replace("Section: Tides", "Section: Tolls\n Search: tolls of 1871"))]
    result, [message] = await answered(tmp_path, changed)
    assert sorted(kind for kind in calls(result.folder, "question") if kind != "ask") == [
        "chat",
        "query",
        "search",
        "task",
    ]  # the plan, and a search on one engine
    assert "    Section: Soundings\n      Goal: the depth" in message
    report = json.loads((result.folder / "report.json").read_text())
    assert report["metadata"]["method"]["queries"] == [
        QUESTION,
        "soundings 1871",
        "survey of Porto Alvo",
        "tolls of 1871",
    ]
    assert "A person edited the plan" in (result.folder / "report.md").read_text()
    stored = json.loads((result.folder / "plan.json").read_text())
    assert (stored["approval"], stored["sections"][1]["title"]) == ("edited", "Tolls")
    assert "2. **Tolls**" in (result.folder / "plan.md").read_text()
    assert not [notice for notice in result.metadata.notices if "plan" in notice]


@pytest.mark.parametrize("answer", [plan("go on"), plan("Go On "), Answer(action="decline"), plan(LINES)])
async def test_the_plan_is_followed_as_it_is(tmp_path: Path, answer: Answer) -> None:
    result, _ = await answered(tmp_path, [lambda text: answer])
    stored = json.loads((result.folder / "plan.json").read_text())
    assert (stored["approval"], [section["title"] for section in stored["sections"]]) == (
        "approved",
        ["Soundings", "Tides"],
    )
    assert "edited the plan" not in (result.folder / "report.md").read_text()


async def test_an_answer_with_a_fault_is_asked_for_again_and_nothing_typed_is_lost(tmp_path: Path) -> None:
    faulty = f"{LINES}\n  Aim: more"
    result, messages = await answered(
        tmp_path, [lambda text: plan(faulty), lambda text: plan(text), lambda text: plan(text.replace("Aim", "Goal"))]
    )
    assert "line 13, 'Aim: more', must begin with" in messages[1]
    assert [message.partition(" cannot")[0] for message in messages[1:]] == ["Answer 1", "Answer 2"]
    assert json.loads((result.folder / "plan.json").read_text())["sections"][1]["goal"] == "more"


async def test_a_run_that_nobody_attends_waits_with_its_plan_and_repeats_nothing(tmp_path: Path) -> None:
    asked: list[str] = []
    async with client_of(tmp_path, asked) as runs:
        waiting = await runs.research(QUESTION)
        assert (waiting.status, waiting.exit_code) == ("waiting", 2)
        assert "edit plan.txt" in waiting.reason
        file = waiting.folder / "plan.txt"
        assert file.read_text() == LINES
        file.write_text(LINES.replace("Tides", "Tolls"))
        assert (await (await runs.resume(waiting.folder)).result()).status == "waiting"
        [question] = waiting.metadata.questions
        await runs.answer(waiting.folder.name, question.id, plan(file.read_text()))
        done = await (await runs.resume(waiting.folder)).result()
        assert (await runs.replay(done.folder)).status == "complete"
    assert (done.status, len(asked)) == ("complete", 1)
    assert "Tolls" in (done.folder / "plan.md").read_text()
    assert calls(done.folder).count("chat") == 1


async def test_a_pipeline_without_a_plan_says_that_there_is_nothing_to_approve(tmp_path: Path) -> None:
    async with client_of(tmp_path, [], pipeline="search") as runs:
        result = await runs.research(QUESTION)
    assert (result.status, result.metadata.notices[0]) == (
        "complete",
        "plan.approve has no effect: this pipeline has no stage 'plan'",
    )
