"""The outline: unique ids, titles, and one section where the model returns none."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.plugin import ai_provider
from leadline.records import ChatRequest, Message
from leadline.research_findings import Plan, PlannedSection, Question
from leadline.testing.fakes import ScriptedChat, fake_web
from leadline.testing.plugins import plugin
from leadline_plugins.prompting.inputs import outline_text, single_section_plan
from leadline_plugins.stages.plan import markdown, with_unique_ids


def plan_of(*ids: str) -> Plan:
    return Plan(title="Depth", sections=tuple(PlannedSection(id=name, title=f"Section {name}") for name in ids))


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        (("1", "2"), ["1", "2"]),
        (("1", "1"), ["1", "2"]),
        (("", ""), ["1", "2"]),
        (("2", "2", "1"), ["2", "3", "1"]),
        ((" a ", "a"), ["a", "1"]),
    ],
)
def test_every_section_has_an_id_of_its_own_and_the_first_keeps_it(given: tuple[str, ...], ids: list[str]) -> None:
    assert [section.id for section in with_unique_ids(plan_of(*given)).sections] == ids


def test_a_section_without_a_title_has_its_goal_or_first_question() -> None:
    sections = (
        PlannedSection(id="1", title=" ", goal="The depth"),
        PlannedSection(id="2", title="", questions=("Who measured it?",)),
    )
    titles = [section.title for section in with_unique_ids(Plan(title="Depth", sections=sections)).sections]
    assert titles == ["The depth", "Who measured it?"]


def test_the_plan_of_last_resort_asks_the_question() -> None:
    (section,) = single_section_plan(Question(text="How deep is it?")).sections
    assert section.questions == ("How deep is it?",)


def test_people_see_goals_questions_and_domains() -> None:
    section = PlannedSection(id="1", title="Depth", goal="measure", questions=("How deep?",), domain="technical")
    text = markdown(Plan(title="Harbour", sections=(section,)))
    assert "1. **Depth**: measure" in text
    assert "   - How deep?" in text
    assert text.endswith("Domains: technical\n")


def test_writers_see_scope_form_and_grid() -> None:
    section = PlannedSection(id="1", title="Ports", grid="Boulogne, Calais × depth, toll", questions=("How deep?",))
    plan = Plan(title="Harbours", scope="France, 1831", form="a table: port, depth, toll", sections=(section,))
    shown = outline_text(plan)
    assert shown.splitlines()[1:] == [
        "Scope: France, 1831",
        "Form: a table: port, depth, toll",
        "Section 1: Ports",
        "- Boulogne, Calais × depth, toll",
        "- How deep?",
    ]
    assert all(text in markdown(plan) for text in (plan.scope, plan.form, section.grid))


async def plan_prompt(folder: Path, **values: Any) -> str:
    """Return the prompt of the plan."""
    asked: list[str] = []
    plan = json.dumps({"title": "Depth", "sections": [{"id": "1", "title": "Depth", "questions": ["How deep?"]}]})

    def reply(request: ChatRequest) -> Message:
        asked.append(request.messages[-1].text)
        return Message(role="assistant", text=plan)

    chat = ai_provider("A chat")(lambda: ScriptedChat([reply] * 9))
    settings: dict[str, Any] = {
        "ai.providers": ["scripted"],
        "search.engines": ["fakeweb"],
        "read.fetchers": ["fakeweb"],
    }
    settings |= {"pipeline": "mine", "pipelines.mine.stages": ["plan", "query", "search", "fetch"], **values}
    plugins = [fake_web(), plugin("scripted", chat)]
    async with leadline.Client(plugins=plugins, folder=folder / "r", cache=folder / "c", set=settings) as runs:
        await runs.research("How deep was the harbour measured at each sounding, in fathoms?")
    return asked[0]


async def test_a_plan_sees_the_hits_of_the_question_and_the_number_of_queries(tmp_path: Path) -> None:
    prompt = await plan_prompt(tmp_path, **{"research.first_queries": 4})
    assert "Hits of a search for the question:\n- On How deep was the harbour" in prompt
    assert "At most 3 queries." in prompt


async def test_a_plan_does_not_wait_for_a_slow_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leadline_plugins.stages.plan._WAIT", 0)
    assert "Hits of a search" not in await asyncio.wait_for(plan_prompt(tmp_path), 10)
