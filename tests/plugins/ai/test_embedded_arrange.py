"""Which evidence the words of the sections sort surely, and which they leave open."""

from __future__ import annotations

from leadline.findings import Plan, PlannedSection, SearchTask
from leadline.records import Evidence
from leadline_plugins.ai.embedded.arrange import shares, unsure

COSTS, HISTORY = PlannedSection(id="1", title="Costs and fees"), PlannedSection(id="2", title="History of the harbour")
PLAN = Plan(title="The harbour", sections=(COSTS, HISTORY))
TASKS = (SearchTask(id="q1.1", query="fees", section="1"),)


def piece(name: str, quote: str, task: str = "") -> Evidence:
    return Evidence(id=name, source_id="s", quote=quote, span=(0, len(quote)), claim=quote, task_id=task)


def left_open(*evidence: Evidence, plan: Plan = PLAN) -> list[str]:
    return [item.id for item in unsure(evidence, shares(plan.sections, evidence, TASKS))]


def test_what_speaks_of_one_section_is_sure() -> None:
    assert left_open(piece("a", "The fees rose in 1871."), piece("b", "The history of the harbour is long.")) == []


def test_what_speaks_of_none_or_of_both_alike_is_not() -> None:
    both = piece("b", "The costs of the harbour rose.")
    assert left_open(piece("a", "It rained."), both) == ["a", "b"]


def test_what_was_searched_for_a_section_is_its_own() -> None:
    assert left_open(piece("a", "It rained.", "q1.1")) == []


def test_one_section_leaves_nothing_open() -> None:
    assert left_open(piece("a", "It rained."), plan=Plan(title="x", sections=(COSTS,))) == []
