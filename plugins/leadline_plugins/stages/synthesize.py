"""Stage `synthesize`: collects the book of evidence, and has the sections of the report written from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from leadline.contracts import StageRun
from leadline.display import shortened
from leadline.errors import NoEvidence
from leadline.findings import Findings
from leadline.plugin import stage
from leadline.records import REPORT_PARTS, Book, Document, Evidence, Notice, Section, Source, SynthesisRequest
from leadline.research_findings import (
    BOOK,
    DIGEST,
    EVIDENCE,
    FOUND,
    PARTS,
    PLAN,
    QUESTION,
    SECTIONS,
    SOURCES,
    TASKS,
    UNREAD,
    Digest,
    Found,
    Plan,
    PlannedSection,
    Question,
    SearchTask,
    Unread,
)
from leadline.workers import compute
from leadline_plugins.documents.ranking import in_order, reordered, scored
from leadline_plugins.documents.text_index import full_text
from leadline_plugins.duplicates import copies
from leadline_plugins.passages.ranking import KeyQuestion, by_reranker, cosine
from leadline_plugins.passages.selection import PassageBudget, select_passages
from leadline_plugins.prompting.fallback import model_writes, notify
from leadline_plugins.prompting.lengths import in_one_call, report_parts, section_length
from leadline_plugins.stages.chart import plan_ahead
from leadline_plugins.verification.verdicts import prejudge
from leadline_plugins.writing.methodology import failed_engines

# Characters to select beyond `research.retention`: the white space between passages counts as fetched.
_MARGIN = 1.06
# The stage that removes repeated statements, and has the claims judged after that.
CONDENSE = "condense"
# The stage whose plan is made while the sections are written.
CHART = "chart"
# The share of `budget.tokens` that passages may use.
_BUDGET_SHARE = 0.4
# Passages that a brief chooses from.
_BRIEF_PASSAGES = 50


@stage(
    "Collects the passages of the report and has its sections written from them",
    needs=(QUESTION, PLAN),
    wants=(EVIDENCE, SOURCES, TASKS, DIGEST, FOUND, UNREAD),
    gives=(BOOK, SECTIONS),
    may_give=(PARTS,),
    closing=True,
)
class SynthesizeStage:
    """Has the sections written: all of a short report in one call, those of a longer one side by side."""

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Set the sections; in one call also the parts around them. Raises `NoEvidence` if nothing answers."""
        question, plan, tasks, digest = findings[QUESTION], findings[PLAN], findings[TASKS], findings.get(DIGEST)
        passages, searches, sources, unread = findings[EVIDENCE], findings[FOUND], findings[SOURCES], findings[UNREAD]
        evidence = await without_copies(passages, sources)
        findings[BOOK] = book = await collected(
            Inquiry(question, plan, tasks), evidence, sources, digest or Digest(), run
        )
        query = suggested_question(searches)
        meant = Notice("did you mean: {query}", "did_you_mean", query=query) if query else None
        planned = [section for section in book.outline if section.evidence_ids]
        if not planned:
            reason = no_evidence(question, searches, sources, unread)
            raise NoEvidence("; ".join(filter(None, (reason, meant))))
        names = [section.id for section in planned]
        if not await model_writes(run):
            calls = [tuple(names)]
        elif in_one_call(run.settings, question.language, len(names)):
            calls = [(*names, *report_parts(run.settings))]
        else:
            calls = [(name,) for name in names]

        async def write(sections: tuple[str, ...]) -> Sequence[Section]:
            written = (await run.synthesize(request.model_copy(update={"sections": sections}))).sections
            if len(calls) > 1 and CONDENSE not in run.stages:  # which may still change them
                await _prejudge(written, findings, run)
            return written

        if CHART in run.stages:
            run.prefetch(plan_ahead(book, question, run))
        request = synthesis_request(question, plan, book, run)
        written = list(chain.from_iterable(await run.each(calls, write)))
        sections = tuple(section for section in written if section.id in names and (section.text or "").strip())
        missing = list(dict.fromkeys(gap for section in written for gap in section.unanswered))
        if not sections:
            raise NoEvidence("; ".join(filter(None, (no_answer(missing or [question.text]), meant))))
        for notice in dict.fromkeys(section_notices(plan, names, written)):
            await notify(run, notice)
        if missing and meant:
            await notify(run, meant)
        findings[SECTIONS] = sections
        findings[PARTS] = tuple(section for section in written if section.id in REPORT_PARTS)


