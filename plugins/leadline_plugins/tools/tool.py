"""What a tool is: a name and words for the model, a record of arguments, and how it is done at a desk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import ConfigDict

from leadline.contracts import Run
from leadline.records import Json, Record, Tool
from leadline_plugins.tools.desk import Desk

A = TypeVar("A", bound="Arguments")


class Arguments(Record):
    """The base of a tool's arguments; models write numbers where a text is meant."""

    model_config = ConfigDict(coerce_numbers_to_str=True)


def _nothing(_: Run) -> str:
    return ""


@dataclass(frozen=True)
class ToolKind(Generic[A]):
    """A tool. `do` is called in the order of the calls, and what it returns is awaited beside the others'.

    So whatever must not hang on timing (numbers, budgets) is settled before the first `await`. What it brings is shown
    to the model fenced as data; a call of the run that fails for good is told as such.
    """

    name: str
    description: str
    arguments: type[A]
    do: Callable[[A, Desk], Awaitable[Json]]
    lacking: Callable[[Run], str] = _nothing
    """Says why it cannot be used in this run; empty where it can."""

    @property
    def tool(self) -> Tool:
        """As the model is shown it."""
        return Tool(name=self.name, description=self.description, parameters=self.arguments.model_json_schema())
