"""Stage `digest`: reviews all rounds so far, names the conflicts of sources, and proposes the next searches.

One reply of a model does all three. Without a model the digest stays empty.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from leadline.contracts import Run
from leadline.findings import Findings
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Conflict, Evidence, Source
from leadline.research_findings import (
    DIGEST,
    EVIDENCE,
    FOUND,
    PLAN,
    QUESTION,
    SOURCES,
    TASKS,
    Digest,
    Plan,
    Review,
    SectionReview,
)
from leadline.tasks import TaskKind
from leadline.workers import compute
from leadline_plugins.passages.ranking import KeyQuestion
from leadline_plugins.passages.selection import select_passages
from leadline_plugins.prompting import estimates
from leadline_plugins.prompting.fallback import perform_or
from leadline_plugins.prompting.inputs import past_searches, question_input, start_date, template
from leadline_plugins.prompting.numbered_passages import ShownSource, group_by_source, ids_by_number
from leadline_plugins.prompting.research_tasks import DIGEST_EXAMPLE, DIGEST_SCHEMA, DigestReply, DigestRequest
from leadline_plugins.prompting.shrinking import halve_shown_passages
from leadline_plugins.stages.plan import publish
from leadline_plugins.stages.prefetch import SearchPrefetch, can_prefetch
from leadline_plugins.stages.query import query_limit, section_ids
from leadline_plugins.stages.review import evidence_of_last_round

# The share of `research.evidence_tokens` that the prompt shows; characters of all headings.
_SHARE, _HEADINGS = 1 / 3, 4_000

TASK = TaskKind(
    "digest",
    DigestRequest,
    DigestReply,
    template("digest"),
    schema=DIGEST_SCHEMA,
    example=DIGEST_EXAMPLE,
    show=DigestRequest.as_text,
    shrink=halve_shown_passages,
    shows=("synthesis",),
    expects=estimates.digest,
)


class DigestStage:
    """Keeps one digest of all rounds so far, and adds the key questions that the plan turns out to lack.

    The model is called only if its reply can change something: another round may follow, and this one found passages.
    Otherwise the last digest stays.
    """

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Set the digest."""
        tasks = findings[TASKS]
        last, number = findings.get(DIGEST), tasks[-1].round if tasks else 1
        new = evidence_of_last_round(findings[EVIDENCE], tasks) if tasks else []
        limit = query_limit(len(tasks), run) if run.rounds_left > 0 else 0
        repeated = last is not None and last.round == number
        wanted = not repeated and (last is None or (limit > 0 and bool(new))) and await run.by_chat(TASK.name)
        digest = (last or Digest()).model_copy(update={"queries": (), "round": number})
        if wanted:
            digest = await self._made(findings, run, digest, limit if new else 0)
        findings[DIGEST] = digest

    async def _made(self, findings: Findings, run: Run, last: Digest, limit: int) -> Digest:
        question, plan, tasks, sources = findings[QUESTION], findings[PLAN], findings[TASKS], findings[SOURCES]
        evidence = findings[EVIDENCE]
        shown = group_by_source(await _best_passages(evidence, sources, plan, last, run), sources)
        request = DigestRequest(
            question=question_input(question),
            plan=plan.model_copy(update={"queries": ()}),
            limit=limit,
            last=last,
            past=past_searches(findings[FOUND], sources) if limit else (),
            pages=await compute(page_headings, sources, evidence),
            sources=shown,
            today=start_date(run),
        )
        task, failed = TASK.of(request), DigestReply()
        if limit and await can_prefetch(TASK, run):
            task = replace(task, heard=SearchPrefetch(question, run, tasks, sources).receive)
        reply = await perform_or(run, task, failed, "this round was not summarized")
        if reply is failed:
            return last.model_copy(update={"review": None})
        extended = with_questions(plan, reply)
        if extended != plan:
            findings[PLAN] = extended
            await publish(extended, run)
        conflicts = merge_conflicts(last.conflicts, reply, shown)
        return merge_reply(reply, last, plan).model_copy(update={"round": last.round, "conflicts": conflicts})


