"""Stage `review`: decides whether another round of research follows."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from leadline.contracts import StageRun
from leadline.findings import Findings
from leadline.plugin import stage
from leadline.records import Evidence
from leadline.research_findings import DIGEST, EVIDENCE, REVIEW, TASKS, Review, SearchTask


@stage(
    "Rates every section's coverage and ends the loop when it suffices",
    needs=(DIGEST,),
    wants=(EVIDENCE, TASKS, REVIEW),
    gives=(REVIEW,),
    ends_loop=True,
)
class ReviewStage:
    """Ends the loop if the research suffices, the search budget is spent, or the round found nothing new."""

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Set the review from the digest; without a review in it the research is not sufficient."""
        tasks, digest = findings[TASKS], findings[DIGEST]
        findings[REVIEW] = review = digest.review or Review(priority_gaps=digest.knowledge_gaps)
        if digest.review and digest.review != findings.get(REVIEW):
            sections = review.model_dump(mode="json", include={"sections"})
            conflicts: list[JsonValue] = [conflict.about for conflict in digest.conflicts]
            data = {"round": digest.round, **sections, "gaps": [*review.priority_gaps], "conflicts": conflicts}
            await run.emit("review", data)
        if review.is_sufficient:
            findings.end_loop("the research is sufficient")
        elif digest.review is None and not await run.by_chat("digest"):
            findings.end_loop("without a model there is one search")
        elif len(tasks) >= run.settings.research.max_queries:
            findings.end_loop("the search budget is spent")
        elif not (tasks and evidence_of_last_round(findings[EVIDENCE], tasks)):
            findings.end_loop("the last round found nothing new")


def evidence_of_last_round(evidence: tuple[Evidence, ...], tasks: Sequence[SearchTask]) -> list[Evidence]:
    """Return the passages from pages that the last round found."""
    last = {task.id for task in tasks if task.round == tasks[-1].round}
    return [item for item in evidence if item.task_id in last]