async def _prejudge(written: Sequence[Section], findings: Findings, run: StageRun) -> None:
    """Begin to judge the claims of sections, each in requests of its own."""
    evidence, sources, language = findings[EVIDENCE], findings[SOURCES], findings[QUESTION].language
    for section in written:
        if section.text:
            run.prefetch(prejudge(run, (section,), evidence, sources, language))


def synthesis_request(question: Question, plan: Plan, book: Book, run: StageRun) -> SynthesisRequest:
    """Return the request for a report with this book, without the sections to write."""
    written = [section for section in book.outline if section.evidence_ids]
    return SynthesisRequest(
        book=book,
        sections=(),
        question=question.text,
        language=question.language,
        assumptions=question.assumptions,
        scope=plan.scope,
        form=plan.form,
        length=section_length(run.settings, question.language, max(1, len(written))),
    )


@dataclass(frozen=True)
class Inquiry:
    """A question with its plan, and the searches made for it."""

    question: Question
    plan: Plan
    tasks: Sequence[SearchTask] = ()


async def collected(
    inquiry: Inquiry, evidence: Sequence[Evidence], sources: Sequence[Source], digest: Digest, run: StageRun
) -> Book:
    """Return the book of a plan: the best passages of each section, and those that disagree."""
    if not await model_writes(run):
        return await _brief_book(inquiry, evidence, sources, run)
    plan = inquiry.plan
    asked = [_key_questions(section, inquiry.question, inquiry.tasks) for section in plan.sections]
    research, limit = run.settings.research, run.settings.budget.tokens * _BUDGET_SHARE
    tokens = min(research.evidence_tokens, limit)
    aim = _MARGIN * research.retention * sum(len(source.document.text) for source in sources)
    if aim:
        tokens = limit
    answers = [digest.answers.get(section.id, ()) for section in plan.sections]
    budget = PassageBudget(research.section_tokens, tokens, aim)
    chosen = await select_passages(evidence, sources, asked, budget, run, answers)
    known = {item.id: item for item in evidence}
    met = [conflict for conflict in digest.conflicts if known.keys() >= {*conflict.evidence_ids}]
    disagreeing = [known[name] for conflict in met for name in conflict.evidence_ids]
    passages = _distinct([*chosen, disagreeing])
    outline = tuple(
        Section(
            id=section.id,
            title=section.title,
            notes=": ".join(filter(None, (section.goal, section.grid))),
            questions=section.questions,
            evidence_ids=tuple(item.id for item in passages),
        )
        for section, passages in zip(plan.sections, chosen, strict=True)
    )
    return Book(outline=outline, evidence=passages, sources=_of(passages, sources), conflicts=tuple(met))


def _distinct(chosen: Sequence[Sequence[Evidence]]) -> tuple[Evidence, ...]:
    """Return the passages of all sections, each once: the best of each section first, then the second best."""
    rows = chain.from_iterable(zip_longest(*chosen))
    return tuple({item.id: item for item in rows if item is not None}.values())


def _of(evidence: Sequence[Evidence], sources: Sequence[Source]) -> tuple[Source, ...]:
    used = {item.source_id for item in evidence}
    return tuple(_without_text(source) for source in sources if source.id in used)


