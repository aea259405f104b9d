"""Conversations in prompts: earlier turns as text, and the tasks of the stages that use them.

Answers are shortened by whole paragraphs. Citations are left out: their ids mean nothing to a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leadline.citations import uncited
from leadline.records import Conversation, Record, Text, Turn
from leadline.research_findings import FAILED, Question
from leadline_plugins.passages.cutting import tokens_of
from leadline_plugins.prompting.inputs import bullet_list, paragraphs, quoted

# Turns in a prompt; tokens of the last answer, and of each earlier one.
TURNS, LAST_TOKENS, EARLIER_TOKENS = 10, 1_500, 300
# Claims that the sources did not support, in a prompt.
_FAILED_CLAIMS = 5


def conversation_text(conversation: Conversation | None) -> str:
    """Return the earlier turns as prompt text, the oldest first; empty for a run without any.

    For a task without the stage `follow_up` before it, or whose answer depends on what was said.
    """
    if conversation is None:
        return ""
    remembered = "\n\n".join(_turn_text(turn, EARLIER_TOKENS) for turn in reversed(conversation.remembered))
    turns = "\n\n".join(_turn_text(turn, tokens) for turn, tokens in _shown(conversation.turns))
    return paragraphs(
        f"# Earlier conversations\n\n{remembered}" if remembered else "",
        f"# This conversation\n\n{turns}" if turns else "",
    )


def _shown(turns: Sequence[Turn]) -> list[tuple[Turn, int]]:
    """Return the last turns with the tokens of their answers."""
    last = turns[-TURNS:]
    return [(turn, LAST_TOKENS if turn is last[-1] else EARLIER_TOKENS) for turn in last]


def _turn_text(turn: Turn, tokens: int) -> str:
    answer = _answer_text(turn, tokens)
    return f"Question: {turn.question}\n\n" + (f"Answer: {quoted(answer)}" if answer else "It has no answer.")


def _answer_text(turn: Turn, tokens: int) -> str:
    """Return an answer without citations, and the claims in it that its sources do not support."""
    failed = [claim.claim.text for claim in turn.claims if claim.verdict in FAILED][:_FAILED_CLAIMS]
    wrong = bullet_list("Not supported by its sources", failed)
    return paragraphs("\n\n".join(_first_paragraphs(uncited(turn.answer), tokens)), "\n".join(wrong))


def _first_paragraphs(text: str, tokens: float) -> Iterator[str]:
    """Yield the first paragraphs of a text, at least one, and a mark if there are more."""
    left = tokens
    for index, paragraph in enumerate(text.split("\n\n")):
        left -= tokens_of(paragraph)
        if index and left < 0:
            yield "[…]"
            return
        yield paragraph


# --- tasks -----------------------------------------------------------------------------------------------------------


class FollowUpRequest(Record):
    """Asks for the last message of a conversation as a question that stands alone."""

    question: Question
    conversation: Text
    today: str = ""

    def as_text(self) -> str:
        """Return the inputs as prompt text."""
        today = f"Today: {self.today}" if self.today else ""
        return paragraphs(self.conversation, "# The last message", self.question.text, today)


class StandaloneQuestion(Record):
    """A question that can be understood without the conversation.

    `points_back` are the words of the message that mean nothing alone, as the message has them.
    """

    points_back: tuple[Text, ...] = ()
    question: Text


FOLLOW_UP_EXAMPLE = '{"points_back": ["they"], "question": "How loud are heat pumps in winter?"}'
