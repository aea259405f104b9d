"""Stage `synthesize`: selects passages for each section of the plan and has all sections written side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leadline.contracts import Context, Run
from leadline.errors import NoEvidence
from leadline.findings import (
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
    Findings,
    Found,
    Plan,
    PlannedSection,
    Question,
    SearchTask,
    Unread,
)
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Document, Evidence, Section, SectionRequest, Source
from leadline_plugins.duplicates import copies
from leadline_plugins.passages import KeyQuestion, ranked, select, tokens_of
from leadline_plugins.passages.rank import Ranked
from leadline_plugins.stages.degrade import tell
from leadline_plugins.stages.method import failed_engines
from leadline_plugins.stages.rounds import writes
from leadline_plugins.text import is_cjk
from leadline_plugins.verification.verdicts import prejudge

LENGTH, CJK_LENGTH = 3_300, 6_600
"""Words (Chinese, Japanese: characters) of a report whose length is not set."""
_RETENTION = 0.17
"""With `preset = "full"`, the share of the fetched text that reaches the writers at least; the aim is .16."""
_OF_BUDGET = 0.4
"""The share of the budget of tokens that passages may use."""
_FOR_BRIEF = 20_000
"""Tokens of passages that a brief is made from: they cost nothing."""


class Synthesis:
    """Writes each section from the passages that answer its key questions; a passage may serve several sections."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Set the sections. Raises `NoEvidence` where nothing answers the question."""
        sources, question, found = findings[SOURCES], findings[QUESTION], findings[EVIDENCE]
        evidence = await without_copies(found, sources)
        if not evidence:
            searches, unread = findings[FOUND], findings[UNREAD]
            raise NoEvidence(no_evidence(question, searches, sources, unread))
        tasks = findings[TASKS]
        requests = await requests_for(findings[PLAN], question, evidence, sources, tasks, findings.get(DIGEST), run)
        sections = await run.each(requests, lambda request: _written(request, sources, run))
        kept = tuple(section for section in sections if (section.text or "").strip())
        missing = list(dict.fromkeys(gap for section in sections for gap in section.unanswered))
        if not kept:
            told = "; ".join(missing) or question.text
            raise NoEvidence(f"nothing that was found answers: {told}")
        for notice in dict.fromkeys(_notices(findings[PLAN], requests, sections)):
            await tell(run, notice)
        findings[SECTIONS] = kept


async def _written(request: SectionRequest, sources: Sequence[Source], run: Run) -> Section:
    """Return a section; its claims are judged while others are written, unless the report is rewritten as a whole."""
    section = await run.synthesize(request)
    if section.text and run.settings.report.write == "compose":
        run.ahead(prejudge(run, (section,), request.evidence, sources, request.language))
    return section


async def without_copies(evidence: Sequence[Evidence], sources: Sequence[Source]) -> tuple[Evidence, ...]:
    """Return the evidence; of pages that say nearly the same only that of the best source."""
    best_first = sorted(sources, key=lambda source: source.tier)
    same = await copies((source.id, source.document.text) for source in best_first)
    return tuple(item for item in evidence if item.source_id not in same)


async def requests_for(
    plan: Plan,
    question: Question,
    evidence: Sequence[Evidence],
    sources: Sequence[Source],
    tasks: Sequence[SearchTask],
    digest: Digest | None,
    run: Run,
) -> list[SectionRequest]:
    """Return what each section is written from; sections without a passage are left out."""
    chat = await writes(run)
    asked = [_questions(section, question, tasks if chat else ()) for section in plan.sections]
    rankings = await ranked(evidence, sources, [one for questions in asked for one in questions], run)
    own = _by_section(rankings, asked)
    counts = [len(section.questions) for section in plan.sections]
    chosen = (
        _selected(evidence, own, counts, sources, run) if chat else [select(evidence, one, _FOR_BRIEF) for one in own]
    )
    length = run.settings.report.length or (CJK_LENGTH if is_cjk(question.language) else LENGTH)
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
                digest=digest.synthesis if digest else "",
            )
        )
    return requests


def _without_text(source: Source) -> Source:
    """Return a source without the text of its document: what a writer needs of it stands in the passages."""
    return source.model_copy(update={"document": Document(text="", title=source.document.title)})


