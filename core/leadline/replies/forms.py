"""The form of a reply: its JSON schema, and an example of it, which a weak model reads more easily."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from leadline.records import Json, Record

_LONGEST = 700
"""Characters of an example; the form of a larger reply is told by its schema alone."""
_OR = " | "
_SAMPLES = {"boolean": f"true{_OR}false", "integer": "1", "number": "0.5"}


@cache
def schema(reply: type[Record]) -> Json:
    """Return the JSON schema of a reply."""
    return reply.model_json_schema()


@cache
def shown(reply: type[Record]) -> tuple[str, ...]:
    """Return the fields that the schema of a reply shows: what a model is not asked for it is not told to lack."""
    return tuple(_properties(schema(reply)))


@cache
def example(reply: type[Record]) -> str:
    """Return an example of a reply, as JSON with all that may be chosen from; empty where it would be long.

    A choice that is made in an example is copied.
    """
    form: Any = schema(reply)
    said = _sample(form, form.get("$defs", {}))
    return said if len(said) <= _LONGEST else ""


def _properties(form: Any) -> dict[str, Any]:
    return dict(form.get("properties", {}))


def _sample(form: Any, forms: Any) -> str:
    if "$ref" in form:
        return _sample(forms[form["$ref"].rpartition("/")[2]], forms)
    if choices := form.get("enum"):
        return _OR.join(json.dumps(choice, ensure_ascii=False) for choice in choices)
    if branches := form.get("anyOf"):
        return _sample(branches[0], forms)
    match form.get("type"):
        case "object":
            return "{" + ", ".join(f'"{name}": {_sample(one, forms)}' for name, one in _properties(form).items()) + "}"
        case "array":
            return f"[{_sample(form.get('items', {}), forms)}]"
        case kind:
            return _SAMPLES.get(kind, '"…"')
