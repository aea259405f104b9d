"""Stage `write`: the report as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leadline.contracts import Run
from leadline.findings import (
    EVIDENCE,
    FOUND,
    PLAN,
    QUESTION,
    REPORT,
    SECTIONS,
    SOURCES,
    UNREAD,
    Findings,
)
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Report, Section
from leadline.tasks import Task
from leadline_plugins.prompts import template
from leadline_plugins.stages.degrade import perform_or
from leadline_plugins.stages.method import method
from leadline_plugins.tasks import Composition, WriteRequest


class Writing:
    """Composes the report: the sections stand, what belongs around them is added."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Give the report."""
        question, sections = findings[QUESTION], findings[SECTIONS]
        request = WriteRequest(
            question=question,
            plan=findings[PLAN],
            sections=sections,
            evidence=findings[EVIDENCE],
            length=run.settings.report.length,
        )
        stand = Composition(title=findings[PLAN].title, sections=sections)
        task = Task("write", request, Composition, prompt=template("write"), role="thinking")
        found, sources, unread = findings[FOUND], findings[SOURCES], findings[UNREAD]
        composed = await perform_or(run, task, stand, "summary and conclusion were not written: the sections stand")
        report = Report(
            title=composed.title or question.text,
            language=question.language,
            sections=body(composed, question.language),
            sources=sources,
            evidence=findings[EVIDENCE],
            metadata={
                "question": question.text,
                "created": run.now().isoformat(),
                "method": method(question, found, sources, unread),
            },
        )
        findings[REPORT] = report
        text = "\n\n".join(section.text or "" for section in report.sections)
        await run.emit("message", {"kind": "report", "text": text})


SUMMARY = {"zh": "摘要", "ja": "要約", "ko": "요약"}
CONCLUSION = {"zh": "结论", "ja": "結論", "ko": "결론"}


def body(composed: Composition, language: str) -> tuple[Section, ...]:
    """Return the sections of the report with summary and conclusion around them, where there are any."""
    sections = [section for section in composed.sections if (section.text or "").strip()]
    script = language[:2]
    if composed.summary.strip():
        sections.insert(0, Section(id="summary", title=SUMMARY.get(script, "Summary"), text=composed.summary))
    if composed.conclusion.strip():
        title = CONCLUSION.get(script, "Conclusion")
        sections.append(Section(id="conclusion", title=title, text=composed.conclusion))
    return tuple(sections)


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: Writing(),
        PluginSettings,
        "Composes the report from its sections",
        needs=(QUESTION, PLAN, SECTIONS),
        wants=(EVIDENCE, SOURCES, FOUND, UNREAD),
        gives=(REPORT,),
        closing=True,
    )
