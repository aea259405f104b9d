"""JSON of records and plain values, as the journal stores it; digests of bytes.

A caller always receives what the journal will return later: a reply that does not survive JSON is refused at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, TypeVar

from pydantic_core import PydanticSerializationError, ValidationError, to_json, to_jsonable_python

from leadline.records import Record

R = TypeVar("R", bound=Record)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def digest(data: bytes, size: int = 16) -> str:
    """Return the BLAKE2b digest in hexadecimal; `size` in bytes."""
    return blake2b(data, digest_size=size).hexdigest()


def encode(reply: Any, model: type[R]) -> tuple[bytes, R]:
    """Return the reply as JSON, and the record that this JSON is decoded to.

    Lone surrogates, which the text of a PDF may contain, are replaced. Raises TypeError for a reply of another type and
    for one that JSON changes: NaN, foreign objects.
    """
    reply = require_type(reply, model)
    try:
        data = reply.model_dump_json(warnings=False).encode()
    except (PydanticSerializationError, UnicodeEncodeError):
        reply, data = _encode_without_surrogates(reply)
    decoded = _decode_equal(reply, data)
    return data, decoded if type(decoded) is model else decode(data, model)


def decode(data: bytes, model: type[R]) -> R:
    """Return a new record from its JSON; raises ValidationError."""
    return model.model_validate_json(data)


def is_valid(data: bytes, model: type[Record]) -> bool:
    """Return whether the JSON can be decoded: that of another version may not."""
    try:
        decode(data, model)
    except ValidationError:
        return False
    return True


def require_type(reply: Any, model: type[R]) -> R:
    """Return the reply of a plugin. Raises TypeError if it is not an instance of the contract's record."""
    if not isinstance(reply, model):
        raise TypeError(f"the reply is {type(reply).__name__}, not {model.__name__}")
    return reply


def json_bytes(value: Any) -> bytes:
    """Return a record, a tuple of records or plain JSON as UTF-8 JSON, lone surrogates replaced."""
    try:
        return to_json(value)
    except (PydanticSerializationError, UnicodeEncodeError):
        tree = to_jsonable_python(without_surrogates(value))  # leaves the texts of records unchanged
        return to_json(without_surrogates(tree))


def prompt_json(fields: Mapping[str, Any]) -> bytes:
    """Return JSON for a prompt: one line per field and per item of a list, without the tokens of an indent."""
    return b"{\n%s\n}" % b",\n".join(json_bytes(str(name)) + b": " + _items(value) for name, value in fields.items())


def without_surrogates(value: Any) -> Any:
    """Return the value with U+FFFD for every lone surrogate in its texts."""
    match value:
        case str():
            return _LONE_SURROGATE.sub("\ufffd", value)
        case list() | tuple():
            return type(value)(without_surrogates(item) for item in value)
        case dict():
            return {without_surrogates(name): without_surrogates(item) for name, item in value.items()}
        case _:
            return value


def _items(value: Any) -> bytes:
    if isinstance(value, list | tuple) and len(value) > 1:
        return b"[\n%s\n]" % b",\n".join(map(json_bytes, value))
    return json_bytes(value)


def _encode_without_surrogates(reply: R) -> tuple[R, bytes]:
    try:
        clean = type(reply).model_validate(without_surrogates(reply.model_dump(warnings=False)))
        return clean, clean.model_dump_json().encode()
    except (PydanticSerializationError, ValidationError) as error:
        raise TypeError(f"the reply does not survive JSON: {error}") from error


def _decode_equal(reply: R, data: bytes) -> R:
    try:
        decoded = type(reply).model_validate_json(data)
    except ValidationError as error:
        raise TypeError(f"the reply does not survive JSON: {error}") from error
    for name in type(reply).model_fields if decoded != reply else ():
        if getattr(decoded, name) != getattr(reply, name):
            raise TypeError(f"the reply does not survive JSON: {name} changes")
    return decoded
