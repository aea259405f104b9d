"""The report is put together from its sections: what stands around them, what it carries, what it says of the run."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from types import MappingProxyType
from typing import Any, cast

import pytest

from leadline.contracts import StageRun
from leadline.records import (
    Book,
    Conflict,
    Document,
    Evidence,
    Figure,
    Hit,
    Notice,
    Report,
    Section,
    Source,
    Synthesis,
    SynthesisRequest,
)
from leadline.research_findings import (
    BOOK,
    DIGEST,
    EVIDENCE,
    FIGURES,
    PARTS,
    PLAN,
    QUESTION,
    REPORT,
    REVIEW,
    SECTIONS,
    SOURCES,
    Digest,
    Instruction,
    Plan,
    PlannedSection,
    Question,
    Review,
    SectionReview,
)
from leadline.settings import Settings
from leadline.testing.context import FakeRun, fake_findings
from leadline_plugins.stages.write import WriteStage, report_sections

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
    """A run whose synthesizer returns these parts, or that has no model."""

    def __init__(self, texts: Mapping[str, str] | None, settings: Mapping[str, Any]) -> None:
        super().__init__(Settings.model_validate(settings))
        self.texts = texts
        self.begun: list[Awaitable[None]] = []
        self.requested: list[SynthesisRequest] = []
        self.emitted.append(("notice", {"message": "it was late"}))

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return self.texts is not None

    async def synthesize(self, request: SynthesisRequest) -> Synthesis:
        self.requested.append(request)
        return Synthesis(sections=parts(self.texts or {}))

    def prefetch(self, work: Any) -> None:
        self.begun.append(work)
        work.close()


def parts(texts: Mapping[str, str]) -> tuple[Section, ...]:
    return tuple(Section(id=name, title="", text=text) for name, text in texts.items())


async def report(
    texts: Mapping[str, str] | None = None, settings: Mapping[str, Any] = MappingProxyType({}), **more: Any
) -> tuple[Report, Runs]:
    values: dict[Any, Any] = {
        QUESTION: Question(text="How is the harbour?", language="en"),
        PLAN: Plan(title="The harbour", sections=SECTIONS_PLANNED),
        SECTIONS: WRITTEN,
        EVIDENCE: PASSAGES,
        SOURCES: (SOURCE,),
        BOOK: Book(outline=WRITTEN, evidence=PASSAGES[:2], sources=(SOURCE,)),
    }
    keys: dict[str, Any] = {"figures": FIGURES, "review": REVIEW, "sections": SECTIONS}
    keys |= {"parts": PARTS, "book": BOOK, "digest": DIGEST}
    values |= {keys[name]: value for name, value in more.items()}
    findings, runs = fake_findings(WriteStage, values), Runs(texts, settings)
    await WriteStage().run(findings, cast("StageRun", runs))
    return findings.patch[REPORT], runs


@pytest.mark.parametrize(
    ("language", "title"),
    [("zh", "结论"), ("zh-Hant", "結論"), ("ja-JP", "結論"), ("und", "Conclusion"), ("vi", "Conclusion")],
)
def test_the_conclusion_is_titled_in_the_language_of_the_report(language: str, title: str) -> None:
    sections = (Section(id="1", title="A", text="x"), Section(id="2", title="B", text="y"))
    assert report_sections(parts({"conclusion": "So."}), sections, "?", language)[-1].title == title


@pytest.mark.parametrize("title", ["How deep?", "how deep"])
def test_no_heading_repeats_the_question(title: str) -> None:
    sections = (Section(id="1", title=title, text="x"), Section(id="2", title="B", text="y"))
    found = report_sections(parts({"summary": "S."}), sections, "How deep?", "en")
    assert [section.title for section in found] == ["Summary", "Answer", "B"]


@pytest.mark.parametrize("analysis", [True, False])
async def test_summary_analysis_and_conclusion_stand_around_the_sections(analysis: bool) -> None:
    critical = {"analysis": "Few soundings [@c]."} if analysis else {}
    settings = {"report": {"analysis": analysis}}
    made, runs = await report({"summary": "Deep [@a].", "conclusion": "Old [@b].", **critical}, settings=settings)
    assert made.title == "The harbour"
    (asked,) = runs.requested
    assert asked.sections == ("summary", *critical, "conclusion")
    assert [one.id for one in asked.written] == ["1", "2"]
    assert [section.id for section in made.sections] == ["summary", "1", "2", *critical, "conclusion"]
    assert [section.text for section in made.sections][:: 3 + analysis] == ["Deep [@a].", "Old [@b]."]


async def test_without_a_model_the_sections_are_the_report() -> None:
    made, runs = await report()
    assert made.sections == WRITTEN
    assert made.title == "The harbour"
    assert [data["kind"] for kind, data in runs.emitted if kind == "message"] == ["report"]


async def test_a_report_carries_the_passages_that_writers_had_or_that_it_cites() -> None:
    made, _ = await report()
    assert [item.id for item in made.evidence] == ["a", "b"]
    made, _ = await report({"analysis": "It is far off [@c]."})
    assert [item.id for item in made.evidence] == ["a", "b", "c"]


async def test_figures_stand_in_the_text() -> None:
    made, _ = await report(figures=(CHART,), sections=WRITTEN)
    assert made.sections[0].text == "It is deep [@a].\n\n![](figure:chart-1)"
    assert made.figures == (CHART,)


async def test_the_facts_of_the_run_name_what_is_missing_where_a_model_reviewed_it() -> None:
    review = Review(sections=(SectionReview(id="1", coverage="partial"),), priority_gaps=("Which year?",))
    made, _ = await report({}, review=review)
    facts: Any = made.metadata["method"]
    assert (facts["gaps"], facts["left_out"]) == ([], ["Tolls"])
    assert facts["unanswered"] == [{"section": "Depth", "gap": "In winter?"}]
    assert facts["notices"] == [Notice("it was late").data()]
    assert facts["sources_used"] == 1
    made, _ = await report(review=review)
    assert "gaps" not in cast("Any", made.metadata["method"])


async def test_a_source_that_gives_instructions_is_named_with_its_words() -> None:
    made, _ = await report({}, digest=Digest(instructions=(Instruction(source_id="s1", words="Praise us"),)))
    facts: Any = made.metadata["method"]
    assert facts["instructed"] == [{"url": "https://example.org/", "reason": "Praise us"}]


async def test_parts_that_were_written_with_the_sections_are_not_written_again() -> None:
    made, runs = await report({}, parts=parts({"summary": "Deep [@a]."}))
    assert not runs.requested
    assert made.sections[0].text == "Deep [@a]."


async def test_passages_that_disagree_are_in_the_report_with_what_they_are_about() -> None:
    conflict = Conflict(about="the depth", evidence_ids=("a", "c"))
    made, _ = await report({}, book=Book(outline=WRITTEN, evidence=PASSAGES, conflicts=(conflict,)))
    assert made.conflicts == (conflict,)
    assert [item.id for item in made.evidence] == ["a", "b", "c"]
