"""Stage `synthesize`: the evidence sorted into the plan's sections, each written from its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from leadline.computing import compute
from leadline.contracts import Run
from leadline.errors import NoEvidence
from leadline.findings import (
    EVIDENCE,
    FOUND,
    PLAN,
    QUESTION,
    SECTIONS,
    SOURCES,
    TASKS,
    UNREAD,
    Findings,
    Plan,
    PlannedSection,
    Question,
)
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Evidence, Section, SectionRequest, Source
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.duplicates import copies
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import less_to_sort
from leadline_plugins.stages import material
from leadline_plugins.stages.degrade import perform_or, tell
from leadline_plugins.stages.extract import unused
from leadline_plugins.stages.gaps import answering, told, unanswered, unwritten
from leadline_plugins.stages.lengths import lengths
from leadline_plugins.stages.nothing import nothing
from leadline_plugins.stages.sorting import known, unusable
from leadline_plugins.stages.unsure import PLACE, settled
from leadline_plugins.tasks.sorting import Sorted, SortedSection, SortRequest
from leadline_plugins.text import is_cjk

ASK = TaskKind("sort", SortRequest, Sorted, template("sort"), shrink=less_to_sort, check=unusable, expects=expect.sort)


class Synthesis:
    """Sorts first, so that nothing is said twice; then all sections are written side by side."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Give the sections; raises `NoEvidence` where nothing answers the question."""
        sources, question, found = findings[SOURCES], findings[QUESTION], findings[EVIDENCE]
        evidence, unread = await of_originals(found, sources), findings.get(UNREAD) or ()
        if lost := unused(unread, sources, found):
            await tell(run, lost)
        if not evidence:
            searches = findings[FOUND]
            raise NoEvidence(lost or nothing(question, searches, sources, unread))
        chat = await material.written(run)
        most = material.most_words(run.settings, len(findings[TASKS]), cjk=is_cjk(question.language))
        length = material.length(run, question.language)
        request = SortRequest(
            question=question,
            plan=findings[PLAN],
            evidence=evidence,
            sources=sources,
            length=run.settings.report.length,
            tasks=findings[TASKS],
            material=material.words(sources, question.language, most, length) if chat else 0,
        )
        plan = await sorting(request, run)
        if chat:
            plan = await settled(plan, request, run)
            plan, shorter = lengths(plan, evidence, question, run)
            if shorter:
                await tell(run, shorter)
        requests = requests_for(plan, question, evidence, sources)
        if empty := left_out(findings[PLAN], requests) if chat else ():
            await tell(run, f"nothing that answers it was found for {', '.join(empty)}: left out")
        sections = await run.each(requests, run.synthesize)
        if not (kept := answering(sections)):
            missing = told(dict.fromkeys(gap for section in sections for gap in section.unanswered))
            raise NoEvidence(f"nothing that was found answers the question: {missing}")
        others = [notice for section in sections for notice in section.notices]
        less = material.shortfall(request, sections, run.settings) if chat else ""
        gaps = await compute(unanswered, sections, evidence) if any(section.unanswered for section in sections) else ()
        for notice in dict.fromkeys((*unwritten(sections), *others, *gaps, *filter(None, [less]))):
            await tell(run, notice)
        findings[SECTIONS] = kept


async def sorting(request: SortRequest, run: Run) -> Sorted:
    """Return the evidence, sorted; raises `NoEvidence` where it does not answer the question."""
    saying = "the evidence was not sorted: one synthesis over all"
    said = await perform_or(run, ASK.of(request), unsorted(request), saying, closing=True)
    plan = known(said, request)
    if not plan.answers or not (plan.sections or any(part.evidence_ids for part in said.sections)):
        raise NoEvidence(plan.reason or "what was found does not answer the question")
    if not plan.sections:
        await tell(run, f"{saying} (all of the evidence that was named is unknown)")
    return plan if plan.sections else unsorted(request)


async def of_originals(evidence: tuple[Evidence, ...], sources: Sequence[Source]) -> tuple[Evidence, ...]:
    """Return the evidence, of pages that say nearly the same only that of the best source."""
    best_first = sorted(sources, key=lambda source: source.tier)
    same = await copies((source.id, source.document.text) for source in best_first)
    return tuple(item for item in evidence if item.source_id not in same)


def unsorted(request: SortRequest) -> Sorted:
    """Return all evidence under one section."""
    section = PlannedSection(id="1", title=request.question.text)
    ids = tuple(item.id for item in sorted(request.evidence, key=lambda item: -item.score))
    return Sorted(sections=(SortedSection(section=section, evidence_ids=ids, length=request.length),))


def left_out(plan: Plan, requests: Sequence[SectionRequest]) -> tuple[str, ...]:
    """Return the titles of planned sections that nothing is written for, where the plan stands."""
    written, planned = {request.section.id for request in requests}, {section.id for section in plan.sections}
    if not written <= planned:
        return ()
    return tuple(f"'{section.title}'" for section in plan.sections if section.id not in written)


def requests_for(
    plan: Sorted, question: Question, evidence: tuple[Evidence, ...], sources: tuple[Source, ...]
) -> list[SectionRequest]:
    """Return what each section is written from: its own evidence, and the sources of that."""
    by_id = {item.id: item for item in evidence}
    outline = tuple(Section(id=part.section.id, title=titled(part.section, question)) for part in plan.sections)
    requests = []
    for part in plan.sections:
        own = tuple(by_id[name] for name in part.evidence_ids if name in by_id)
        of_own = {item.source_id for item in own}
        section = Section(
            id=part.section.id,
            title=titled(part.section, question),
            evidence_ids=tuple(item.id for item in own),
            notes=part.section.goal,
        )
        if own:
            requests.append(
                SectionRequest(
                    section=section,
                    evidence=own,
                    sources=tuple(source for source in sources if source.id in of_own),
                    outline=outline,
                    question=question.text,
                    language=question.language,
                    length=part.length,
                    questions=part.section.questions,
                    assumptions=question.assumptions,
                )
            )
    return requests


def titled(section: PlannedSection, question: Question) -> str:
    """Return the title of a section; where the plan gives none, what it is to say."""
    given = (section.title, section.goal, *section.questions, question.text)
    return next((text for text in given if re.search(r"\w", text)), section.title)


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: Synthesis(),
        PluginSettings,
        "Sorts the evidence into sections and has each written, side by side",
        needs=(QUESTION, PLAN),
        wants=(EVIDENCE, SOURCES, TASKS, FOUND, UNREAD),
        gives=(SECTIONS,),
        tasks=(ASK, PLACE),
        closing=True,
    )
