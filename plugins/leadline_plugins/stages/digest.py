"""Stage `digest`: merges the passages of a round into the synthesis, reviews it, and proposes the next searches.

One reply of a model does all three. Without a model the digest stays empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from leadline.contracts import Run
from leadline.findings import Findings
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Evidence, Source
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
    SearchTask,
    SectionReview,
)
from leadline.tasks import TaskKind
from leadline_plugins.passages.ranking import KeyQuestion, ranked
from leadline_plugins.passages.selection import select
from leadline_plugins.prompting import estimates
from leadline_plugins.prompting.fallback import perform_or
from leadline_plugins.prompting.inputs import past_searches, question_input, start_date, template
from leadline_plugins.prompting.numbered_passages import group_by_source
from leadline_plugins.prompting.research_tasks import DIGEST_EXAMPLE, DIGEST_SCHEMA, DigestReply, DigestRequest
from leadline_plugins.prompting.shrinking import halve_shown_passages
from leadline_plugins.stages.prefetch import SearchPrefetch, acceptance_check, can_prefetch
from leadline_plugins.stages.query import query_limit, section_ids
from leadline_plugins.stages.review import evidence_of_last_round

# Tokens of the passages in the prompt; the last digest summarizes earlier rounds.
_MAX_TOKENS = 6_000

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
    """Keeps one digest of all rounds so far.

    The model is called only if its reply can change something: another round may follow, and this one found passages.
    Otherwise the last digest stays.
    """

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Set the digest."""
        tasks, evidence = findings[TASKS], findings[EVIDENCE]
        last, number = findings.get(DIGEST), tasks[-1].round if tasks else 1
        new = evidence_of_last_round(evidence, tasks) if tasks else []
        repeated = last is not None and last.round == number
        more = run.rounds_left > 0 and query_limit(len(tasks), run) > 0
        wanted = not repeated and (last is None or (more and bool(new))) and await run.by_chat(TASK.name)
        if not wanted:
            findings[DIGEST] = (last or Digest()).model_copy(update={"queries": (), "round": number})
            return
        findings[DIGEST] = await self._made(findings, run, last or Digest(), more=more, new=new)

    async def _made(self, findings: Findings, run: Run, last: Digest, *, more: bool, new: Sequence[Evidence]) -> Digest:
        question, plan, tasks, sources = findings[QUESTION], findings[PLAN], findings[TASKS], findings[SOURCES]
        best = await _best_passages(new, sources, tasks, plan, last, run)
        request = DigestRequest(
            question=question_input(question),
            plan=plan.model_copy(update={"queries": ()}),
            round=tasks[-1].round if tasks else 1,
            more=more,
            last=last if last.round else None,
            past=past_searches(findings[FOUND], sources) if more else (),
            sources=group_by_source(best, sources),
            today=start_date(run),
        )
        task = TASK.of(request)
        if more and new and await can_prefetch(task, run):
            goes_on = acceptance_check(task, lambda reply: not reply.is_sufficient)
            task = replace(task, heard=SearchPrefetch(question, run, goes_on, tasks, sources).receive)
        failed = DigestReply()
        reply = await perform_or(run, task, failed, "this round was not summarized")
        stale = last.model_copy(update={"review": None, "queries": ()})
        digest = stale if reply is failed else merge_reply(reply, last, plan)
        ids = () if reply is failed else tuple(item.id for item in best)
        return digest.model_copy(update={"round": request.round, "shown": (*last.shown, *ids)})


async def _best_passages(
    new: Sequence[Evidence], sources: Sequence[Source], tasks: Sequence[SearchTask], plan: Plan, last: Digest, run: Run
) -> list[Evidence]:
    """Return the round's best passages for its searches and key questions that no digest has used yet."""
    unseen = [item for item in new if item.id not in set(last.shown)]
    round_tasks = [task for task in tasks if task.round == tasks[-1].round]
    asked = [question for section in plan.sections for question in section.questions]
    texts = dict.fromkeys((*asked, *(f"{task.query} {task.goal}" for task in round_tasks)))
    questions = [KeyQuestion(text, run.question) for text in texts]
    return select(unseen, await ranked(unseen, sources, questions, run), _MAX_TOKENS) if unseen else []


def merge_reply(reply: DigestReply, last: Digest, plan: Plan) -> Digest:
    """Return the digest of a reply; empty fields keep their last value."""
    review = Review(sections=reply.sections, is_sufficient=reply.is_sufficient, priority_gaps=reply.gaps)
    review = _completed(review, plan)
    section_id = section_ids(plan)
    return Digest(
        synthesis=reply.synthesis or last.synthesis,
        section_coverage={section.id: section.coverage for section in review.sections},
        knowledge_gaps=reply.gaps,
        cross_links=tuple(dict.fromkeys((*last.cross_links, *reply.cross_links))),
        review=review,
        queries=tuple(query.model_copy(update={"section": section_id(query.section)}) for query in reply.queries),
    )


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
        "Merges the round's passages into the synthesis so far: coverage, gaps, next queries",
        needs=(QUESTION, PLAN),
        wants=(EVIDENCE, TASKS, FOUND, SOURCES, DIGEST),
        gives=(DIGEST,),
        tasks=(TASK,),
    )
