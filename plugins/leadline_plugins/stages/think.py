"""Stage `think`: the model thinks about the question in steps, and then answers it, without a search."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Literal

from pydantic import Field

from leadline.contracts import StageRun
from leadline.estimates import Expected, Scope
from leadline.findings import Findings, Key
from leadline.plugin import PluginSettings, stage
from leadline.records import Blob
from leadline.research_findings import CONVERSATION, QUESTION, REPORT
from leadline.tasks import TaskKind
from leadline_plugins.prompting import estimates
from leadline_plugins.prompting.answering_tasks import REPLY_EXAMPLE, ThinkRequest, Thought, WrittenReply
from leadline_plugins.prompting.inputs import template
from leadline_plugins.text.reply_language import answered_in_language
from leadline_plugins.wording.phrases import phrase
from leadline_plugins.writing.plain_report import answer_request, plain_report

Step = Literal["problem", "perspectives", "reasoning", "reflection"]
STEPS: tuple[Step, ...] = ("problem", "perspectives", "reasoning", "reflection")
# The step that answers the question, always the last one.
_LAST = "conclusion"
THOUGHTS: Key[tuple[Thought, ...]] = Key("thoughts", Thought, grows=True, file="thoughts.json")


class ThinkSettings(PluginSettings):
    """The steps of thinking."""

    steps: tuple[Step, ...] = Field(STEPS, description="The steps before the answer, a model call each, in this order.")


def _estimate(scope: Scope, step: str) -> Expected:
    settings = dict(scope.settings.plugins).get("think", ThinkSettings())
    return estimates.think(step == _LAST or step in settings.steps)


def _task(step: str) -> TaskKind[ThinkRequest, WrittenReply]:
    return TaskKind(
        f"think_{step}",
        ThinkRequest,
        WrittenReply,
        template(f"think_{step}"),
        role="thinking",
        example=REPLY_EXAMPLE,
        show=ThinkRequest.as_text,
        check=answered_in_language(lambda reply: (reply.text,)),
        shows=("text",),
        drafts=step == _LAST,
        expects=partial(_estimate, step=step),
    )


TASKS: Mapping[str, TaskKind[ThinkRequest, WrittenReply]] = {step: _task(step) for step in (*STEPS, _LAST)}


@stage(
    "Thinks in steps (problem, perspectives, reasoning, reflection), and answers the question",
    settings=ThinkSettings,
    needs=(QUESTION,),
    wants=(CONVERSATION,),
    gives=(THOUGHTS, REPORT),
    closing=True,
    uses=(*TASKS.values(), "ai.providers"),
)
class ThinkStage:
    """Performs the steps one after the other; each reads those before it.

    Every step is saved when it is written. The report has the answer first, and then the steps.
    """

    def __init__(self, settings: ThinkSettings) -> None:
        self._settings = settings

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Set the thoughts and the report."""
        request = ThinkRequest(**dict(answer_request(findings, run)))
        for step in (*dict.fromkeys(self._settings.steps), _LAST):
            reply = await run.perform(TASKS[step].of(request))
            thoughts = (*request.thoughts, Thought(id=step, text=reply.text))
            request = request.model_copy(update={"thoughts": thoughts})
            kind = "report" if step == _LAST else "learning"
            await run.emit("message", {"kind": kind, "text": reply.text, "step": step})
            await run.save(_file(len(thoughts), thoughts[-1], request.question.language))
        *steps, answer = request.thoughts
        findings[THOUGHTS] = request.thoughts
        texts = {"answer": answer.text} | {step.id: step.text for step in steps}
        findings[REPORT] = plain_report(request.question, run, texts)


def _file(number: int, thought: Thought, language: str) -> Blob:
    text = f"# {phrase(thought.id, language)}\n\n{thought.text.strip()}\n"
    return Blob(name=f"thinking/{number}-{thought.id}.md", media_type="text/markdown", data=text.encode())
