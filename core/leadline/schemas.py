"""JSON schemas: of replies, written by hand from small parts or derived from a record, and of answers of people.

Every object lists all its properties as required and allows no others, as strict decoding requires, so that servers
receive exactly the schema that the prompt shows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from leadline.records import Answer, Json, Record

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
INTEGER: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}
_OMITTED = ("title", "default", "description", "additionalProperties", "required")
# Keywords whose keys are names chosen by the author of the record: "title" may be one of them.
_NAMED = ("properties", "$defs")


def object_of(**properties: Schema) -> Schema:
    """Return the schema of an object with these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def list_of(items: Schema) -> Schema:
    """Return the schema of a list of such items."""
    return {"type": "array", "items": items}


def one_of(*choices: str) -> Schema:
    """Return the schema of a text that is one of these."""
    return {"type": "string", "enum": list(choices)}


@cache
def schema_of(reply: type[Record]) -> Schema:
    """Return a compact schema of a record: no titles, defaults or descriptions, and no references if it has an end."""
    schema: Schema = _compact(reply.model_json_schema())
    try:
        return dict(_inlined(schema, schema.get("$defs", {})))
    except KeyError:
        return schema


def _inlined(node: Any, definitions: Mapping[str, Any]) -> Any:
    """Return a schema with its definitions in their places. Raises `KeyError` for one that contains itself."""
    if isinstance(node, list):
        return [_inlined(item, definitions) for item in node]
    if not isinstance(node, Mapping):
        return node
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        return _inlined(definitions[name], {key: definitions[key] for key in definitions if key != name})
    return {key: _inlined(value, definitions) for key, value in node.items() if key != "$defs"}


def _compact(node: Any) -> Any:
    if isinstance(node, list):
        return [_compact(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    # "type" comes first: models read a schema from its beginning.
    copy = {name: _compact(node[name]) for name in ("type", *node) if name in node and name not in (*_OMITTED, *_NAMED)}
    copy |= {name: {key: _compact(value) for key, value in node[name].items()} for name in _NAMED if name in node}
    if "properties" in node:
        return copy | {"required": list(node["properties"]), "additionalProperties": False}
    free = node.get("additionalProperties")
    return copy | ({"additionalProperties": _compact(free)} if isinstance(free, Mapping) else {})


# --- answers of people ------------------------------------------------------------------------------------------------

# The types of an answer's fields.
_TYPES: Mapping[Any, Any] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "array": (list, tuple),
}


def answer_fault(schema: Json, answer: Answer) -> str:
    """Return the first fault of an accepted answer by the schema of its question, as `FIELD: what`; empty if none.

    Known are `properties`, `required`, and of a property `type`, `enum`, `items`, `minimum` and `maximum`. A schema
    without properties takes anything.
    """
    properties: Any = schema.get("properties") or {}
    if answer.action != "accept" or not properties:
        return ""
    missing = [str(name) for name in schema.get("required") or () if name not in answer.content]  # type: ignore[union-attr]
    if missing or not answer.content:
        return f"{', '.join(missing or properties)}: field required"
    for name, value in answer.content.items():
        if name not in properties:
            return f"{name}: there is no such field; choose from {', '.join(properties)}"
        if fault := value_fault(properties[name], value):
            return f"{name}: {fault}"
    return ""


def value_fault(schema: Mapping[str, Any], value: Any) -> str:
    """Return what is wrong with the value of a field; empty if nothing is."""
    kind = str(schema.get("type"))
    mistaken = isinstance(value, bool) and kind in ("integer", "number")
    if mistaken or not isinstance(value, _TYPES.get(kind, object)):
        return f"it must be of the type {kind}"
    if "enum" in schema and value not in schema["enum"]:
        return f"choose from {', '.join(map(str, schema['enum']))}"
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return "JSON has no such number"
    if "minimum" in schema and value < schema["minimum"]:
        return f"it must be at least {schema['minimum']}"
    if "maximum" in schema and value > schema["maximum"]:
        return f"it must be at most {schema['maximum']}"
    items = value if kind == "array" else ()
    return next(filter(None, (value_fault(schema.get("items") or {}, item) for item in items)), "")
