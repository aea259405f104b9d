"""Stage `digest`: merges what this round brought with what was known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from leadline.contracts import Run
from leadline.findings import DIGEST, EVIDENCE, FOUND, PLAN, QUESTION, SOURCES, TASKS, Digest, Findings, Found, Plan
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import less_evidence
from leadline_plugins.stages.ahead import Ahead, can_be_ahead, fitting
from leadline_plugins.stages.degrade import perform_or
from leadline_plugins.stages.material import shown
from leadline_plugins.stages.query import allowed, past
from leadline_plugins.stages.rounds import fresh, rated
from leadline_plugins.tasks import DigestRequest, PastSearch

ASK = TaskKind(
    "digest",
    DigestRequest,
    Digest,
    template("digest"),
    shrink=less_evidence,
    shows=("synthesis",),
    expects=expect.digest,
)


class Digesting:
    """Progressive synthesis: one digest over all rounds so far."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Give the digest."""
        question, evidence, tasks = findings[QUESTION], findings[EVIDENCE], findings[TASKS]
        known = findings.get(DIGEST)
        if known is not None and tasks and known.round == tasks[-1].round:
            findings[DIGEST] = known.model_copy(update={"queries": ()})  # they were proposed, and led nowhere new
            return
        more = run.rounds_left > 0 and allowed(len(tasks), run) > 0
        new, seen = {item.id for item in fresh(evidence, tasks)}, await shown(evidence, tasks, "digest", run)
        request = DigestRequest(
            question=question,
            plan=findings[PLAN],
            round=tasks[-1].round if tasks else 1,
            evidence=seen,
            fresh=tuple(item.id for item in seen if item.id in new),
            last=known,
            more=more,
            past=tuple(_shortly(found) for found in findings[FOUND]) if more else (),
        )
        sources, last = findings[SOURCES], request.last or Digest()
        task = ASK.of(request)
        if more and request.fresh and await can_be_ahead(task, run):  # a round that brought nothing is the last
            task = replace(task, heard=Ahead(question, run, fitting(task, _goes_on), tasks, sources).heard)
        stale = last.model_copy(update={"review": None, "queries": ()})
        digest = await perform_or(run, task, stale, "this round was not digested")
        whole = completed(digest, last, findings[PLAN])
        findings[DIGEST] = whole.model_copy(update={"round": request.round})


def _shortly(found: Found) -> PastSearch:
    """Return a past search without its goal, which is that of its section as a rule."""
    short = past(found)
    return short.model_copy(update={"task": short.task.model_copy(update={"goal": ""})})


def _goes_on(digest: Digest) -> bool:
    """Return whether another round follows; without a review another model call decides that."""
    return digest.review is not None and not digest.review.is_sufficient


def completed(digest: Digest, last: Digest, plan: Plan) -> Digest:
    """Return the digest with the coverage and gaps that its review told, and the last synthesis where none is new.

    One that tells coverage itself is taken at its word; one that tells none at all leaves that of the last as it was.
    """
    review = digest.review
    if review is None:
        stands = {"section_coverage": last.section_coverage, "knowledge_gaps": last.knowledge_gaps}
        return digest if digest.section_coverage else digest.model_copy(update=stands)
    review = review if digest.section_coverage else rated(review, plan)
    coverage = {section.id: section.coverage for section in review.sections}
    gaps = digest.knowledge_gaps or review.priority_gaps
    told = {"review": review, "section_coverage": coverage | digest.section_coverage, "knowledge_gaps": gaps}
    return digest.model_copy(update=told | {"synthesis": digest.synthesis or last.synthesis})


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: Digesting(),
        PluginSettings,
        "Merges the round's evidence into the synthesis so far: coverage, gaps",
        needs=(QUESTION, PLAN),
        wants=(EVIDENCE, TASKS, FOUND, SOURCES, DIGEST),
        gives=(DIGEST,),
        tasks=(ASK,),
    )
