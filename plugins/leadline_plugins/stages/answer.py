"""Stage `answer`: one answer to the question from the passages found, written in one call."""

from __future__ import annotations

from leadline.contracts import StageRun
from leadline.errors import NoEvidence
from leadline.findings import Findings
from leadline.plugin import stage
from leadline.records import Report, Section, Text
from leadline.research_findings import (
    EVIDENCE,
    FOUND,
    QUESTION,
    REPORT,
    REVIEW,
    SOURCES,
    TASKS,
    UNREAD,
    Digest,
    Review,
)
from leadline_plugins.prompting.fallback import notify
from leadline_plugins.prompting.inputs import single_section_plan
from leadline_plugins.stages.synthesize import (
    Inquiry,
    collected,
    no_answer,
    no_evidence,
    section_notices,
    suggested_question,
    synthesis_request,
    without_copies,
)
from leadline_plugins.stages.write import reported_evidence
from leadline_plugins.wording.phrases import phrase
from leadline_plugins.writing.methodology import count_shown_sources, method_facts


@stage(
    "Answers the question from the passages found, in one call",
    needs=(QUESTION,),
    wants=(EVIDENCE, SOURCES, TASKS, FOUND, UNREAD, REPORT),
    gives=(REPORT,),
    may_give=(REVIEW,),
    ends_loop=True,
    closing=True,
)
class AnswerStage:
    """Has the synthesizer write one section that answers the question, and makes it the report.

    In a loop, the parts that the passages do not answer are the gaps for the next round, which extends the answer;
    without any, the loop ends.
    """

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Set the report. Raises `NoEvidence` if nothing answers the question and no round is left."""
        question, sources, passages, tasks = findings[QUESTION], findings[SOURCES], findings[EVIDENCE], findings[TASKS]
        evidence, plan = await without_copies(passages, sources), single_section_plan(question)
        book = await collected(Inquiry(question, plan, tasks), evidence, sources, Digest(), run)
        last, sections = findings.get(REPORT), tuple[Section, ...]()
        earlier = last.sections if last else ()
        if book.evidence:
            request = synthesis_request(question, plan, book, run)
            names = tuple(section.id for section in book.outline)
            request = request.model_copy(update={"sections": names, "written": earlier})
            sections = (await run.synthesize(request)).sections
        written = [section for section in sections if (section.text or "").strip()] or list(earlier)
        gaps = tuple(dict.fromkeys(gap for section in sections for gap in section.unanswered))
        if not written and not run.rounds_left:
            raise NoEvidence(_reason(findings, gaps))
        if gaps or not written:
            findings[REVIEW] = Review(priority_gaps=gaps or (question.text,))
        else:
            findings.end_loop("the question is answered")
        if written and not (gaps and run.rounds_left):
            for notice in dict.fromkeys(section_notices(plan, [section.id for section in book.outline], sections)):
                await notify(run, notice)
        findings[REPORT] = await _report(findings, written, gaps, run)
        if written:
            await run.emit(
                "message", {"kind": "report", "text": "\n\n".join(section.text or "" for section in written)}
            )


async def _report(findings: Findings, written: list[Section], gaps: tuple[Text, ...], run: StageRun) -> Report:
    """Return the report; without a text it has no sources, so that the run ends without evidence."""
    question, evidence, sources = findings[QUESTION], findings[EVIDENCE], findings[SOURCES]
    searches, unread = findings[FOUND], findings[UNREAD]
    title = phrase("answer", question.language)
    sections = tuple(it if it.quotes else it.model_copy(update={"title": title}) for it in written)
    facts = method_facts(question, searches, sources, unread, run.notices)
    facts["sources_used"] = count_shown_sources(written, evidence)
    return Report(
        title=question.text,
        language=question.language,
        sections=sections,
        sources=sources if written else (),
        evidence=reported_evidence(evidence, written, sections, ()),
        metadata={"question": question.text, "created": run.now().isoformat(), "method": facts},
    )


def _reason(findings: Findings, gaps: tuple[Text, ...]) -> str:
    question, sources, unread, searches = findings[QUESTION], findings[SOURCES], findings[UNREAD], findings[FOUND]
    reason = no_answer(gaps) if findings[EVIDENCE] and gaps else no_evidence(question, searches, sources, unread)
    meant = suggested_question(searches)
    return f"{reason}; did you mean: {meant}" if meant else reason
