"""The request and reply of the task that writes a program."""

from __future__ import annotations

import re

from leadline.records import Record, Text
from leadline.research_findings import Question
from leadline.schemas import TEXT, object_of
from leadline_plugins.prompting.inputs import paragraphs, question_text

_FENCE = re.compile(r"\s*(?P<mark>`{3,}|~{3,})[^\n`]*\n(?P<inside>.*?)\n?(?P=mark)\s*", re.DOTALL)


class CodeRequest(Record):
    """Asks for a program; with `error`, for a correction of `code`. `seconds` is its time limit."""

    question: Question
    today: str = ""
    seconds: int = 60
    code: Text = ""
    error: Text = ""

    def as_text(self) -> str:
        """Return the inputs as prompt text."""
        return paragraphs(
            question_text(self.question, self.today),
            f"Time limit: {self.seconds} seconds",
            f"Program:\n{self.code}" if self.error else "",
            f"Error:\n{self.error}" if self.error else "",
        )


class WrittenCode(Record):
    """A program with its title and an explanation of how it works."""

    title: Text = ""
    explanation: Text = ""
    code: Text

    @property
    def program(self) -> str:
        """The program without the code fence that some models put around it."""
        match = _FENCE.fullmatch(self.code)
        return (match["inside"] if match else self.code).strip("\n")


CODE_SCHEMA = object_of(title=TEXT, explanation=TEXT, code=TEXT)
CODE_EXAMPLE = (
    '{"title": "Mean of five lengths", "explanation": "It adds up the lengths and divides the sum by their number.", '
    "\"code\": \"lengths = [3, 4, 5, 6, 7]\\nprint('mean length:', sum(lengths) / len(lengths), 'm')\"}"
)
