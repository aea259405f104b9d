"""How replies are written down and read again: what a caller gets is always what the journal will give later."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic_core import PydanticSerializationError, ValidationError, to_json, to_jsonable_python

from leadline.records import Record

R = TypeVar("R", bound=Record)
_LONE = re.compile("[\ud800-\udfff]")


def encode(reply: Any, model: type[R]) -> tuple[bytes, R]:
    """Return the reply as JSON, lone surrogates replaced (a PDF's text may hold them), and as it is read from there.

    Raises TypeError for what would not come back the same: another type, NaN, a foreign object.
    """
    reply = right(reply, model)
    try:
        data = reply.model_dump_json(warnings=False).encode()
    except (PydanticSerializationError, UnicodeEncodeError):
        reply, data = _scrubbed(reply)
    again = _again(reply, data)
    return data, again if type(again) is model else decode(data, model)


def right(reply: Any, model: type[R]) -> R:
    """Return the reply of a plugin. Raises TypeError where it is of another type than its contract says."""
    if not isinstance(reply, model):
        raise TypeError(f"the reply is {type(reply).__name__}, not {model.__name__}")
    return reply


def compact(value: Any, indent: int | None = None) -> bytes:
    """Return a record, a tuple of records or plain JSON as UTF-8, on one line or indented, lone surrogates replaced."""
    try:
        return to_json(value, indent=indent)
    except (PydanticSerializationError, UnicodeEncodeError):
        tree = to_jsonable_python(without_surrogates(value))  # which leaves records as they are
        return to_json(without_surrogates(tree), indent=indent)


def indented(value: Any) -> bytes:
    """Return the same for people to read; `json.dumps` leaves its C code where it indents (5 times as long)."""
    return compact(value, indent=1)


def lined(fields: Mapping[str, Any]) -> bytes:
    """Return the same for models to read: a field a line, of a list an item a line; an indent would cost tokens."""
    return b"{\n%s\n}" % b",\n".join(compact(str(name)) + b": " + _items(value) for name, value in fields.items())


def _items(value: Any) -> bytes:
    if isinstance(value, list | tuple) and len(value) > 1:
        return b"[\n%s\n]" % b",\n".join(map(compact, value))
    return compact(value)


def _scrubbed(reply: R) -> tuple[R, bytes]:
    try:
        clean = type(reply).model_validate(without_surrogates(reply.model_dump(warnings=False)))
        return clean, clean.model_dump_json().encode()
    except (PydanticSerializationError, ValidationError) as error:
        raise TypeError(f"the reply does not survive JSON: {error}") from error


def _again(reply: R, data: bytes) -> R:
    try:
        again = type(reply).model_validate_json(data)
    except ValidationError as error:
        raise TypeError(f"the reply does not survive JSON: {error}") from error
    if again != reply:
        raise TypeError(f"the reply does not survive JSON: {_difference(reply, again)} is not the same when read again")
    return again


def _difference(one: Record, other: Record) -> str:
    return next(name for name in type(one).model_fields if getattr(one, name) != getattr(other, name, None))


def without_surrogates(value: Any) -> Any:
    """Return the value with U+FFFD for every lone surrogate in its texts."""
    match value:
        case str():
            return _LONE.sub("\ufffd", value)
        case list() | tuple():
            return type(value)(without_surrogates(item) for item in value)
        case dict():
            return {without_surrogates(name): without_surrogates(item) for name, item in value.items()}
        case _:
            return value


def decode(data: bytes, model: type[R]) -> R:
    """Return a fresh record from its JSON."""
    return model.model_validate_json(data)


def reads(data: bytes, model: type[Record]) -> bool:
    """Return whether the JSON is a reply of this form: what another version wrote may not be."""
    try:
        decode(data, model)
    except ValidationError:
        return False
    return True
