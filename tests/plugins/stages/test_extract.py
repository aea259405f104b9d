"""Sources are cut into passages; of a long source those are kept that serve the questions of the run."""

from __future__ import annotations

import threading
from typing import cast

import pytest

from leadline.contracts import StageRun
from leadline.records import Document, Evidence, Hit, Source
from leadline.research_findings import (
    EVIDENCE,
    PLAN,
    QUESTION,
    SOURCES,
    TASKS,
    Plan,
    PlannedSection,
    Question,
    SearchTask,
)
from leadline.testing.context import FakeRun
from leadline_plugins.passages.cutting import passages_of
from leadline_plugins.stages import extract
from leadline_plugins.stages.extract import ExtractStage

FILLER = "The sea is wide and the wind is cold and the birds are loud. " * 5
LONG = (
    "\n\n".join(f"## Part {n}\n\n{FILLER}" for n in range(400))
    + "\n\n## End\n\nPilots of Porto Alvo train for nine years."
)
TASK = SearchTask(id="q1", query="train")


def source(text: str) -> Source:
    return Source(id="s1", task_id="q1", hit=Hit(url="https://example.org/a"), document=Document(text=text))


async def extracted(
    page: Source, known: tuple[Evidence, ...] = (), question: str = "How?", planned: str = ""
) -> list[Evidence]:
    section = PlannedSection(id="1", title="A", questions=(planned,) if planned else ())
    findings = {
        EVIDENCE: known,
        QUESTION: Question(text=question),
        PLAN: Plan(title="A", sections=(section,)),
        TASKS: (TASK,),
        SOURCES: (page,),
    }
    run = FakeRun()
    found = list(await ExtractStage().map(page, findings, cast("StageRun", run)))  # type: ignore[arg-type]
    assert bool(run.emitted) is bool(found), "what was learnt is shown"
    return found


async def test_all_passages_of_a_source_are_evidence_in_the_order_of_its_document() -> None:
    page = source("# Harbour\n\nIt is deep.\n\n# Fees\n\nShips pay forty crowns.")
    found = await extracted(page)
    assert [item.quote for item in found] == ["It is deep.", "Ships pay forty crowns."]
    assert found == passages_of(page)


async def test_a_long_source_keeps_the_passages_for_the_questions_of_the_plan_and_its_search() -> None:
    for question, planned in (("What do pilots do?", ""), ("How?", "Who are the pilots?"), ("How?", "")):
        found = await extracted(source(LONG), question=question, planned=planned)
        assert len(found) == 200
        assert found[-1].quote == "Pilots of Porto Alvo train for nine years."
        assert [item.span for item in found] == sorted(item.span for item in found)


async def test_a_source_that_was_read_before_adds_nothing() -> None:
    page = source("It is deep.")
    assert await extracted(page, tuple(passages_of(page))) == []


async def test_a_short_source_is_not_cut_by_the_event_loop_either(monkeypatch: pytest.MonkeyPatch) -> None:
    by: list[int] = []

    def recorded(page: Source) -> list[Evidence]:
        by.append(threading.get_ident())
        return passages_of(page)

    monkeypatch.setattr(extract, "passages_of", recorded)
    assert await extracted(source("It is deep."))
    assert threading.get_ident() not in by