async def _best_passages(
    evidence: Sequence[Evidence], sources: Sequence[Source], plan: Plan, last: Digest, run: Run
) -> list[Evidence]:
    """Return the best passages of all rounds for each key question, and for the gaps of the last digest."""
    texts = [section.questions or (f"{section.title} {section.goal}",) for section in plan.sections]
    asked = [[KeyQuestion(text, run.question) for text in group] for group in (*texts, last.knowledge_gaps) if group]
    research = run.settings.research
    most = research.evidence_tokens * _SHARE
    chosen = await select_passages(evidence, sources, asked, research.section_tokens, most, run)
    return list({item.id: item for section in chosen for item in section}.values())


def page_headings(sources: Sequence[Source], evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Return the titles of all pages read, each with the headings of its passages."""
    headings: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for item in evidence:
        headings[item.source_id].update(dict.fromkeys(item.path[-1:]))
    share = _HEADINGS / max(1, len(sources))
    return tuple(f"{source.hit.title}: {'; '.join(_within(headings[source.id], share))}" for source in sources)


def _within(texts: Iterable[str], characters: float) -> Iterator[str]:
    """Yield whole texts while they fit."""
    for text in texts:
        characters -= len(text)
        if characters < 0:
            return
        yield text


def merge_reply(reply: DigestReply, last: Digest, plan: Plan) -> Digest:
    """Return the digest of a reply; empty fields keep their last value."""
    section_id = section_ids(plan)
    added = (question for section in reply.sections for question in section.questions)
    gaps = tuple(dict.fromkeys((*(query.goal or query.query for query in reply.queries), *added)))
    review = Review(sections=reply.sections, is_sufficient=reply.is_sufficient, priority_gaps=gaps)
    review = _completed(review, plan)
    return Digest(
        synthesis=reply.synthesis or last.synthesis,
        section_coverage={section.id: section.coverage for section in review.sections},
        knowledge_gaps=gaps,
        cross_links=tuple(dict.fromkeys((*last.cross_links, *reply.cross_links))),
        review=review,
        queries=tuple(query.model_copy(update={"section": section_id(query.section)}) for query in reply.queries),
    )


def with_questions(plan: Plan, reply: DigestReply) -> Plan:
    """Return the plan with the key questions that a reply adds to its sections."""
    section_id = section_ids(plan)
    new = {section_id(section.id): section.questions for section in reply.sections}
    sections = (
        section.model_copy(update={"questions": tuple(dict.fromkeys((*section.questions, *new.get(section.id, ()))))})
        for section in plan.sections
    )
    return plan.model_copy(update={"sections": tuple(sections)})


def merge_conflicts(last: Sequence[Conflict], reply: DigestReply, shown: Sequence[ShownSource]) -> tuple[Conflict, ...]:
    """Return the conflicts of all rounds: a newer one replaces those whose passages it repeats.

    Passages of one source are no conflict.
    """
    known, of = ids_by_number(shown), {one.id: source.id for source in shown for one in source.passages}
    new = [
        Conflict(
            about=one.about,
            evidence_ids=tuple(dict.fromkeys(known[number] for number in one.passages if number in known)),
            primary=known.get(one.primary, "") if one.primary in one.passages else "",
        )
        for one in reply.conflicts
    ]
    new = [one for one in new if len({of[name] for name in one.evidence_ids}) > 1]
    repeated = {name for one in new for name in one.evidence_ids}
    return (*(one for one in last if not repeated.issuperset(one.evidence_ids)), *new)


def _completed(review: Review, plan: Plan) -> Review:
    """Return a review of every section of the plan; the reply names only sections that are not covered."""
    section_id = section_ids(plan)
    named = {section_id(one.id): one.model_copy(update={"id": section_id(one.id)}) for one in review.sections}
    covered = (SectionReview(id=section.id, coverage="covered", depth=1.0) for section in plan.sections)
    return review.model_copy(update={"sections": tuple(named.get(one.id, one) for one in covered)})


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: DigestStage(),
        PluginSettings,
        "Reviews all rounds so far: coverage, conflicts, gaps, next queries",
        needs=(QUESTION, PLAN),
        wants=(EVIDENCE, TASKS, FOUND, SOURCES, DIGEST),
        gives=(DIGEST,),
        may_give=(PLAN,),
        tasks=(TASK,),
    )
