"""JSON schemas of replies, written by hand from small parts or derived from a record.

Every object lists all its properties as required and allows no others, as strict decoding requires, so that servers
receive exactly the schema that the prompt shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from leadline.records import Json, Record

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
def schema_of(reply: type[Record]) -> Json:
    """Return a compact schema of a record: no titles, defaults or descriptions."""
    schema: Json = _compact(reply.model_json_schema())
    return schema


def _compact(node: Any) -> Any:
    if isinstance(node, list):
        return [_compact(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    # "type" comes first: models read a schema from its beginning.
    kept = {name: _compact(node[name]) for name in ("type", *node) if name in node and name not in (*_OMITTED, *_NAMED)}
    kept |= {name: {key: _compact(value) for key, value in node[name].items()} for name in _NAMED if name in node}
    if "properties" in node:
        return kept | {"required": list(node["properties"]), "additionalProperties": False}
    free = node.get("additionalProperties")
    return kept | ({"additionalProperties": _compact(free)} if isinstance(free, Mapping) else {})
