"""Stage `reuse`: takes over the sources of earlier turns, and decides what must still be searched for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from leadline.contracts import Run
from leadline.findings import Findings
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Evidence, Source
from leadline.research_findings import (
    CONVERSATION,
    DIGEST,
    EVIDENCE,
    QUESTION,
    SOURCES,
    Digest,
    Query,
    Question,
    Review,
)
from leadline.tasks import TaskKind
from leadline.workers import compute
from leadline_plugins.passages.ranking import KeyQuestion, ranked
from leadline_plugins.passages.selection import select
from leadline_plugins.prompting.conversations import REUSE_EXAMPLE, REUSE_SCHEMA, OpenPoints, ReuseRequest
from leadline_plugins.prompting.fallback import notify, perform_or
from leadline_plugins.prompting.inputs import question_input, start_date, template
from leadline_plugins.prompting.numbered_passages import group_by_source
from leadline_plugins.prompting.shrinking import halve_shown_passages
from leadline_plugins.stages.extract import best_passages
from leadline_plugins.stages.fetch import announce
from leadline_plugins.stages.follow_up import no_calls

# Tokens of the passages in the prompt.
_MAX_TOKENS = 6_000

TASK = TaskKind(
    "reuse",
    ReuseRequest,
    OpenPoints,
    template("reuse"),
    schema=REUSE_SCHEMA,
    example=REUSE_EXAMPLE,
    show=ReuseRequest.as_text,
    shrink=halve_shown_passages,
    expects=no_calls,
)


class ReuseStage:
    """Makes the earlier sources sources of this run, with the same passages.

    A model decides whether they answer the question. Without one the question is searched for as usual.
    """

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Set sources, passages and, in the digest, what is open."""
        question, conversation = findings[QUESTION], findings[CONVERSATION]
        sources = conversation.sources
        if not sources:
            return
        if conversation.left_out:
            await notify(run, f"{conversation.left_out} earlier sources were left out: together they are too long")
        findings[SOURCES] = sources
        cut = await run.each(sources, lambda source: compute(best_passages, source, [question.topic]))
        findings[EVIDENCE] = evidence = tuple(item for found in cut for item in found)
        for source in sources:
            await announce(source, run)
        if evidence and await run.by_chat(TASK.name, TASK.role):
            points = await _open_points(question, evidence, sources, run)
            if points is not None:
                findings[DIGEST] = _as_digest(points)


async def _open_points(
    question: Question, evidence: Sequence[Evidence], sources: Sequence[Source], run: Run
) -> OpenPoints | None:
    """Return what the sources leave open; None if no passage fits, or the model failed."""
    best = select(evidence, await ranked(evidence, sources, [KeyQuestion(question.topic)], run), _MAX_TOKENS)
    if not best:
        return None
    request = ReuseRequest(
        question=question_input(question),
        sources=group_by_source(best, sources),
        limit=run.settings.research.first_queries,
        today=start_date(run),
    )
    failed = OpenPoints(is_sufficient=False)
    notice = "the earlier sources were not reviewed, so everything was searched for"
    reply = await perform_or(run, TASK.of(request), failed, notice, closing=True)
    if reply is failed:
        return None
    if reply.is_sufficient:
        await notify(run, "the sources of the earlier turns answer the question, so nothing was searched for")
    return reply


def _as_digest(points: OpenPoints) -> Digest:
    """Return the digest before the first round: its queries are those of that round."""
    gaps = () if points.is_sufficient else points.gaps
    queries = () if points.is_sufficient else points.queries or tuple(Query(query=gap, goal=gap) for gap in gaps)
    review = Review(is_sufficient=points.is_sufficient, priority_gaps=gaps)
    return Digest(knowledge_gaps=gaps, review=review, queries=queries)


def answered(digest: Digest | None) -> bool:
    """Return whether earlier sources answer the question, so that the first round needs no search.

    Stages that search read the finding DIGEST before their first search: `queries` are the searches that are missing.
    """
    return digest is not None and not digest.round and digest.review is not None and digest.review.is_sufficient


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: ReuseStage(),
        PluginSettings,
        "Takes over the sources of earlier turns, and finds out what is missing in them",
        needs=(QUESTION,),
        only_with=(CONVERSATION,),
        may_give=(SOURCES, EVIDENCE, DIGEST),
        tasks=(TASK,),
    )