def _questions(section: PlannedSection, question: Question, tasks: Sequence[SearchTask]) -> list[KeyQuestion]:
    """Return the key questions of a section; where it has none, its title and goal are one.

    The searches made for the section are one more: they have the words of pages, where questions have those of people.
    """
    texts = section.questions or (" ".join(filter(None, (section.title, section.goal))),)
    searched = " ".join(task.query for task in tasks if task.section == section.id)
    return [KeyQuestion(text, question.text) for text in (*texts, *filter(None, [searched]))]


def _by_section(rankings: Sequence[Ranked], asked: Sequence[Sequence[KeyQuestion]]) -> list[Sequence[Ranked]]:
    found, start = [], 0
    for questions in asked:
        found.append(rankings[start : start + len(questions)])
        start += len(questions)
    return found


def _selected(
    evidence: Sequence[Evidence],
    own: Sequence[Sequence[Ranked]],
    counts: Sequence[int],
    sources: Sequence[Source],
    run: Run,
) -> list[list[Evidence]]:
    """Return the passages of each section, best first, within the budget of tokens; `counts` are its key questions.

    With `preset = "full"` the budgets grow until the aimed share of the fetched text is selected, or the run's budget
    of tokens allows no more.
    """
    settings = run.settings
    budgets = [float(settings.research.section_tokens * max(1, count)) for count in counts]
    most = settings.budget.tokens * _OF_BUDGET
    if sum(budgets) > most:
        budgets = [tokens * most / sum(budgets) for tokens in budgets]
    chosen = [select(evidence, one, tokens) for one, tokens in zip(own, budgets, strict=True)]
    if settings.preset != "full":
        return chosen
    aim = _RETENTION * sum(len(source.document.text) for source in sources)
    while _characters(chosen) < aim and sum(budgets) * 1.25 <= most:
        budgets = [tokens * 1.25 for tokens in budgets]
        more = [select(evidence, one, tokens) for one, tokens in zip(own, budgets, strict=True)]
        if _characters(more) == _characters(chosen) and sum(budgets) > sum(map(_tokens, more)) * 2:
            return more  # nothing else shares a word with the questions
        chosen = more
    return chosen


def _characters(chosen: Sequence[Sequence[Evidence]]) -> int:
    distinct: Mapping[str, int] = {item.id: len(item.quote) for section in chosen for item in section}
    return sum(distinct.values())


def _tokens(passages: Sequence[Evidence]) -> float:
    return sum(tokens_of(item.quote) for item in passages)


def _notices(plan: Plan, requests: Sequence[SectionRequest], sections: Sequence[Section]) -> Iterator[str]:
    """Yield what is missing: sections without passages or without a text, questions that the sources do not answer."""
    asked = {request.section.id for request in requests}
    for planned in plan.sections:
        if planned.id not in asked:
            yield f"section '{planned.title}' was left out: no passage was found for it"
    for section in sections:
        yield from section.notices
        yield from (f"section '{section.title}' was not written: {reason}" for reason in section.unwritten)
        yield from (f"not answered by the sources: {gap}" for gap in section.unanswered)


def no_evidence(question: Question, found: Sequence[Found], sources: Sequence[Source], unread: Sequence[Unread]) -> str:
    """Return why there is no evidence, with the first failure where something failed."""
    if sources:
        return f"none of the {len(sources)} pages read has any text to cite on: {question.text}"
    if unread:
        return f"none of the {len(unread)} pages found could be read; the first: {unread[0].reason}"
    failed = [item.failure for item in found if item.failure]
    if failed and len(failed) == len(found):
        return f"every search failed ({len(found)}); the first: {failed[0]}"
    kept = "nothing that can be cited" if any(item.hits for item in found) else "nothing"
    engines = [f"{one['engine']} failed in {one['searches']}: {one['reason']}" for one in failed_engines(found)]
    failures = [f"{len(failed)} of {len(found)} searches failed; the first: {failed[0]}"] if failed else engines
    return "; ".join([f"{kept} was found on: {question.text}", *failures])


def _make(settings: PluginSettings, context: Context) -> Synthesis:
    return Synthesis()


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        _make,
        PluginSettings,
        "Selects passages for each section and has all sections written side by side",
        needs=(QUESTION, PLAN),
        wants=(EVIDENCE, SOURCES, TASKS, DIGEST, FOUND, UNREAD),
        gives=(SECTIONS,),
        closing=True,
    )
