"""The research ends when it suffices, when the searches are spent, or when a round found nothing new."""

from __future__ import annotations

from typing import cast

import pytest

from leadline.contracts import StageRun
from leadline.records import Evidence
from leadline.research_findings import DIGEST, EVIDENCE, REVIEW, TASKS, Digest, Review, SearchTask
from leadline.settings import Settings
from leadline.testing.context import FakeRun, fake_findings
from leadline_plugins.stages.review import ReviewStage

OPEN = Review(priority_gaps=("How deep?",))
TASKS_OF_TWO = (SearchTask(id="q1", query="depth", round=1), SearchTask(id="q2", query="tide", round=2))


class Modelled(FakeRun):
    """A run with a language model."""

    async def by_chat(self, task: str, role: str = "") -> bool:
        return True


def passage(task: str) -> Evidence:
    return Evidence(id="e1", source_id="s1", task_id=task, quote="It is deep.", span=(0, 11))


async def reviewed(
    digest: Digest, evidence: tuple[Evidence, ...] = (passage("q2"),), most: int = 9
) -> tuple[Review, str | None]:
    """Return the review and the reason why the loop ends."""
    findings = fake_findings(ReviewStage, {DIGEST: digest, TASKS: TASKS_OF_TWO, EVIDENCE: evidence})
    run = Modelled(Settings.model_validate({"research": {"max_queries": most}}))
    await ReviewStage().run(findings, cast("StageRun", run))
    return findings.patch[REVIEW], findings.loop_ended


async def test_research_with_gaps_goes_on() -> None:
    assert await reviewed(Digest(review=OPEN)) == (OPEN, None)


async def test_without_a_review_of_a_model_the_gaps_are_those_of_the_digest() -> None:
    review, ended = await reviewed(Digest(knowledge_gaps=("How deep?",)))
    assert (review, ended) == (OPEN, None)


@pytest.mark.parametrize(
    ("digest", "evidence", "most", "reason"),
    [
        (Digest(review=Review(is_sufficient=True)), (passage("q2"),), 9, "the research is sufficient"),
        (Digest(review=OPEN), (passage("q2"),), 2, "the search budget is spent"),
        (Digest(review=OPEN), (passage("q1"),), 9, "the last round found nothing new"),
        (Digest(review=OPEN), (), 9, "the last round found nothing new"),
    ],
)
async def test_it_ends_with_the_reason(digest: Digest, evidence: tuple[Evidence, ...], most: int, reason: str) -> None:
    assert (await reviewed(digest, evidence, most))[1] == reason
