"""The outline: unique ids, titles, and one section where the model returns none."""

from __future__ import annotations

import pytest

from leadline.research_findings import Plan, PlannedSection, Question
from leadline_plugins.prompting.inputs import single_section_plan
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
