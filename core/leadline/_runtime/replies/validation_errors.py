"""Explains validation errors to a model: the place, the expected value, the value found."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ValidationError

from leadline._runtime.replies.coercion import Shape, field_named, fields_of
from leadline.records import Record
from leadline.schemas import schema_of

# Number of problems to report; given more, models correct only the first ones.
_MOST = 5
# Characters to quote of a wrong value.
_SAID = 60
# Number of unexpected keys to list beside a missing one.
_KEYS = 4
_WANTED = {
    "text": "a text",
    "number": "a number, without quotes, signs or units",
    "share": "a number from 0 to 1",
    "map": "an object",
}
_BY_ERROR = {"bool": "true or false", "int": "a whole number", "string": "a text", "float": _WANTED["number"]}
Place = Sequence[int | str]


def explain_errors(error: ValidationError, model: type[Record]) -> str:
    """Return the problems of a reply, one clause each."""
    found = dict.fromkeys(_complaint(one, model) for one in error.errors(include_url=False))
    told, more = list(found)[:_MOST], len(found) - _MOST
    return "; ".join([*told, f"and {more} more like these"] if more > 0 else told)


def explain_missing(wanted: Iterable[str], keys: Iterable[Any]) -> str:
    """Return a message that names the expected fields and the keys found instead."""
    there = [f'"{str(key)[:_SAID]}"' for key in keys][:_KEYS]
    written = f" (you wrote {', '.join(there)})" if there else ""
    return f"it has none of the fields {', '.join(wanted)}{written}"


def _complaint(error: Any, model: type[Record]) -> str:
    place, said = list(error["loc"]), error["input"]
    if error["type"] == "missing":
        holder = _shape(place[:-1], model)
        others = _others(said, holder.model if holder else model)
        return f'{_path(place[:-1]) or "the object"} lacks "{place[-1]}"{others}'
    wanted = _wanted(error, _shape(place, model))
    return f"{_path(place) or 'the reply'} must be {wanted}; you wrote {_short(said)}"


def _others(said: Any, model: type[Record]) -> str:
    """Return the unexpected keys: one of them may be the missing field."""
    keys = [key for key in said if not field_named(key, model)][:_KEYS] if isinstance(said, dict) else []
    return f" (you wrote {', '.join(json.dumps(str(key)[:_SAID], ensure_ascii=False) for key in keys)})" if keys else ""


def _wanted(error: Any, shape: Shape | None) -> str:
    if shape is not None:
        if shape.kind == "choice":
            return f"one of {', '.join(json.dumps(choice) for choice in shape.choices)}"
        if shape.kind == "record":
            return f"an object with the fields {_fields(shape.model)}"
        if shape.kind == "list":
            inside = shape.items[0]
            return f"a list of objects with the fields {_fields(inside.model)}" if inside.kind == "record" else "a list"
        if shape.kind in _WANTED:
            return _WANTED[shape.kind]
    kind = error["type"].partition("_")[0]
    return _BY_ERROR.get(kind) or error["msg"].removeprefix("Input should be ").removeprefix("a valid ")


def _fields(model: type[Record]) -> str:
    properties: Any = schema_of(model)["properties"]
    return ", ".join(properties)


def _shape(place: Place, model: type[Record]) -> Shape | None:
    """Return the shape at a place; None if only pydantic understands it."""
    shape = Shape("record", model=model)
    for step in place:
        if shape.kind == "record" and step in fields_of(shape.model):
            shape = fields_of(shape.model)[str(step)].shape
        elif shape.kind in ("list", "map"):
            shape = shape.items[0]
        else:
            return None
    return shape


def _path(place: Place) -> str:
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in place]
    path = "".join(steps).removeprefix(".")
    return f'"{path}"' if len(place) == 1 else path


def _short(said: Any) -> str:
    try:
        text = json.dumps(said, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return "what cannot be read"
    return text if len(text) <= _SAID else f"{text[:_SAID]}…"
