"""Stage `review`: decides whether the research goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leadline.contracts import Run
from leadline.findings import DIGEST, EVIDENCE, REVIEW, TASKS, Findings, Review
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline_plugins.stages.rounds import of_last_round


class Reviewing:
    """Ends the loop when the research suffices, the search budget is spent, or a round found nothing new."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Set the review, from the digest; without one nothing is known to be sufficient."""
        tasks, digest = findings[TASKS], findings[DIGEST]
        review = digest.review or Review(priority_gaps=digest.knowledge_gaps)
        findings[REVIEW] = review
        if review.is_sufficient:
            findings.end_loop("the research is sufficient")
        elif len(tasks) >= run.settings.research.max_queries:
            findings.end_loop("the search budget is spent")
        elif not (tasks and of_last_round(findings[EVIDENCE], tasks)):
            findings.end_loop("the last round found nothing new")


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: Reviewing(),
        PluginSettings,
        "Rates every section's coverage and ends the loop when it suffices",
        needs=(DIGEST,),
        wants=(EVIDENCE, TASKS),
        gives=(REVIEW,),
        ends_loop=True,
    )
