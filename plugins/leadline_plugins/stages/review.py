"""Stage `review`: is the research sufficient, and if not, where does the next round dig?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from leadline.contracts import Run
from leadline.findings import DIGEST, EVIDENCE, PLAN, QUESTION, REVIEW, SOURCES, TASKS, Findings, Review, SearchTask
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Evidence, Source
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import less_shown
from leadline_plugins.stages.degrade import perform_or
from leadline_plugins.stages.material import BEST
from leadline_plugins.stages.rounds import fresh, rated
from leadline_plugins.stages.showing import asked, by_source, outline, said, serving
from leadline_plugins.tasks.planning import SourceShown
from leadline_plugins.tasks.reading import ReviewRequest

ASK = TaskKind("review", ReviewRequest, Review, template("review"), shrink=less_shown, expects=expect.review)


class Reviewing:
    """Rates coverage and depth, and ends the loop when more rounds would bring nothing."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Give the review; end the loop where a reason stands."""
        tasks, evidence, sources = findings[TASKS], findings[EVIDENCE], findings[SOURCES]
        chat = await run.by_chat(ASK.name)
        request = ReviewRequest(
            question=asked(findings[QUESTION]),
            plan=outline(findings[PLAN]),
            round=tasks[-1].round if tasks else 1,
            digest=said(findings[DIGEST]),
            evidence=() if chat else evidence,
        )
        review = request.digest.review
        if review is None:
            shown = await _shown(tasks, evidence, sources) if chat else ()
            request = request.model_copy(update={"sources": shown})
            gaps = Review(priority_gaps=request.digest.knowledge_gaps)
            review = await perform_or(run, ASK.of(request), gaps, "this round was not reviewed")
            review = review if review is gaps else rated(review, request.plan)
        findings[REVIEW] = review
        if review.is_sufficient:
            findings.end_loop("the research is sufficient")
        elif len(tasks) >= run.settings.research.max_queries:
            findings.end_loop("the search budget is spent")
        elif not fresh(evidence, tasks):
            findings.end_loop("the last round added nothing new")


async def _shown(
    tasks: Sequence[SearchTask], evidence: Sequence[Evidence], sources: Sequence[Source]
) -> tuple[SourceShown, ...]:
    """Return the best passages for the searches of the last round."""
    last = [task for task in tasks if task.round == tasks[-1].round]
    found = await serving(last, evidence, sources)
    return by_source(found.in_turn([task.id for task in last])[:BEST], sources)


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: Reviewing(),
        PluginSettings,
        "Rates every section's coverage and ends the loop when it suffices",
        needs=(QUESTION, PLAN, DIGEST),
        wants=(EVIDENCE, TASKS, SOURCES),
        gives=(REVIEW,),
        tasks=(ASK,),
        ends_loop=True,
    )
