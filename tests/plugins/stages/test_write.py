"""The report is put together from its sections: what stands around them, what it carries, what it says of the run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from leadline.contracts import Run
from leadline.records import Document, Evidence, Figure, Hit, Report, Section, Source
from leadline.research_findings import (
    ANALYSIS,
    EVIDENCE,
    FIGURES,
    PLAN,
    QUESTION,
    REPORT,
    REVIEW,
    SECTIONS,
    SOURCES,
    Analysis,
    Perspective,
    Plan,
    PlannedSection,
    Question,
    Review,
    SectionReview,
)
from leadline.tasks import Task
from leadline.testing.context import FakeRun, fake_findings
from leadline_plugins.prompting.writing_tasks import Composition
from leadline_plugins.stages.write import WriteStage, leadline_stages, report_sections
from leadline_plugins.writing.composition import ComposedReport

SOURCE = Source(
    id="s1", hit=Hit(url="https://example.org/"), document=Document(text="It is deep. It is old. It is far.")
)
PASSAGES = tuple(
    Evidence(id=name, source_id="s1", quote=quote, span=(start, start + len(quote)))
    for name, quote, start in (("a", "It is deep.", 0), ("b", "It is old.", 12), ("c", "It is far.", 23))
)
WRITTEN = (
    Section(id="1", title="Depth", text="It is deep [@a].", evidence_ids=("a",), unanswered=("In winter?",)),
    Section(id="2", title="Age", text="It is old [@b].", evidence_ids=("b",)),
)
SECTIONS_PLANNED = tuple(
    PlannedSection(id=str(n), title=title) for n, title in enumerate(("Depth", "Age", "Tolls"), start=1)
)
CHART = Figure(id="chart-1", caption="Depths", alt="", media={"image/png": b""}, evidence_ids=("a",))


class Runs(FakeRun):
    """A run whose model composes this, or that has none."""

    def __init__(self, composition: Composition | None) -> None:
        super().__init__()
        self.composition = composition
        self.begun: list[Awaitable[None]] = []
        self.requested: list[Any] = []
        self.notices = ("it was late",)

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return self.composition is not None

    async def perform(self, task: Task[Any]) -> Any:
        self.requested.append(task.inputs)
        return self.composition

    async def each(self, items: Sequence[Any], work: Callable[[Any], Awaitable[Any]]) -> list[Any]:
        return [await work(item) for item in items]

    def prefetch(self, work: Any) -> None:
        self.begun.append(work)
        work.close()


async def report(composition: Composition | None = None, **more: Any) -> tuple[Report, Runs]:
    (offer,) = leadline_stages()
    values: dict[Any, Any] = {
        QUESTION: Question(text="How is the harbour?", language="en"),
        PLAN: Plan(title="The harbour", sections=SECTIONS_PLANNED),
        SECTIONS: WRITTEN,
        EVIDENCE: PASSAGES,
        SOURCES: (SOURCE,),
    }
    keys = SimpleNamespace(figures=FIGURES, analysis=ANALYSIS, review=REVIEW, sections=SECTIONS)
    values |= {getattr(keys, name): value for name, value in more.items()}
    findings, runs = fake_findings(offer, values), Runs(composition)
    await WriteStage().run(findings, cast("Run", runs))
    return findings.patch[REPORT], runs


@pytest.mark.parametrize(
    ("language", "title"),
    [("zh", "结论"), ("zh-Hant", "結論"), ("ja-JP", "結論"), ("und", "Conclusion"), ("vi", "Conclusion")],
)
def test_the_conclusion_is_titled_in_the_language_of_the_report(language: str, title: str) -> None:
    sections = (Section(id="1", title="A", text="x"), Section(id="2", title="B", text="y"))
    assert report_sections(ComposedReport("T", sections, conclusion="So."), "?", language)[-1].title == title


@pytest.mark.parametrize("title", ["How deep?", "how deep", "The bay"])
def test_no_heading_repeats_the_question_or_the_title(title: str) -> None:
    sections = (Section(id="1", title=title, text="x"), Section(id="2", title="B", text="y"))
    found = report_sections(ComposedReport("The bay", sections, summary="S."), "How deep?", "en")
    assert [section.title for section in found] == ["Summary", "Answer", "B"]


async def test_summary_analysis_and_conclusion_stand_around_the_sections() -> None:
    analysis = Analysis(perspectives=(Perspective(name="critical", text="Few soundings [@c]."),))
    made, _ = await report(
        Composition(title="A harbour", summary="Deep [1].", conclusion="Old [2]."), analysis=analysis
    )
    assert made.title == "A harbour"
    assert [section.id for section in made.sections] == ["summary", "1", "2", "analysis", "conclusion"]
    assert [section.text for section in made.sections][::4] == ["Deep [@a].", "Old [@b]."]


async def test_without_a_model_the_sections_are_the_report() -> None:
    made, runs = await report()
    assert made.sections == WRITTEN
    assert made.title == "The harbour"
    assert [data["kind"] for kind, data in runs.emitted if kind == "message"] == ["report"]


async def test_a_report_carries_the_passages_that_writers_had_or_that_it_cites() -> None:
    made, _ = await report()
    assert [item.id for item in made.evidence] == ["a", "b"]
    analysis = Analysis(perspectives=(Perspective(name="critical", text="It is far off [@c]."),))
    made, _ = await report(analysis=analysis)
    assert [item.id for item in made.evidence] == ["a", "b", "c"]


async def test_figures_stand_in_the_text_and_unknown_ones_go() -> None:
    strange = WRITTEN[0].model_copy(update={"text": "It is deep [@a].\n\n![](figure:none)"})
    made, _ = await report(figures=(CHART,), sections=(strange, WRITTEN[1]))
    assert made.sections[0].text == "It is deep [@a].\n\n![](figure:chart-1)"
    assert made.figures == (CHART,)


async def test_the_facts_of_the_run_name_what_is_missing_where_a_model_reviewed_it() -> None:
    review = Review(sections=(SectionReview(id="1", coverage="partial"),), priority_gaps=("Which year?",))
    made, _ = await report(Composition(), review=review)
    facts: Any = made.metadata["method"]
    assert (facts["sufficient"], facts["gaps"], facts["left_out"]) == (False, [], ["Tolls"])
    assert facts["unanswered"] == [{"section": "Depth", "gap": "In winter?"}]
    assert facts["notices"] == ["it was late"]
    assert facts["sources_used"] == 1
    made, _ = await report(review=review)
    assert "gaps" not in cast("Any", made.metadata["method"])


async def test_the_claims_of_the_analysis_are_judged_while_the_report_is_composed() -> None:
    analysis = Analysis(perspectives=(Perspective(name="critical", text="It is far off [@c]."),))
    _, runs = await report(Composition(), analysis=analysis)
    assert len(runs.begun) == 1


async def test_the_summary_is_written_once_and_waits_for_no_judge() -> None:
    _, runs = await report(Composition(summary="Deep [1]."))
    assert len(runs.requested) == 1
