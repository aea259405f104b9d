"""Stage `write`: the report as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from leadline.contracts import Run
from leadline.findings import (
    ANALYSIS,
    DIGEST,
    EVIDENCE,
    FIGURES,
    FOUND,
    PLAN,
    QUESTION,
    REPORT,
    REVIEW,
    SECTIONS,
    SOURCES,
    UNREAD,
    Analysis,
    Findings,
)
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Report, Section
from leadline_plugins.stages.compose import COMPOSITION
from leadline_plugins.stages.method import Lacking, lacking, method, used
from leadline_plugins.stages.placing import placed, without_strange
from leadline_plugins.tasks.writing import Composition
from leadline_plugins.wording import say, translated


class Writing:
    """Puts the report together: the sections, what was written around them, figures, and how it was made."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Give the report."""
        question, sections = findings[QUESTION], findings[SECTIONS]
        evidence, sources = findings[EVIDENCE], findings[SOURCES]
        found, unread = findings[FOUND], findings[UNREAD]
        composed = findings.get(COMPOSITION) or Composition(title=findings[PLAN].title)
        whole = body(composed, sections, question.text, question.language, findings.get(ANALYSIS))
        whole, figures = placed(whole, findings[FIGURES])
        whole = without_strange(whole, figures)
        report = Report(
            title=composed.title or question.text,
            language=question.language,
            sections=whole,
            sources=sources,
            evidence=evidence,
            figures=figures,
            metadata={
                "question": question.text,
                "created": run.now().isoformat(),
                "method": method(
                    question,
                    found,
                    sources,
                    unread,
                    run.notices,
                    await _lacking(findings, run),
                    used(sections, evidence),
                ),
            },
        )
        findings[REPORT] = report
        text = "\n\n".join(section.text or "" for section in report.sections)
        await run.emit("message", {"kind": "report", "text": text})


async def _lacking(findings: Findings, run: Run) -> Lacking | None:
    """Return what a model found wanting; an algorithm tells of words it did not meet, which is no finding."""
    if not await run.by_chat("digest"):
        return None
    digest, sections = findings.get(DIGEST), findings[SECTIONS]
    review = findings.get(REVIEW) or (digest.review if digest else None)
    return lacking(review, findings[PLAN], sections)


def body(
    composed: Composition,
    stand: tuple[Section, ...],
    question: str,
    language: str,
    analysis: Analysis | None = None,
) -> tuple[Section, ...]:
    """Return the sections of the report, changed ones in their places, with what stands around them."""
    changed = {
        section.id: {"text": section.text, "title": section.title}
        for section in composed.sections
        if section.text.strip()
    }
    sections = [_said_anew(section, changed.get(section.id, {})) for section in stand]
    sections = [section for section in sections if (section.text or "").strip()]
    if len(sections) == 1 and sections[0].title in (composed.title, question):
        # The question is the title already: said twice, it reads as a mistake.
        sections = [sections[0].model_copy(update={"title": say("answer", language)})]
    sections += seen_critically(analysis, language)
    if composed.summary.strip():
        sections.insert(0, Section(id="summary", title=say("summary", language), text=composed.summary))
    if composed.conclusion.strip():
        title = say("conclusion", language)
        sections.append(Section(id="conclusion", title=title, text=composed.conclusion))
    return tuple(sections)


def seen_critically(analysis: Analysis | None, language: str) -> list[Section]:
    """Return the section that an analysis is, where there is one: it stands as it was made, whatever is composed."""
    if analysis is None or not analysis.perspectives:
        return []
    text = "\n\n".join(f"### {translated(one.name, language)}\n\n{one.text}" for one in analysis.perspectives)
    return [Section(id="analysis", title=say("analysis", language), text=text)]


def _said_anew(section: Section, said: Mapping[str, str]) -> Section:
    return section.model_copy(update={name: text for name, text in said.items() if text})


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: Writing(),
        PluginSettings,
        "Puts the report together from its sections",
        needs=(QUESTION, PLAN, SECTIONS),
        wants=(COMPOSITION, EVIDENCE, SOURCES, FOUND, UNREAD, ANALYSIS, FIGURES, DIGEST, REVIEW),
        gives=(REPORT,),
        closing=True,
    )
