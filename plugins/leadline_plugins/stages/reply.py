"""Stage `reply`: the model answers the question in one call, without a search."""

from __future__ import annotations

from leadline.contracts import StageRun
from leadline.findings import Findings
from leadline.plugin import stage
from leadline.research_findings import CONVERSATION, QUESTION, REPORT
from leadline.tasks import TaskKind
from leadline_plugins.prompting import estimates
from leadline_plugins.prompting.answering_tasks import REPLY_EXAMPLE, ReplyRequest, WrittenReply
from leadline_plugins.prompting.inputs import template
from leadline_plugins.text.reply_language import answered_in_language
from leadline_plugins.writing.plain_report import answer_request, plain_report

TASK = TaskKind(
    "reply",
    ReplyRequest,
    WrittenReply,
    template("reply"),
    role="thinking",
    example=REPLY_EXAMPLE,
    show=ReplyRequest.as_text,
    check=answered_in_language(lambda reply: (reply.text,)),
    shows=("text",),
    drafts=True,
    answers=True,
    expects=estimates.one_call(75, 300),
)


@stage(
    "Answers the question by the model alone, in one call",
    needs=(QUESTION,),
    wants=(CONVERSATION,),
    gives=(REPORT,),
    closing=True,
    uses=(TASK, "ai.providers"),
)
class ReplyStage:
    """Makes the answer of the model the report. Without an answer the run fails: nothing could take its place."""

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        request = answer_request(findings, run)
        reply = await run.perform(TASK.of(request))
        findings[REPORT] = plain_report(request.question, run, {"answer": reply.text})
        await run.emit("message", {"kind": "report", "text": reply.text})
