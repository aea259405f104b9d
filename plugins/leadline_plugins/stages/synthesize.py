"""Stage `synthesize`: selects passages for each section of the plan and has all sections written concurrently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from leadline.contracts import Run
from leadline.display import shortened
from leadline.errors import NoEvidence
from leadline.findings import Findings
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Document, Evidence, Section, SectionRequest, Source
from leadline.research_findings import (
    DIGEST,
    EVIDENCE,
    FOUND,
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
from leadline.settings import Settings
from leadline.workers import compute
from leadline_plugins.documents.ranking import reordered, scored
from leadline_plugins.documents.text_index import full_text
from leadline_plugins.duplicates import copies
from leadline_plugins.passages.cutting import tokens_of
from leadline_plugins.passages.ranking import KeyQuestion, Ranked, cosine, ranked
from leadline_plugins.passages.selection import select
from leadline_plugins.prompting.fallback import model_writes, notify
from leadline_plugins.prompting.inputs import known_text
from leadline_plugins.prompting.lengths import FRAME, is_long, report_length
from leadline_plugins.verification.verdicts import prejudge
from leadline_plugins.writing.methodology import failed_engines

# With `preset = "full"`, the share of the fetched text to select; the promise is .16.
_FULL_SHARE = 0.17
# The stage that removes repeated statements, and has the claims judged after that.
CONDENSE = "condense"
# The share of `budget.tokens` that passages may use.
_BUDGET_SHARE = 0.4
# Passages that a brief chooses from.
_BRIEF_PASSAGES = 50


class SynthesizeStage:
    """Has each section written from the passages that answer its key questions."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Set the sections. Raises `NoEvidence` if nothing answers the question."""
        sources, question, found = findings[SOURCES], findings[QUESTION], findings[EVIDENCE]
        evidence = await without_copies(found, sources)
        searches, unread = findings[FOUND], findings[UNREAD]
        meant = f"did you mean: {suggested}" if (suggested := suggested_question(searches)) else ""
        if not evidence:
            reason = no_evidence(question, searches, sources, unread)
            raise NoEvidence("; ".join(filter(None, (reason, meant))))
        tasks = findings[TASKS]
        requests = await section_requests(findings[PLAN], question, evidence, sources, tasks, findings.get(DIGEST), run)
        sections = await run.each(requests, lambda request: _write_section(request, sources, run))
        kept = tuple(section for section in sections if (section.text or "").strip())
        missing = list(dict.fromkeys(gap for section in sections for gap in section.unanswered))
        if not kept:
            raise NoEvidence("; ".join(filter(None, (no_answer(missing or [question.text]), meant))))
        for notice in dict.fromkeys(section_notices(findings[PLAN], requests, sections)):
            await notify(run, notice)
        if missing and meant:
            await notify(run, meant)
        findings[SECTIONS] = kept


def suggested_question(found: Sequence[Found]) -> str:
    """Return the first query in the spelling that an engine suggests; later rounds search with words of documents."""
    return next((one.suggestion for one in found if one.suggestion and one.task.round < 2), "")


async def _write_section(request: SectionRequest, sources: Sequence[Source], run: Run) -> Section:
    """Return a section; unless a later stage changes it, its claims are judged at once."""
    section = await run.synthesize(request)
    if section.text and run.settings.report.write == "compose" and CONDENSE not in run.stages:
        run.prefetch(prejudge(run, (section,), request.evidence, sources, request.language))
    return section


async def without_copies(evidence: Sequence[Evidence], sources: Sequence[Source]) -> tuple[Evidence, ...]:
    """Return the evidence; of pages with nearly the same text only the passages of the best source."""
    best_first = sorted(sources, key=lambda source: source.tier)
    same = await copies((source.id, source.document.text) for source in best_first)
    return tuple(item for item in evidence if item.source_id not in same)


async def section_requests(
    plan: Plan,
    question: Question,
    evidence: Sequence[Evidence],
    sources: Sequence[Source],
    tasks: Sequence[SearchTask],
    digest: Digest | None,
    run: Run,
) -> list[SectionRequest]:
    """Return the inputs of each section; sections without a passage are left out."""
    if not await model_writes(run):
        return await _brief_request(plan, question, evidence, sources, run)
    asked = [_key_questions(section, question, tasks) for section in plan.sections]
    rankings = await ranked(evidence, sources, [one for questions in asked for one in questions], run)
    own = _by_section(rankings, asked)
    counts = [len(section.questions) for section in plan.sections]
    # In a worker: a few hundred pages have thousands of passages.
    chosen = await compute(select_passages, evidence, own, _token_budget(counts, sources, run.settings))
    length = report_length(run.settings, question.language)
    length = round(length * (1 - FRAME)) if is_long(run.settings) else length
    written = sum(map(bool, chosen))
    outline = tuple(Section(id=one.id, title=one.title, notes=one.goal) for one in plan.sections)
    shared = {source.id: _without_text(source) for source in sources}
    requests = []
    for section, passages in zip(plan.sections, chosen, strict=True):
        if not passages:
            continue
        used = {item.source_id for item in passages}
        ids = tuple(item.id for item in passages)
        requests.append(
            SectionRequest(
                section=Section(id=section.id, title=section.title, evidence_ids=ids, notes=section.goal),
                evidence=tuple(passages),
                sources=tuple(shared[source.id] for source in sources if source.id in used),
                outline=outline,
                question=question.text,
                language=question.language,
                length=length // written,
                questions=section.questions,
                assumptions=question.assumptions,
                digest=known_text(digest),
            )
        )
    return requests


