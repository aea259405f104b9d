"""Stage `follow_up`: makes a question that continues a conversation stand alone."""

from __future__ import annotations

from leadline.contracts import StageRun
from leadline.estimates import Expected, Scope
from leadline.findings import Findings
from leadline.plugin import stage
from leadline.records import Conversation
from leadline.research_findings import CONVERSATION, QUESTION, Question
from leadline.tasks import TaskKind
from leadline_plugins.prompting.conversations import (
    FOLLOW_UP_EXAMPLE,
    FollowUpRequest,
    StandaloneQuestion,
    conversation_text,
)
from leadline_plugins.prompting.fallback import notify, perform_or
from leadline_plugins.prompting.inputs import question_input, start_date, template
from leadline_plugins.text import content_words

# Content words of a question that needs no context, chosen on 22 pairs (docs/decisions/0026).
_ALONE = 3


def no_calls(scope: Scope) -> Expected:
    """Expect none: an estimate is for a question that continues no other."""
    return Expected(calls=0)


TASK = TaskKind(
    "follow_up",
    FollowUpRequest,
    StandaloneQuestion,
    template("follow_up"),
    example=FOLLOW_UP_EXAMPLE,
    show=FollowUpRequest.as_text,
    expects=no_calls,
)


@stage(
    "Makes a follow-up a question that stands alone",
    needs=(QUESTION,),
    only_with=(CONVERSATION,),
    gives=(QUESTION,),
    uses=(TASK,),
)
class FollowUpStage:
    """Has a model rewrite the question; without one, a question of few words takes the last one as its context."""

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Replace the question."""
        question, conversation = findings[QUESTION], findings[CONVERSATION]
        if not question.asked and not question.context:  # else another pipeline of this run did it
            question = await _standalone(question, conversation, run)
        findings[QUESTION] = question


async def _standalone(question: Question, conversation: Conversation, run: StageRun) -> Question:
    is_short = len({*content_words(question.text)}) < _ALONE
    context = conversation.last.question if conversation.last and is_short else ""
    in_context = question.model_copy(update={"context": context})
    if not await run.by_chat(TASK.name, TASK.role):
        if conversation.remembered:
            unused = "memory: earlier questions were found, but no model is configured that could use them"
            await notify(run, unused, "memory_unused")
        return in_context
    if conversation.remembered:
        questions = "; ".join(turn.question for turn in conversation.remembered)
        await notify(run, "memory: remembered {what}", "remembered", what=questions)
    request = FollowUpRequest(
        question=question_input(question), conversation=conversation_text(conversation), today=start_date(run)
    )
    failed = StandaloneQuestion(question="")
    reply = await perform_or(
        run, TASK.of(request), failed, "the question was not made to stand alone, so it may be misread", closing=True
    )
    text = reply.question.strip()
    if not text:
        return in_context
    asked = question.text.casefold()
    points_back = any(words.strip() and words.strip().casefold() in asked for words in reply.points_back)
    # A new question may share words with an old one by chance: only what it points to comes from other conversations.
    if text == question.text or not (conversation.turns or points_back):
        return question
    await notify(run, "understood as: {text}", "understood", text=text)
    return question.model_copy(update={"text": text, "asked": question.text})
