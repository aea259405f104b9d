"""JSON schemas in the form that strict decoding takes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_NOT_STRICT = ("prefixItems", "patternProperties", "unevaluatedProperties", "not")


def name_of(schema: Mapping[str, Any]) -> str:
    """Return the name a schema is sent by."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", str(schema.get("title") or "reply"))[:64]


def strict(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the schema with every property required and no other allowed, which is what strict decoding asks for.

    None where it cannot be said so: an object with free keys, a tuple.
    """
    try:
        closed = _closed(schema)
    except _OpenError:
        return None
    return closed if closed.get("type") == "object" else None


class _OpenError(Exception):
    """The schema holds something that cannot be closed."""


def _closed(node: Any) -> Any:
    if isinstance(node, list):
        return [_closed(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    if "$ref" in node:
        return {"$ref": node["$ref"]}  # strict decoding takes no sibling of a reference
    if any(name in node for name in _NOT_STRICT):
        raise _OpenError
    kept = {name: value for name, value in node.items() if name != "default"}
    for name in ("properties", "$defs"):
        if name in kept:
            kept[name] = {key: _closed(value) for key, value in kept[name].items()}
    for name in ("items", "anyOf", "allOf", "oneOf"):
        if name in kept:
            kept[name] = _closed(kept[name])
    return _object(kept) if kept.get("type") == "object" else _typed(kept)


def _object(node: dict[str, Any]) -> dict[str, Any]:
    if "properties" not in node or node.get("additionalProperties") not in (None, False):
        raise _OpenError
    return node | {"required": list(node["properties"]), "additionalProperties": False}


def _typed(node: dict[str, Any]) -> dict[str, Any]:
    """Return a node that says what it is; one that allows anything cannot be closed."""
    if not {"type", "anyOf", "allOf", "oneOf", "enum", "const"} & set(node):
        raise _OpenError
    return node
