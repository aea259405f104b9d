"""Stage `digest`: merges what this round brought with what was known."""

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
from leadline.records import Evidence
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import less_shown
from leadline_plugins.stages.ahead import Ahead, can_be_ahead, fitting
from leadline_plugins.stages.degrade import perform_or
from leadline_plugins.stages.material import BEST
from leadline_plugins.stages.query import allowed
from leadline_plugins.stages.rounds import fresh, rated
from leadline_plugins.stages.showing import Serving, asked, by_source, outline, said, searched, serving, today
from leadline_plugins.tasks.reading import DigestRequest

ASK = TaskKind(
    "digest",
    DigestRequest,
    Digest,
    template("digest"),
    shrink=less_shown,
    shows=("synthesis",),
    expects=expect.digest,
)


class Digesting:
    """Progressive synthesis: one digest over all rounds so far.

    A model is asked where its answer decides something. Where no round can follow, or this one brought nothing, the
    last digest stands.
    """

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Give the digest."""
        question, evidence, tasks, found = findings[QUESTION], findings[EVIDENCE], findings[TASKS], findings[FOUND]
        known, this_round = findings.get(DIGEST), tasks[-1].round if tasks else 1
        if known is not None and tasks and known.round == this_round:
            findings[DIGEST] = known.model_copy(update={"queries": ()})  # they were proposed, and led nowhere new
            return
        more = run.rounds_left > 0 and allowed(len(tasks), run) > 0
        sources, new, chat = findings[SOURCES], fresh(evidence, tasks), await run.by_chat(ASK.name)
        if chat and known is not None and known.review is not None and not (more and new):
            findings[DIGEST] = await standing(known.model_copy(update={"round": this_round}), evidence)
            return
        best = await serving(tasks, evidence, sources) if chat else Serving((), (), ())
        last = known or Digest()
        shown = best.in_turn([task.id for task in tasks if task.round == this_round], but=last.shown)[:BEST]
        request = DigestRequest(
            question=asked(question),
            plan=outline(findings[PLAN]),
            round=this_round,
            evidence=() if chat else evidence,
            fresh=() if chat else tuple(item.id for item in new),
            sources=by_source(shown, sources),
            passages=len(new) if chat else 0,
            last=_told(known) if chat else known,
            more=more,
            past=searched(found, sources, evidence, best) if more else (),
            today=today(run),
        )
        task = ASK.of(request)
        if more and new and await can_be_ahead(task, run):  # a round that brought nothing is the last
            task = replace(task, heard=Ahead(question, run, fitting(task, _goes_on), tasks, sources).heard)
        stale = last.model_copy(update={"review": None, "queries": ()})
        digest = await perform_or(run, task, stale, "this round was not digested")
        whole = completed(digest, last, findings[PLAN])
        told = last.shown if digest is stale else (*last.shown, *(item.id for item in shown))
        findings[DIGEST] = whole.model_copy(update={"round": this_round, "shown": told})


async def standing(digest: Digest, evidence: Sequence[Evidence]) -> Digest:
    """Return a digest that is not made anew, without the gaps for which there are passages that it did not see.

    Whether these fill them nobody has judged: so where none is left the research is neither sufficient nor wanting.
    """
    review = digest.review or Review()
    gaps = dict.fromkeys((*digest.knowledge_gaps, *review.priority_gaps))
    seen = frozenset(digest.shown)
    unseen = [item for item in evidence if item.id not in seen]
    best = (await serving([SearchTask(id=gap, query=gap) for gap in gaps], unseen)).best
    left = [gap for gap in gaps if not best[gap]]
    if gaps and not left:
        review = Review()
    review = review.model_copy(update={"priority_gaps": tuple(gap for gap in review.priority_gaps if gap in left)})
    gaps_left = tuple(gap for gap in digest.knowledge_gaps if gap in left)
    return digest.model_copy(update={"review": review, "knowledge_gaps": gaps_left, "queries": ()})


def _told(last: Digest | None) -> Digest | None:
    """Return the last digest without its searches, which are told with what came of them, nor what its review says."""
    if last is None:
        return None
    told: dict[str, Any] = {"section_coverage": {}, "knowledge_gaps": (), "queries": ()} if last.review else {}
    return said(last).model_copy(update=told)


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