async def _brief_book(inquiry: Inquiry, evidence: Sequence[Evidence], sources: Sequence[Source], run: StageRun) -> Book:
    """Return the book of a report without a model: the best passages for the question, in one section."""
    titles = {source.id: source.hit.title or source.document.title for source in sources}
    best = await compute(scored, evidence, titles, inquiry.question.topic, _BRIEF_PASSAGES)
    if best and (embedder := run.settings.ai.embedder):
        texts = [full_text(titles.get(item.source_id, ""), item) for item in best]
        asked, *vectors = (await run.embed([inquiry.question.topic, *texts], embedder)).vectors
        best = reordered(best, [cosine(asked, vector) for vector in vectors])
    if run.settings.ai.reranker and (order := await by_reranker(best, inquiry.question.topic, run)):
        best = in_order(best, order)
    section = inquiry.plan.sections[0]
    outline = Section(id=section.id, title=section.title, evidence_ids=tuple(item.id for item in best))
    return Book(outline=(outline,), evidence=tuple(best), sources=_of(best, sources))


async def without_copies(evidence: Sequence[Evidence], sources: Sequence[Source]) -> tuple[Evidence, ...]:
    """Return the evidence; of pages with nearly the same text only the passages of the best source."""
    best_first = sorted(sources, key=lambda source: source.tier)
    same = await copies((source.id, source.document.text) for source in best_first)
    return tuple(item for item in evidence if item.source_id not in same)


def _without_text(source: Source) -> Source:
    """Return a source without the text of its document, which writers do not need."""
    return source.model_copy(update={"document": Document(text="", title=source.document.title)})


def _key_questions(section: PlannedSection, question: Question, tasks: Sequence[SearchTask]) -> list[KeyQuestion]:
    """Return the key questions of a section; without any, its title and goal.

    The queries of the section's searches are one more: they use the words of pages, questions those of people.
    """
    texts = section.questions or (" ".join(filter(None, (section.title, section.goal))),)
    searched = " ".join(task.query for task in tasks if task.section == section.id)
    return [KeyQuestion(text, question.topic) for text in (*texts, *filter(None, [searched]))]


def suggested_question(searches: Sequence[Found]) -> str:
    """Return the first query in the spelling that an engine suggests; later rounds search with words of documents."""
    return next((search.suggestion for search in searches if search.suggestion and search.task.round < 2), "")


def section_notices(plan: Plan, asked: Sequence[str], sections: Sequence[Section]) -> Iterator[Notice]:
    """Yield a notice for each section without passages or text, and for each unanswered question."""
    for planned in plan.sections:
        if planned.id not in asked:
            left_out = "section '{title}' was left out: no passage was found for it"
            yield Notice(left_out, "left_out", title=planned.title)
    for section in sections:
        yield from section.notices
        not_written = "section '{title}' was not written: {reason}"
        yield from (Notice(not_written, "quotes", title=section.title, reason=reason) for reason in section.unwritten)
        yield from (Notice("not found in the passages read: {gap}", "open", gap=gap) for gap in section.unanswered)


def no_evidence(
    question: Question, searches: Sequence[Found], sources: Sequence[Source], unread: Sequence[Unread]
) -> str:
    """Return the reason for a report without evidence, with the first failure."""
    if sources:
        return f"none of the {len(sources)} pages read has any text to cite for: {question.text}"
    if unread:
        return f"none of the {len(unread)} pages found could be read; the first: {unread[0].reason}"
    failed = [item.failure for item in searches if item.failure]
    if failed and len(failed) == len(searches):
        return f"every search failed ({len(searches)}); the first: {failed[0]}"
    subject = "nothing that can be cited" if any(item.hits for item in searches) else "nothing"
    engines = [
        f"{engine['engine']} failed in {engine['searches']}: {engine['reason']}" for engine in failed_engines(searches)
    ]
    failures = [f"{len(failed)} of {len(searches)} searches failed; the first: {failed[0]}"] if failed else engines
    return "; ".join([f"{subject} was found for: {question.text}", *failures])


def no_answer(gaps: Sequence[str]) -> str:
    """Return the reason for a report whose passages answer nothing; a model may have made up long gaps."""
    return f"no source found answers: {shortened('; '.join(gaps))}"
