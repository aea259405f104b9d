"""Which evidence the words of the sections sort surely, and which they leave open."""

from __future__ import annotations

from leadline.findings import Plan, PlannedSection, SearchTask
from leadline.records import Document, Evidence, Hit, Source
from leadline_plugins.ai.embedded.arrange import arrange, shares, unsure
from leadline_plugins.ai.embedded.asked import asked
from leadline_plugins.ai.embedded.choose import Rated

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


def test_where_a_model_writes_each_section_there_are_no_more_than_a_plan_has() -> None:
    quote = "The harbour was measured again."
    chosen = [
        Rated(Evidence(id=f"e{n}", source_id=f"s{n % 20}", quote=quote, span=(n, n + len(quote)), claim=quote), 1.0)
        for n in range(100)
    ]
    sources = [
        Source(
            id=f"s{n}", hit=Hit(url=f"https://example.org/{n}", title=f"Sounding {n}"), document=Document(text=quote)
        )
        for n in range(20)
    ]
    question = asked("How do the harbours of the coast pay for their soundings, and what does it bring them?")
    plan = Plan(title="x", sections=(COSTS,))
    free, capped = (arrange(plan, chosen, sources, question, [], most=most) for most in (None, 10))
    assert (len(free), len(capped)) == (21, 10)
    assert {name for part in free for name in part.evidence_ids} == {item.evidence.id for item in chosen}
    assert {name for part in capped for name in part.evidence_ids} == {item.evidence.id for item in chosen}
