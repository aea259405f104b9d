"""Stage `write`: puts the report together from sections, the parts around them, figures and method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from leadline.citations import cited
from leadline.contracts import StageRun
from leadline.findings import Findings
from leadline.plugin import stage
from leadline.records import Conflict, Evidence, Figure, Report, Section
from leadline.research_findings import (
    BOOK,
    DIGEST,
    EVIDENCE,
    FIGURES,
    FOUND,
    PARTS,
    PLAN,
    QUESTION,
    REPORT,
    REVIEW,
    SECTIONS,
    SOURCES,
    UNREAD,
    Digest,
)
from leadline.workers import compute
from leadline_plugins.formats.arrangement import with_figures_in_place
from leadline_plugins.prompting.fallback import model_writes
from leadline_plugins.prompting.lengths import report_parts
from leadline_plugins.stages.synthesize import CONDENSE, synthesis_request
from leadline_plugins.verification.repetition import without_repetitions
from leadline_plugins.wording.phrases import join_items, phrase
from leadline_plugins.writing.methodology import count_shown_sources, method_facts, missing_parts


@stage(
    "Writes summary and conclusion and puts the report together",
    needs=(QUESTION, PLAN, SECTIONS),
    wants=(EVIDENCE, SOURCES, FOUND, UNREAD, FIGURES, DIGEST, REVIEW, BOOK, PARTS),
    gives=(REPORT,),
    closing=True,
)
class WriteStage:
    """Has the parts around the sections written, and puts the report together."""

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Set the report; if the model fails, the sections stay as they are."""
        question, sections = findings[QUESTION], findings[SECTIONS]
        evidence, sources, book = findings[EVIDENCE], findings[SOURCES], findings.get(BOOK)
        searches, unread = findings[FOUND], findings[UNREAD]
        parts = findings[PARTS]
        if not parts and book and await model_writes(run):
            request = synthesis_request(question, findings[PLAN], book, run).model_copy(
                update={
                    "sections": report_parts(run.settings),
                    "written": sections,
                    "figures": tuple(figure.caption for figure in findings[FIGURES] if not figure.credit),
                }
            )
            parts = (await run.synthesize(request)).sections
        whole = report_sections(parts, sections, question.text, question.language, run.settings.report.form)
        if CONDENSE in run.stages:
            whole, _ = await compute(without_repetitions, whole)
            whole = tuple(section for section in whole if (section.text or "").strip())
        named = {name for section in whole for name in cited(section.text or "")}
        # Pictures whose passage the text no longer cites are left out.
        figures = tuple(
            figure
            for figure in findings[FIGURES]
            if not figure.credit or figure.section_id or {*figure.evidence_ids} & named
        )
        facts = method_facts(question, searches, sources, unread, run.notices)
        facts |= {"sources_used": count_shown_sources(sections, evidence), **await _missing_parts(findings, run)}
        if findings[PLAN].approval == "edited":
            facts["plan_edited"] = True
        report = Report(
            title=run.settings.report.title or findings[PLAN].title or question.text,
            language=question.language,
            sections=whole,
            sources=sources,
            evidence=reported_evidence(evidence, sections, whole, figures, book.conflicts if book else ()),
            figures=figures,
            conflicts=book.conflicts if book else (),
            metadata={"question": question.text, "created": run.now().isoformat(), "method": facts},
        )
        findings[REPORT] = report = with_figures_in_place(report)
        text = "\n\n".join(section.text or "" for section in report.sections)
        await run.emit("message", {"kind": "report", "text": text})


def reported_evidence(
    evidence: Sequence[Evidence],
    written: Sequence[Section],
    sections: Sequence[Section],
    figures: Sequence[Figure],
    conflicts: Sequence[Conflict] = (),
) -> tuple[Evidence, ...]:
    """Return the passages that were selected for writers, that disagree, or that the report cites."""
    ids = {name for section in written for name in section.evidence_ids}
    ids |= {name for section in sections for name in cited(section.text or "")}
    ids |= {name for figure in figures for name in figure.evidence_ids}
    ids |= {name for conflict in conflicts for name in conflict.evidence_ids}
    return tuple(item for item in evidence if item.id in ids)


async def _missing_parts(findings: Findings, run: StageRun) -> dict[str, JsonValue]:
    """Return the parts that a model found missing, and sources with instructions; nothing without a model."""
    if not await run.by_chat("digest"):
        return {}
    digest, sections = findings.get(DIGEST) or Digest(), findings[SECTIONS]
    review = findings.get(REVIEW) or digest.review
    urls = {source.id: source.hit.url for source in findings[SOURCES]}
    instructed: list[JsonValue] = [
        {"url": urls[instruction.source_id], "reason": instruction.words}
        for instruction in digest.instructions
        if instruction.source_id in urls
    ]
    parts = missing_parts(review, findings[PLAN], sections)
    return {**parts, "instructed": instructed} if instructed else parts


def report_sections(
    parts: Sequence[Section], written: Sequence[Section], question: str, language: str, form: str = "standard"
) -> tuple[Section, ...]:
    """Return summary, sections, analysis and conclusion, in this order; of a long report also its other parts.

    Sections and analysis of a long report are the part of the main findings.
    """
    sections = [section for section in written if (section.text or "").strip()]
    # The title already states the question.
    answer = {"title": phrase("answer", language)}
    sections = [
        section.model_copy(update=answer) if _letters(section.title) == _letters(question) else section
        for section in sections
    ]
    sections.append(_frame_section(parts, "analysis", "analysis", language))
    if form != "standard":
        findings = phrase("findings", language)
        sections = [section.model_copy(update={"part": findings}) for section in sections]
    first, last = _TITLES[form]
    before = (_frame_section(parts, part, title, language) for part, title in first.items())
    after = (_frame_section(parts, part, title, language) for part, title in last.items())
    return tuple(section for section in (*before, *sections, *after) if (section.text or "").strip())


# The parts before and after the sections, by `report.form`, each with the phrase of its title.
_TITLES: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]] = {
    "standard": ({"summary": "summary"}, {"conclusion": "conclusion"}),
    "long": (
        {"summary": "executive", "introduction": "introduction"},
        {"insights": "insights", "conclusion": "conclusions"},
    ),
    "academic": (
        {"summary": "abstract", "introduction": "introduction"},
        {"insights": "insights", "conclusion": "conclusions"},
    ),
}


def _frame_section(parts: Sequence[Section], part: str, title: str, language: str) -> Section:
    """Return a part around the sections; an abstract ends with the keywords."""
    texts = {section.id: section.text or "" for section in parts}
    text, words = texts.get(part, ""), texts.get("keywords", "")
    if title == "abstract" and text and words:
        joined = join_items([word.strip() for word in words.split(";") if word.strip()], language, "semicolon")
        text += f"\n\n**{phrase('keywords', language)}**{phrase('colon', language)}{joined}"
    own = next((section for section in parts if section.id == part), Section(id=part, title=""))
    return own.model_copy(update={"title": phrase(title, language), "text": text})


def _letters(title: str) -> str:
    return "".join(filter(str.isalnum, title)).casefold()
