"""Stage `digest`: merges what a round found with what was known, reviews it, and proposes the next searches.

One reply of a model serves all three. Without a model there is nothing to write: the passages speak for themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from leadline.contracts import Run
from leadline.findings import (
    DIGEST,
    EVIDENCE,
    FOUND,
    PLAN,
    QUESTION,
    SOURCES,
    TASKS,
    Digest,
    Findings,
    Plan,
    Review,
    SearchTask,
)
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Evidence, Source
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.passages import KeyQuestion, ranked, select
from leadline_plugins.prompting.passages import fewer, shown
from leadline_plugins.prompts import template
from leadline_plugins.stages.ahead import Ahead, can_be_ahead, fitting
from leadline_plugins.stages.degrade import perform_or
from leadline_plugins.stages.query import allowed
from leadline_plugins.stages.rounds import asked, of_last_round, past_searches, section_ids, today, whole_review
from leadline_plugins.tasks.reading import DIGEST_EXAMPLE, DIGEST_SCHEMA, DigestReply, DigestRequest

_TOKENS = 6_000
"""Passages that a digest is made from; the last digest holds what came before."""


def _shorter(request: DigestRequest) -> DigestRequest | None:
    """Return the request with half of the passages of each source, the first of each kept."""
    ids = [one.id for source in request.sources for one in source.passages]
    less = fewer(request.sources, ids)
    return None if less is None else request.model_copy(update={"sources": less})


ASK = TaskKind(
    "digest",
    DigestRequest,
    DigestReply,
    template("digest"),
    schema=DIGEST_SCHEMA,
    example=DIGEST_EXAMPLE,
    show=DigestRequest.as_text,
    shrink=_shorter,
    shows=("synthesis",),
    expects=expect.digest,
)


class Digesting:
    """Progressive synthesis: one digest over all rounds so far.

    The model is asked only where its answer decides something: where another round can follow and this one found
    anything. Otherwise the last digest stays.
    """

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Set the digest."""
        tasks, evidence = findings[TASKS], findings[EVIDENCE]
        last, number = findings.get(DIGEST), tasks[-1].round if tasks else 1
        new = of_last_round(evidence, tasks) if tasks else []
        repeated = last is not None and last.round == number
        more = run.rounds_left > 0 and allowed(len(tasks), run) > 0
        wanted = not repeated and (last is None or (more and bool(new))) and await run.by_chat(ASK.name)
        if not wanted:
            findings[DIGEST] = (last or Digest()).model_copy(update={"queries": (), "round": number})
            return
        findings[DIGEST] = await self._made(findings, run, last or Digest(), more=more, new=new)

    async def _made(self, findings: Findings, run: Run, last: Digest, *, more: bool, new: Sequence[Evidence]) -> Digest:
        question, plan, tasks, sources = findings[QUESTION], findings[PLAN], findings[TASKS], findings[SOURCES]
        best = await _best(new, sources, tasks, plan, last, run)
        request = DigestRequest(
            question=asked(question),
            plan=plan.model_copy(update={"queries": ()}),
            round=tasks[-1].round if tasks else 1,
            more=more,
            last=last if last.round else None,
            past=past_searches(findings[FOUND], sources) if more else (),
            sources=shown(best, sources),
            today=today(run),
        )
        task = ASK.of(request)
        if more and new and await can_be_ahead(task, run):
            goes_on = fitting(task, lambda reply: not reply.is_sufficient)
            task = replace(task, heard=Ahead(question, run, goes_on, tasks, sources).heard)
        failed = DigestReply()
        reply = await perform_or(run, task, failed, "this round was not digested")
        stale = last.model_copy(update={"review": None, "queries": ()})
        digest = stale if reply is failed else merged(reply, last, plan)
        ids = () if reply is failed else tuple(item.id for item in best)
        return digest.model_copy(update={"round": request.round, "shown": (*last.shown, *ids)})


async def _best(
    new: Sequence[Evidence], sources: Sequence[Source], tasks: Sequence[SearchTask], plan: Plan, last: Digest, run: Run
) -> list[Evidence]:
    """Return the best passages of the round for its searches and the key questions that no digest was made from."""
    unseen = [item for item in new if item.id not in set(last.shown)]
    round_tasks = [task for task in tasks if task.round == tasks[-1].round]
    asked = [question for section in plan.sections for question in section.questions]
    texts = dict.fromkeys((*asked, *(f"{task.query} {task.goal}" for task in round_tasks)))
    questions = [KeyQuestion(text, run.question) for text in texts]
    return select(unseen, await ranked(unseen, sources, questions, run), _TOKENS) if unseen else []


def merged(reply: DigestReply, last: Digest, plan: Plan) -> Digest:
    """Return the digest of a reply: what it leaves out stays as it was."""
    review = Review(sections=reply.sections, is_sufficient=reply.is_sufficient, priority_gaps=reply.gaps)
    whole = whole_review(review, plan)
    meant = section_ids(plan)
    return Digest(
        synthesis=reply.synthesis or last.synthesis,
        section_coverage={section.id: section.coverage for section in whole.sections},
        knowledge_gaps=reply.gaps,
        cross_links=tuple(dict.fromkeys((*last.cross_links, *reply.cross_links))),
        review=whole,
        queries=tuple(query.model_copy(update={"section": meant(query.section)}) for query in reply.queries),
    )


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: Digesting(),
        PluginSettings,
        "Merges the round's passages into the synthesis so far: coverage, gaps, next queries",
        needs=(QUESTION, PLAN),
        wants=(EVIDENCE, TASKS, FOUND, SOURCES, DIGEST),
        gives=(DIGEST,),
        tasks=(ASK,),
    )
