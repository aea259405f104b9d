"""A tool of an exploration: name and description for the model, arguments, and the function that executes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import ConfigDict
from pydantic.json_schema import GenerateJsonSchema

from leadline.contracts import StageRun
from leadline.records import Json, Record, Tool
from leadline_plugins.stages.tools.exploration import Exploration

A = TypeVar("A", bound="Arguments")


class Arguments(Record):
    """Base of the arguments of a tool; accepts numbers as text, because models write them."""

    model_config = ConfigDict(coerce_numbers_to_str=True)


class _Form(GenerateJsonSchema):
    """Omits titles and defaults: every request contains the schema, and some vendors refuse unknown fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: Any) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])


def _usable(_: StageRun) -> str:
    return ""


@dataclass(frozen=True)
class ToolKind(Generic[A]):
    """A tool. `do` is called in the order of the calls, and its result is awaited together with the others.

    So anything that must not depend on timing (numbers, budgets) happens before the first `await`. The model reads the
    result fenced as data, and a failed call of the run as an error.
    """

    name: str
    description: str
    arguments: type[A]
    do: Callable[[A, Exploration], Awaitable[Json]]
    # Returns why the tool cannot be used in a run; empty if it can.
    unusable: Callable[[StageRun], str] = _usable

    @property
    def form(self) -> Json:
        """The JSON schema of the arguments."""
        return self.arguments.model_json_schema(schema_generator=_Form)

    @property
    def tool(self) -> Tool:
        """The tool as the model sees it."""
        return Tool(name=self.name, description=self.description, parameters=self.form)
