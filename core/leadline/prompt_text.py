"""The full text of a task's prompt, as a model reads it, with placeholders such as `{title}` for the inputs."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from leadline.records import Message, Record
from leadline.task_kinds import TaskKind
from leadline.tasks import render

_DEEPEST = 6
"""Records within each other that are filled in."""
_FIXED = {"integer": 1, "number": 0.5, "boolean": True, "null": None}
_BY_FORMAT = {"date-time": "2026-01-01T00:00:00Z", "date": "2026-01-01", "base64url": "", "binary": ""}


def prompt_messages(task: TaskKind[Any, Any], template: str) -> tuple[Message, ...]:
    """Return the messages of a prompt. Raises ValueError for inputs that placeholders cannot stand for."""
    return render(task.of(sample(task.inputs)), template)


def sample(record: type[Record]) -> Record:
    """Return a record with a placeholder in each text, one item in each list and the first of each choice.

    Raises ValueError for a record that refuses them.
    """
    schema: Any = record.model_json_schema()
    forms = schema.get("$defs", {})
    for names in (schema["properties"], schema.get("required", ())):  # all fields, else only those that must be given
        values = {name: _value(name, schema["properties"][name], forms, 0) for name in names}
        try:
            return record.model_validate(values)
        except ValidationError:
            continue
    raise ValueError(f"{record.__name__} cannot be filled with placeholders")


def _value(name: str, schema: Any, forms: Any, depth: int) -> Any:
    if "$ref" in schema:
        return _value(name, forms[schema["$ref"].rpartition("/")[2]], forms, depth + 1)
    if choices := schema.get("enum") or ([schema["const"]] if "const" in schema else []):
        return choices[0]
    if branches := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return _value(name, branches[0], forms, depth)
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {}) if depth < _DEEPEST else {}
            return {key: _value(key, one, forms, depth + 1) for key, one in properties.items()}
        case "array" if "prefixItems" in schema:
            return [_value(name, one, forms, depth + 1) for one in schema["prefixItems"]]
        case "array":
            return [_value(name, schema.get("items", {}), forms, depth + 1)] if depth < _DEEPEST else []
        case "string" | None:
            return _BY_FORMAT.get(schema.get("format", ""), f"{{{name}}}")
        case kind:
            return _FIXED[kind]
