"""Stage `write`: the report, composed from its sections, with the analysis, the figures and how it was made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from leadline.citations import cited
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
from leadline.records import Evidence, Figure, Report, Section
from leadline_plugins.stages.method import Lacking, lacking, method, used
from leadline_plugins.stages.placing import placed, without_strange
from leadline_plugins.synthesizers.compose import ASK, WHOLE, Composed, compose
from leadline_plugins.verification.verdicts import prejudge
from leadline_plugins.wording import say, translated


class Writing:
    """Has summary and conclusion written and puts the report together."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Write the report; if composing fails, the sections stay as they are."""
        question, sections = findings[QUESTION], findings[SECTIONS]
        evidence, sources = findings[EVIDENCE], findings[SOURCES]
        found, unread = findings[FOUND], findings[UNREAD]
        title = findings[PLAN].title or question.text
        charts = [figure.caption for figure in findings[FIGURES] if not figure.credit]
        if critical := seen_critically(findings.get(ANALYSIS), question.language):
            run.ahead(prejudge(run, critical, evidence, sources, question.language))
        composed = await compose(question, title, sections, charts, run)
        whole, figures = placed(
            body(composed, question.text, question.language, findings.get(ANALYSIS)), findings[FIGURES]
        )
        whole = without_strange(whole, figures)
        facts = method(
            question,
            found,
            sources,
            unread,
            run.notices,
            await _lacking(findings, run),
            used(sections, evidence),
        )
        findings[REPORT] = Report(
            title=composed.title,
            language=question.language,
            sections=whole,
            sources=sources,
            evidence=_used(evidence, sections, whole, figures),
            figures=figures,
            metadata={"question": question.text, "created": run.now().isoformat(), "method": facts},
        )
        text = "\n\n".join(section.text or "" for section in whole)
        await run.emit("message", {"kind": "report", "text": text})


def _used(
    evidence: Sequence[Evidence], written: Sequence[Section], sections: Sequence[Section], figures: Sequence[Figure]
) -> tuple[Evidence, ...]:
    """Return the passages that writers were given or that the report cites: the others stay with the run."""
    ids = {name for section in written for name in section.evidence_ids}
    ids |= {name for section in sections for name in cited(section.text or "")}
    ids |= {name for figure in figures for name in figure.evidence_ids}
    return tuple(item for item in evidence if item.id in ids)


async def _lacking(findings: Findings, run: Run) -> Lacking | None:
    """Return what a model found missing; an algorithm only counts words, which is no finding."""
    if not await run.by_chat("digest"):
        return None
    digest, sections = findings.get(DIGEST), findings[SECTIONS]
    review = findings.get(REVIEW) or (digest.review if digest else None)
    return lacking(review, findings[PLAN], sections)


def body(composed: Composed, question: str, language: str, analysis: Analysis | None = None) -> tuple[Section, ...]:
    """Return the sections of the report in order: summary, sections, analysis, conclusion."""
    sections = [section for section in composed.sections if (section.text or "").strip()]
    if len(sections) == 1 and sections[0].title in (composed.title, question):
        # The question is the title already.
        sections = [sections[0].model_copy(update={"title": say("answer", language)})]
    sections += seen_critically(analysis, language)
    if composed.summary:
        sections.insert(0, Section(id="summary", title=say("summary", language), text=composed.summary))
    if composed.conclusion:
        sections.append(Section(id="conclusion", title=say("conclusion", language), text=composed.conclusion))
    return tuple(sections)


def seen_critically(analysis: Analysis | None, language: str) -> Sequence[Section]:
    """Return the analysis as a section; nothing where there is none."""
    if analysis is None or not analysis.perspectives:
        return []
    text = "\n\n".join(f"### {translated(one.name, language)}\n\n{one.text}" for one in analysis.perspectives)
    return [Section(id="analysis", title=say("analysis", language), text=text)]


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: Writing(),
        PluginSettings,
        "Writes summary and conclusion and puts the report together",
        needs=(QUESTION, PLAN, SECTIONS),
        wants=(EVIDENCE, SOURCES, FOUND, UNREAD, ANALYSIS, FIGURES, DIGEST, REVIEW),
        gives=(REPORT,),
        closing=True,
        tasks=(ASK, WHOLE),
    )
