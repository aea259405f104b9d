"""Stage `reuse`: takes over the sources of earlier turns, and decides what must still be searched for."""

from __future__ import annotations

from dataclasses import replace

from leadline.contracts import StageRun
from leadline.findings import Findings
from leadline.plugin import stage
from leadline.research_findings import CONVERSATION, DIGEST, EVIDENCE, PLAN, QUESTION, SOURCES, Digest
from leadline.workers import compute
from leadline_plugins.prompting.fallback import notify, perform_or
from leadline_plugins.prompting.inputs import single_section_plan
from leadline_plugins.prompting.research_tasks import DigestReply
from leadline_plugins.stages import digest
from leadline_plugins.stages.extract import best_passages
from leadline_plugins.stages.fetch import announce
from leadline_plugins.stages.follow_up import no_calls
from leadline_plugins.stages.query import next_queries, query_limit

TASK = replace(digest.TASK, name="reuse", expects=no_calls)


@stage(
    "Takes over the sources of earlier turns, and finds out what is missing in them",
    needs=(QUESTION,),
    wants=(PLAN,),
    only_with=(CONVERSATION,),
    may_give=(SOURCES, EVIDENCE, DIGEST),
    uses=(TASK,),
)
class ReuseStage:
    """Makes the earlier sources sources of this run, with the same passages: a model reviews them as a round 0.

    Without a model nothing is taken over: it may be no more than the passages that matched the earlier question.
    """

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Set sources, passages and, in the digest, what is open."""
        question, conversation = findings[QUESTION], findings[CONVERSATION]
        sources = conversation.sources
        if not sources or not await run.by_chat(TASK.name, TASK.role):
            return
        if conversation.left_out:
            await notify(run, f"{conversation.left_out} earlier sources were left out: together they are too long")
        findings[SOURCES] = sources
        cut = await run.each(sources, lambda source: compute(best_passages, source, [question.topic]))
        findings[EVIDENCE] = evidence = tuple(item for passages in cut for item in passages)
        for source in sources:
            await announce(source, run)
        if not evidence:
            return
        plan, limit, none = findings.get(PLAN) or single_section_plan(question), query_limit(0, run), Digest()
        request = await digest.digest_request(question, plan, evidence, sources, none, run)
        request = request.model_copy(update={"limit": limit})
        failed, notice = DigestReply(), "the earlier sources were not reviewed, so everything was searched for"
        reply = await perform_or(run, TASK.of(request), failed, notice, closing=True)
        if reply is failed:
            return
        if plan.approval:  # a person has seen which searches follow
            searches = tuple(next_queries(question, plan.queries, ()))
            reply = reply.model_copy(update={"is_sufficient": False, "queries": searches})
        if reply.is_sufficient:
            reused = "the sources of the earlier turns answer the question, so nothing was searched for"
            await notify(run, reused, "reused")
        findings[DIGEST] = digest.merge_reply(reply, none, request)
