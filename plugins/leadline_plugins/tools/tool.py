"""What a tool is: a name and words for the model, a record of arguments, and how it is done at a desk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import ConfigDict
from pydantic.json_schema import GenerateJsonSchema

from leadline.contracts import Run
from leadline.records import Json, Record, Tool
from leadline_plugins.tools.desk import Desk

A = TypeVar("A", bound="Arguments")


class Arguments(Record):
    """The base of a tool's arguments; models write numbers where a text is meant."""

    model_config = ConfigDict(coerce_numbers_to_str=True)


class _Form(GenerateJsonSchema):
    """Without titles and defaults: every request carries the form, and some vendors refuse what they do not know."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: Any) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])


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
    def form(self) -> Json:
        """The JSON schema of the arguments."""
        return self.arguments.model_json_schema(schema_generator=_Form)

    @property
    def tool(self) -> Tool:
        """As the model is shown it."""
        return Tool(name=self.name, description=self.description, parameters=self.form)