async def _brief_request(
    plan: Plan, question: Question, evidence: Sequence[Evidence], sources: Sequence[Source], run: Run
) -> list[SectionRequest]:
    """Return the one request of a report without a model: the best passages for the question, or none."""
    titles = {source.id: source.hit.title or source.document.title for source in sources}
    best = await compute(scored, evidence, titles, question.topic, _BRIEF_PASSAGES)
    if not best:
        return []
    if embedder := run.settings.ai.embedder:
        texts = [full_text(titles.get(item.source_id, ""), item) for item in best]
        asked, *vectors = (await run.embed([question.topic, *texts], embedder)).vectors
        best = reordered(best, [cosine(asked, vector) for vector in vectors])
    used = {item.source_id for item in best}
    section = plan.sections[0]
    return [
        SectionRequest(
            section=Section(id=section.id, title=section.title, evidence_ids=tuple(item.id for item in best)),
            evidence=tuple(best),
            sources=tuple(_without_text(source) for source in sources if source.id in used),
            question=question.text,
            language=question.language,
            length=run.settings.report.length,
            questions=(question.topic,),
        )
    ]


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


def _by_section(rankings: Sequence[Ranked], asked: Sequence[Sequence[KeyQuestion]]) -> list[Sequence[Ranked]]:
    found, start = [], 0
    for questions in asked:
        found.append(rankings[start : start + len(questions)])
        start += len(questions)
    return found


@dataclass(frozen=True)
class TokenBudget:
    """The tokens of each section, and of all; below `characters` of selected text, sections get more."""

    sections: Sequence[float]
    most: float = inf
    characters: float = 0.0


def _token_budget(counts: Sequence[int], sources: Sequence[Source], settings: Settings) -> TokenBudget:
    """Return the budget of sections with these numbers of key questions.

    With `preset = "full"` a share of the fetched text is to be selected, as far as `budget.tokens` allows.
    """
    tokens = [float(settings.research.section_tokens * max(1, count)) for count in counts]
    most = settings.budget.tokens * _BUDGET_SHARE
    if sum(tokens) > most:
        tokens = [one * most / sum(tokens) for one in tokens]
    aim = _FULL_SHARE * sum(len(source.document.text) for source in sources) if settings.preset == "full" else 0.0
    return TokenBudget(tokens, most, aim)


def select_passages(
    evidence: Sequence[Evidence], own: Sequence[Sequence[Ranked]], budget: TokenBudget
) -> list[list[Evidence]]:
    """Return the passages of each section, best first; `own` are the rankings of its key questions."""
    tokens = budget.sections
    chosen = [select(evidence, *one) for one in zip(own, tokens, strict=True)]
    while _characters(chosen) < budget.characters and sum(tokens) * 1.25 <= budget.most:
        tokens = [one * 1.25 for one in tokens]
        more = [select(evidence, *one) for one in zip(own, tokens, strict=True)]
        if _characters(more) == _characters(chosen) and sum(tokens) > sum(map(_tokens, more)) * 2:
            return more  # no other passage shares a word with the questions
        chosen = more
    return chosen


def _characters(chosen: Sequence[Sequence[Evidence]]) -> int:
    distinct: Mapping[str, int] = {item.id: len(item.quote) for section in chosen for item in section}
    return sum(distinct.values())


def _tokens(passages: Sequence[Evidence]) -> float:
    return sum(tokens_of(item.quote) for item in passages)


def section_notices(plan: Plan, requests: Sequence[SectionRequest], sections: Sequence[Section]) -> Iterator[str]:
    """Yield a notice for each section without passages or text, and for each unanswered question."""
    asked = {request.section.id for request in requests}
    for planned in plan.sections:
        if planned.id not in asked:
            yield f"section '{planned.title}' was left out: no passage was found for it"
    for section in sections:
        yield from section.notices
        yield from (f"section '{section.title}' was not written: {reason}" for reason in section.unwritten)
        yield from (f"not found in the passages read: {gap}" for gap in section.unanswered)


def no_evidence(question: Question, found: Sequence[Found], sources: Sequence[Source], unread: Sequence[Unread]) -> str:
    """Return the reason for a report without evidence, with the first failure."""
    if sources:
        return f"none of the {len(sources)} pages read has any text to cite for: {question.text}"
    if unread:
        return f"none of the {len(unread)} pages found could be read; the first: {unread[0].reason}"
    failed = [item.failure for item in found if item.failure]
    if failed and len(failed) == len(found):
        return f"every search failed ({len(found)}); the first: {failed[0]}"
    kept = "nothing that can be cited" if any(item.hits for item in found) else "nothing"
    engines = [f"{one['engine']} failed in {one['searches']}: {one['reason']}" for one in failed_engines(found)]
    failures = [f"{len(failed)} of {len(found)} searches failed; the first: {failed[0]}"] if failed else engines
    return "; ".join([f"{kept} was found for: {question.text}", *failures])


def no_answer(gaps: Sequence[str]) -> str:
    """Return the reason for a report whose passages answer nothing; a model may have made up long gaps."""
    return f"no source found answers: {shortened('; '.join(gaps))}"


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: SynthesizeStage(),
        PluginSettings,
        "Selects passages for each section and has all sections written side by side",
        needs=(QUESTION, PLAN),
        wants=(EVIDENCE, SOURCES, TASKS, DIGEST, FOUND, UNREAD),
        gives=(SECTIONS,),
        closing=True,
    )
