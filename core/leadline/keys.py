"""The names of calls: the same content is the same call, in every process, on every machine.

A key is a digest of canonical JSON, so that resume, replay, sharing and idempotency rest on one notion of "the same".
What has no canonical form (a mutable set's order, a path of this machine, the time of day) is refused, with its place.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from hashlib import blake2b
from typing import Any

from pydantic import BaseModel, JsonValue

HEAD = 200
"""Characters of a long text that `outline` leaves standing."""


def plain(value: Any, path: str = "request") -> JsonValue:
    """Return the value as plain JSON: records without their default-valued fields, bytes as base64.

    Raises TypeError, naming the path, for whatever would differ from run to run or has no JSON: set, Path, datetime,
    NaN, SecretStr. A frozen set of text (`Labels`) is sorted.
    """
    match value:
        case None | bool() | int() | str():
            return value
        case BaseModel():
            return _record(value, path)
        case list() | tuple():
            return [plain(item, f"{path}[{place}]") for place, item in enumerate(value)]
        case Mapping():
            return {_name(name, path): plain(item, f"{path}.{name}") for name, item in value.items()}
        case _:
            return _scalar(value, path)


def _record(value: BaseModel, path: str) -> JsonValue:
    fields = ((name, getattr(value, name), default) for name, default in _defaults(type(value)))
    return {name: plain(item, f"{path}.{name}") for name, item, default in fields if item != default}


@cache
def _defaults(model: type[BaseModel]) -> tuple[tuple[str, Any], ...]:
    fields = model.model_fields.items()
    return tuple((name, field.get_default(call_default_factory=True)) for name, field in fields if not field.exclude)


def _name(name: Any, path: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{path}: a mapping's keys are text, not {type(name).__name__}")
    return name


def _scalar(value: Any, path: str) -> JsonValue:
    if isinstance(value, float) and math.isfinite(value):
        # A default of 50 that was stored is read again as the float it is declared to be: the same number, one form.
        return int(value) if value.is_integer() else value
    if isinstance(value, Decimal) and value.is_finite():
        return str(value)
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, frozenset) and all(isinstance(item, str) for item in value):
        return sorted(value)
    raise TypeError(f"{path}: {value!r:.80} ({type(value).__name__}) cannot stand in a request; give text or a number")


def canonical(value: Any) -> bytes:
    """Return the one JSON text of a value: keys sorted, no white space, ASCII (lone surrogates escaped)."""
    return dump(plain(value))


def dump(tree: JsonValue) -> bytes:
    """Return the one JSON text of what is plain already."""
    return json.dumps(tree, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def digest(data: bytes, size: int = 16) -> str:
    """Return the BLAKE2b digest in hexadecimal, `size` bytes long."""
    return blake2b(data, digest_size=size).hexdigest()


def call_key(kind: str, maker: str, fingerprint: str, request: BaseModel | JsonValue, sample: int) -> str:
    """Return the key of a call: 32 hexadecimal digits.

    `maker` is the instance that answers, `fingerprint` that of its settings that change answers; `sample` tells wanted
    repetitions apart. No stage name or position is in it.
    """
    parts = {
        "kind": kind,
        "maker": maker,
        "fingerprint": fingerprint,
        "request": plain(request) if isinstance(request, BaseModel) else request,
        "sample": sample,
    }
    return digest(dump(parts))


def fingerprint(values: Mapping[str, Any]) -> str:
    """Return a digest of the settings that change answers: 16 hexadecimal digits, empty for none."""
    return digest(canonical(values), 8) if values else ""


def outline(tree: JsonValue) -> JsonValue:
    """Return the tree with long texts cut to their head, length and digest: for people, and to find differences."""
    match tree:
        case str() if len(tree) > 2 * HEAD:
            mark = digest(tree.encode("utf-8", "surrogatepass"), 8)
            return f"{tree[:HEAD]}… ({len(tree)} characters, {mark})"
        case list():
            return [outline(item) for item in tree]
        case dict():
            return {name: outline(item) for name, item in tree.items()}
        case _:
            return tree
