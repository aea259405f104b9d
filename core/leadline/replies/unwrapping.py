"""Which object of a reply is the reply: no schema that a model repeats, and what stands in a wrapper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from leadline.records import Record
from leadline.replies.shapes import folded, known_by, names_of

_DEEPEST = 3
"""Wrappers in one another."""
_PARTS = frozenset({"type", "$ref", "anyOf", "allOf", "oneOf", "enum", "const", "items"})
"""One of them stands in every property of a schema."""


def known(tree: Mapping[str, Any], model: type[Record], *, other_names: bool = False) -> int:
    """Return how many of the model's fields an object has, whatever the case of its keys."""
    if other_names:
        return len({known_by(key, model) for key in tree} - {""})
    return len({names_of(model).get(folded(key)) for key in tree} - {None})


def unwrapped(
    value: object, model: type[Record], deep: int = 0, least: int = 0, *, other_names: bool = False
) -> Iterator[Mapping[str, Any]]:
    """Yield the objects that may be the reply, the outermost first; one within only where it has more of the fields.

    So a part of a reply that does not fit is not taken for the whole of it. `other_names`: fields count by the other
    names that models give them too.
    """
    if not isinstance(value, dict):
        return
    inner = list(value.values())
    if is_schema(value, model):
        inner = [value.get("properties")]
        if _describes(inner[0]):
            return
    elif (fields := known(value, model, other_names=other_names)) > least or not (value or deep):
        yield value
        least = fields
    if deep < _DEEPEST:
        objects = [one for one in map(_alone, inner) if one]
        for one in sorted(objects, key=lambda one: -known(one, model)):
            yield from unwrapped(one, model, deep + 1, least, other_names=other_names)


def is_schema(value: Mapping[str, Any], model: type[Record]) -> bool:
    """Return whether an object is a JSON schema, and no reply that has such fields."""
    if model.model_fields.keys() & {"$schema", "$defs", "properties"}:
        return False
    described = value.get("type") == "object" and isinstance(value.get("properties"), dict)
    return described or "$schema" in value or "$defs" in value


def _describes(properties: object) -> bool:
    """Return whether properties are those of a schema; a model may have filled them in."""
    if not isinstance(properties, dict):
        return True
    return all(isinstance(one, dict) and _PARTS & one.keys() for one in properties.values())


def _alone(value: object) -> dict[str, Any] | None:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, dict) else None
