"""One call writes the whole report anew (`report.write = "single"`), and nothing is lost where it does not."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from leadline.contracts import Run
from leadline.errors import CallFailed
from leadline.findings import EVIDENCE, PLAN, QUESTION, SECTIONS, SOURCES, Plan, PlannedSection, Question
from leadline.records import Evidence, Failure, Record, Section
from leadline.tasks import Task
from leadline_plugins.stages.compose import COMPOSITION, Composing
from leadline_plugins.stages.judge import JUDGED, Judging
from leadline_plugins.stages.write import body
from leadline_plugins.tasks.writing import ChangedSection, Composition, WriteRequest

FAILED = CallFailed(Failure(kind="task", provider="x", category="LLM", type="BadReply", message="no"))
PASSAGES = tuple(
    Evidence(id=name, source_id="s", quote=text, span=(0, len(text)), claim=text)
    for name, text in (("e1", "It is deep."), ("e2", "It is wide."), ("e3", "It is old."))
)
STAND = (
    Section(id="a", title="Depth", text="It is deep. [@e1] It is wide. [@e2]", evidence_ids=("e1", "e2")),
    Section(id="b", title="Age", text="It is old. [@e3] It is deep. [@e1]", evidence_ids=("e3", "e1")),
)
PLANNED = tuple(PlannedSection(id=section.id, title=section.title) for section in STAND)
WRITTEN = Composition(
    summary="It is deep. [@e1]",
    sections=(
        ChangedSection(id="a", title="Depth", text="Deep, as the age below bears out. [@e1]"),
        ChangedSection(id="b", title="Age", text="It is old, and was from the beginning. [@e3]"),
    ),
    conclusion="It is old. [@e3]",
)


class Asking:
    """A run that replies to each task by its name, and keeps what it was asked and told."""

    def __init__(self, *, chat: bool = True, **replies: Record | CallFailed) -> None:
        self.settings = SimpleNamespace(report=SimpleNamespace(length=0, write="single"))
        self.notices: list[str] = []
        self.asked: dict[str, Any] = {}
        self._chat, self._replies = chat, replies

    def now(self) -> datetime:
        return datetime(2026, 11, 23, tzinfo=UTC)

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return self._chat

    async def perform(self, task: Task[Any]) -> Any:
        self.asked[task.name] = task.inputs
        reply = self._replies[task.name]
        if isinstance(reply, CallFailed):
            raise reply
        return reply

    async def emit(self, kind: str, data: Any) -> None:
        self.notices.append(data["message"])


async def composed(run: Asking) -> Composition:
    """Return what the stage gives."""
    findings: dict[Any, Any] = {
        QUESTION: Question(text="How deep is the harbour?", language="en"),
        PLAN: Plan(title="The harbour", sections=PLANNED),
        EVIDENCE: PASSAGES,
        SECTIONS: STAND,
    }
    await Composing().run(cast("Any", findings), cast("Run", run))
    given: Composition = findings[COMPOSITION]
    return given


async def test_all_sections_are_written_anew_by_one_call() -> None:
    run = Asking(write_whole=WRITTEN)
    given = await composed(run)
    assert [section.text for section in given.sections] == [section.text for section in WRITTEN.sections]
    whole = body(given, STAND, "?", "en")[1:-1]
    assert [section.evidence_ids for section in whole] == [section.evidence_ids for section in STAND]
    assert (given.title, given.summary, given.conclusion) == ("The harbour", WRITTEN.summary, WRITTEN.conclusion)
    assert run.notices == []
    (asked,) = run.asked.values()
    assert isinstance(asked, WriteRequest)
    assert [section.text for section in asked.sections] == [section.text for section in STAND]
    assert (asked.evidence, asked.today) == ((), "2026-11-23")


async def test_a_section_may_say_less_than_before_but_not_without_a_citation() -> None:
    bare = WRITTEN.sections[1].model_copy(update={"text": "It is old. [@e9]"})
    run = Asking(write_whole=WRITTEN.model_copy(update={"sections": (WRITTEN.sections[0], bare)}))
    assert [section.id for section in (await composed(run)).sections] == ["a"]
    assert run.notices == ["what was written anew lacks 'Age', or the citations there: as first written"]


async def test_a_section_that_does_not_come_back_stands() -> None:
    run = Asking(write_whole=WRITTEN.model_copy(update={"sections": WRITTEN.sections[1:]}))
    assert [section.id for section in (await composed(run)).sections] == ["b"]
    assert run.notices == ["what was written anew lacks 'Depth', or the citations there: as first written"]


async def test_where_it_fails_the_sections_stand_and_are_composed() -> None:
    run = Asking(write_whole=FAILED, write=Composition(summary="It is deep. [@e1]"))
    given = await composed(run)
    assert (given.summary, given.sections) == ("It is deep. [@e1]", ())
    assert list(run.asked) == ["write_whole", "write"]
    assert run.notices == ["the sections stand: they were not written anew (task by x: no)"]


async def test_without_a_model_the_sections_stand_and_that_is_said() -> None:
    run = Asking(chat=False, write=Composition(summary="It is deep. [@e1]"))
    assert (await composed(run)).summary == "It is deep. [@e1]"
    assert list(run.asked) == ["write"]
    assert run.notices == ["the sections stand: only a model writes them anew (report.write = single)"]


@pytest.mark.parametrize(("write", "chats"), [("compose", 1), ("single", 0)])
async def test_claims_that_will_be_written_anew_are_not_judged_ahead(write: str, chats: int) -> None:
    asked = []

    async def by_chat(task: str, role: str = "task") -> bool:
        asked.append(task)
        return False

    run = SimpleNamespace(settings=SimpleNamespace(report=SimpleNamespace(write=write)), by_chat=by_chat)
    findings: dict[Any, Any] = {SECTIONS: STAND, EVIDENCE: PASSAGES, SOURCES: ()}
    await Judging().run(cast("Any", findings), cast("Run", run))
    assert findings[JUDGED] == ()
    assert len(asked) == chats
