"""Stage `digest`: merges what this round brought with what was known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leadline.contracts import Run
from leadline.findings import DIGEST, EVIDENCE, PLAN, QUESTION, TASKS, Digest, Findings
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.task_kinds import TaskKind
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import less_evidence
from leadline_plugins.stages.degrade import perform_or
from leadline_plugins.stages.material import shown
from leadline_plugins.stages.rounds import fresh
from leadline_plugins.tasks import DigestRequest

ASK = TaskKind("digest", DigestRequest, Digest, template("digest"), shrink=less_evidence)


class Digesting:
    """Progressive synthesis: one digest over all rounds so far."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Give the digest."""
        evidence, tasks = findings[EVIDENCE], findings[TASKS]
        request = DigestRequest(
            question=findings[QUESTION],
            plan=findings[PLAN],
            round=tasks[-1].round if tasks else 1,
            evidence=await shown(evidence, tasks, "digest", run),
            fresh=tuple(item.id for item in fresh(evidence, tasks)),
            last=findings.get(DIGEST),
        )
        digest = await perform_or(run, ASK.of(request), request.last or Digest(), "this round was not digested")
        findings[DIGEST] = completed(digest)


def completed(digest: Digest) -> Digest:
    """Return the digest with the coverage and gaps that its review told: nobody need say them twice."""
    if digest.review is None:
        return digest
    coverage = {section.id: section.coverage for section in digest.review.sections}
    gaps = digest.knowledge_gaps or digest.review.priority_gaps
    return digest.model_copy(update={"section_coverage": coverage | digest.section_coverage, "knowledge_gaps": gaps})


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: Digesting(),
        PluginSettings,
        "Merges the round's evidence into the synthesis so far: coverage, gaps",
        needs=(QUESTION, PLAN),
        wants=(EVIDENCE, TASKS, DIGEST),
        gives=(DIGEST,),
        tasks=(ASK,),
    )
