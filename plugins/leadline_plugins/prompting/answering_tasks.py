"""Requests and replies of the tasks that answer from the question alone: a reply, steps of thinking, requirements."""

from __future__ import annotations

from typing import Annotated

from pydantic import WithJsonSchema

from leadline.records import SINGLE, Record, Text
from leadline.research_findings import Question
from leadline.schemas import one_of
from leadline_plugins.prompting.inputs import paragraphs, question_text


class ReplyRequest(Record):
    """Asks for an answer to the question."""

    question: Question
    # ISO 8601, the first day of the run.
    today: str = ""
    # The earlier turns, as text.
    conversation: Text = ""

    def as_text(self) -> str:
        """Return the inputs as prompt text."""
        return paragraphs(self.conversation, question_text(self.question, self.today))


class WrittenReply(Record):
    """An answer in Markdown."""

    text: Text


REPLY_EXAMPLE = (
    '{"text": "A heat pump moves heat instead of making it: it takes three parts of four from the air or the ground."}'
)


# --- thinking --------------------------------------------------------------------------------------------------------


class Thought(Record):
    """A step of thinking that is written: its name, and its text in Markdown."""

    id: str
    text: Text


class ThinkRequest(Record):
    """Asks for the next step of thinking, with the steps before it."""

    question: Question
    today: str = ""
    conversation: Text = ""
    thoughts: tuple[Thought, ...] = ()

    def as_text(self) -> str:
        """Return the inputs as prompt text; the steps stay the same, so that a provider's prompt cache hits."""
        steps = (f'<step name="{thought.id}">\n{thought.text}\n</step>' for thought in self.thoughts)
        return paragraphs(self.conversation, question_text(self.question, self.today), *steps)


# --- requirements ----------------------------------------------------------------------------------------------------


class User(Record):
    """A group of users and what it needs."""

    name: Text
    needs: Text = ""


class Function(Record):
    """A function that the system must, should or could have, and how to tell that it works."""

    name: Text
    description: Text = ""
    priority: Annotated[str, WithJsonSchema(one_of("must", "should", "could"))] = "should"
    acceptance: Text = ""


class Requirements(Record):
    """A requirements document. Saved as `requirements.json`."""

    title: Text
    summary: Text = ""
    goals: tuple[Text, ...] = ()
    users: tuple[Annotated[User, SINGLE], ...] = ()
    functions: tuple[Annotated[Function, SINGLE], ...] = ()
    constraints: tuple[Text, ...] = ()
    open_questions: tuple[Text, ...] = ()


REQUIREMENTS_EXAMPLE = (
    '{"title": "Booking of meeting rooms", "summary": "Employees book rooms by themselves.", "goals": ["No room is '
    'booked twice."], "users": [{"name": "Employees", "needs": "find and book a free room"}], "functions": [{"name": '
    '"Search", "description": "Lists the rooms that are free at a time.", "priority": "must", "acceptance": "A booked '
    'room is not listed."}], "constraints": ["Runs in the browser."], "open_questions": ["Who may cancel a booking '
    'of somebody else?"]}'
)
