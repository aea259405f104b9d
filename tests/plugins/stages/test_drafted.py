"""What a model writes reaches the report through the stages: told once, and nothing of its own left."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from leadline.citations import cited, number
from leadline.findings import (
    ANALYSIS,
    EVIDENCE,
    QUESTION,
    SOURCES,
    TASKS,
    Analysis,
    Perspective,
    PlannedSection,
    Question,
)
from leadline.records import Document, Evidence, Figure, Hit, Report, Section, SectionRequest, Source
from leadline.testing.context import FakeCall
from leadline_plugins.stages.analyze import AnalyzeSettings, Analyzing
from leadline_plugins.stages.claims import claims_of
from leadline_plugins.stages.gaps import unwritten
from leadline_plugins.stages.library import Library
from leadline_plugins.stages.placing import without_strange
from leadline_plugins.stages.synthesize import titled
from leadline_plugins.stages.verdicts import by_rule
from leadline_plugins.synthesizers.prose import Prose
from leadline_plugins.tasks.writing import Written

QUOTE = "Ports pay for the reels through port dues [9]."
SOURCE = Source(id="s1", hit=Hit(url="https://example.org/a", title="Reels"), document=Document(text=QUOTE))
PIECE = Evidence(id="e1", source_id="s1", quote=QUOTE, span=(0, len(QUOTE)), claim="", task_id="q1.1")
LEFT_OUT = "citation marks or lists of references of the model's own were left out (1), for they name no passage"
SECTION = Section(id="1", title="Reels", evidence_ids=("e1",))


class Run:
    """A run whose one reply is given; `chat`: whether a model made it."""

    def __init__(self, reply: Any, chat: bool = True) -> None:
        self._reply = reply
        self._chat = chat
        self.notices: list[str] = []

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return self._chat

    async def perform(self, task: Any) -> Any:
        return self._reply

    async def each(self, items: Any, do: Any) -> list[Any]:
        return [await do(item) for item in items]

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    async def emit(self, kind: str, data: Any) -> None:
        self.notices.append(str(data["message"]))


async def section(text: str, *, chat: bool = True) -> tuple[str, str]:
    call = FakeCall()
    call.run = Run(Written(text=text), chat)
    asked = SectionRequest(section=SECTION, evidence=(PIECE,), sources=(SOURCE,), language="en")
    made = await Prose().synthesize(asked, call)
    assert made.text is not None
    return made.text, "".join((*made.notices, *made.unwritten))


async def test_a_copied_sentence_loses_the_mark_of_its_source_and_is_borne_all_the_same() -> None:
    text, notice = await section(f"{QUOTE} [@e1]")
    assert text == "Ports pay for the reels through port dues. [@e1]"
    assert notice == f"the text of 'Reels': {LEFT_OUT}", "it is the page's own, and costs the sentence nothing"
    made = Report(
        title="Reels",
        language="en",
        sections=(SECTION.model_copy(update={"text": text}),),
        sources=(SOURCE,),
        evidence=(PIECE,),
    )
    assert [(one.verdict, one.by) for one in by_rule(claims_of(made), Library(made))] == [("supported", "exact")]


async def test_what_an_algorithm_sets_stands() -> None:
    text = r"Ports pay [2] 【3】 \[9\]. [@e1]"
    assert await section(text, chat=False) == (text, "")


async def test_a_near_miss_is_no_reason_to_quote() -> None:
    assert await section("## Reels\n\nPorts pay for them (@e1).") == ("Ports pay for them [@e1].", "")


async def test_a_text_with_nothing_but_numbers_is_quotes() -> None:
    text, notice = await section("Ports pay for them [1].")
    assert cited(text) == ["e1"]
    assert notice == "its text cited nothing"


def refused(more: int) -> str:
    return f"task by openai: the budget of tokens is spent: 10 of 20 taken, {more} more wanted"


def test_sections_that_one_reason_cost_their_prose_are_told_at_once() -> None:
    def lost(title: str, *reasons: str, unsent: tuple[str, ...] = ()) -> Section:
        return Section(id=title, title=title, unwritten=reasons, unsent=unsent)

    spent = [lost("Reels", refused(7), refused(9), unsent=("e1",)), lost("Dues", refused(8), unsent=("e2",))]
    assert list(unwritten([*spent, lost("Rates", "HTTP 500"), lost("Tolls", "HTTP 503"), lost("Ports")])) == [
        f"sections 'Reels', 'Dues' are quotes, for they were not written ({refused(7)})",
        "section 'Rates' is quotes, for it was not written (HTTP 500)",
        "section 'Tolls' is quotes, for it was not written (HTTP 503)",
    ]
    assert list(unwritten(spent[:1])) == [f"section 'Reels' is quotes, for it was not written ({refused(7)})"]
    assert list(unwritten([lost("Ports")])) == []


async def test_what_an_analysis_lost_is_told() -> None:
    made = Analysis(perspectives=(Perspective(name="# critical", text="Weak [1]. [@e1]"),))
    run = Run(made)
    findings: Any = {QUESTION: Question(text="Why?"), EVIDENCE: (PIECE,), TASKS: (), SOURCES: ()}
    await Analyzing(AnalyzeSettings(mode="on")).run(findings, cast("Any", run))
    assert findings[ANALYSIS].perspectives == (Perspective(name="critical", text="Weak. [@e1]"),)
    assert run.notices == [f"the text of 'critical': {LEFT_OUT}"]


@pytest.mark.parametrize("mark", ["![](figure:nope)", "![Cost](figure:1)", '![x](figure:9 "t")'])
def test_figures_that_the_report_has_not_go(mark: str) -> None:
    text = f"One. [@e1]\n\n{mark}\n\n![](figure:f1)\n\nTwo {mark} and. [@e1]"
    (made,) = without_strange(
        (SECTION.model_copy(update={"text": text}),), (Figure(id="f1", caption="C", alt="A", media={}),)
    )
    assert made.text == "One. [@e1]\n\n![](figure:f1)\n\nTwo and. [@e1]"


def test_a_section_without_a_title_is_named_by_what_it_is_to_say() -> None:
    question = Question(text="Who pays?")
    assert titled(PlannedSection(id="1", title="Costs", goal="g"), question) == "Costs"
    assert titled(PlannedSection(id="1", title=" ", goal="Say it."), question) == "Say it."
    assert titled(PlannedSection(id="1", title="***", questions=("How?",)), question) == "How?"
    assert titled(PlannedSection(id="1", title=""), question) == "Who pays?"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It fell **[@e1]**.", "It fell **[1]**."),
        ("**It fell.[@e1]**", "**It fell. [1]**"),
        ("**It fell** [@e1]", "**It fell** [1]"),
        ("**It fell**[@e1]", "**It fell** [1]"),
        ("It fell ([@e1]).", "It fell [1]."),
        ("*[@e1]*", "*[1]*"),
        ("It fell.[@e1]", "It fell. [1]"),
    ],
)
def test_the_space_before_a_number_stands_outside_emphasis(text: str, shown: str) -> None:
    sections = (SECTION.model_copy(update={"text": text}),)
    report = Report(title="t", language="en", sections=sections, sources=(SOURCE,), evidence=(PIECE,))
    assert number(report).render(text) == shown
