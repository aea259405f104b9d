"""The names of calls: the same content is the same call, in every process, on every machine.

A key is a digest of one JSON text, which the journal keeps too, so that resume, replay, sharing and idempotency rest on
one notion of "the same". What has no canonical form (a mutable set's order, a path of this machine, the time of day) is
refused, with its place.
"""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import cache
from hashlib import blake2b
from typing import Any

from pydantic import BaseModel, JsonValue
from pydantic_core import PydanticSerializationError, to_json

HEAD = 200
"""Characters of a long text that `outline` leaves standing."""
_LONG = 2 * HEAD
_HEAD = re.compile(r"… \(\d+ characters, [0-9a-f]{32}\)\Z")


def plain(value: Any, path: str = "request") -> JsonValue:
    """Return the value as plain JSON: records without their default-valued fields, bytes as base64.

    A record that holds what is plain already says so by a method `__plain__`, and is not gone through again.
    Raises TypeError, naming the path, for whatever would differ from run to run or has no JSON: set, Path, datetime,
    NaN, SecretStr. A frozen set of text (`Labels`) is sorted.
    """
    try:
        return _plain(value)
    except _UnfitError as error:
        raise TypeError(f"{path}{error.place}{error.words}") from None


class _UnfitError(Exception):
    """What has no place in a request: the place is put together on the way out, for it is hardly ever asked for."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words
        self.place = ""


_ITSELF = frozenset((str, int, bool, type(None)))
"""What is plain JSON as it is; asked by the exact type."""


def _plain(value: Any) -> JsonValue:
    kind: Any = type(value)
    if kind in _ITSELF:
        return value  # type: ignore[no-any-return]
    if kind is tuple or kind is list:
        try:
            return [item if type(item) in _ITSELF else _plain(item) for item in value]
        except _UnfitError:
            return list(_tree(enumerate(value)).values())  # which says where
    if kind is not dict and isinstance(value, BaseModel):
        known = _known(kind)
        return known(value) if known else _fields(value.__dict__, _defaults(kind))
    if isinstance(value, Mapping):
        return _tree(zip([_name(name) for name in value], value.values(), strict=True))
    return _scalar(value)


def _fields(held: Mapping[str, Any], defaults: Iterable[tuple[str, Any]]) -> dict[str, JsonValue]:
    """Return the fields of a record that are not at their defaults; written out, for records are most of a request."""
    tree: dict[str, JsonValue] = {}
    name = ""
    try:
        for name, default in defaults:
            item = held[name]
            if item is not default and item != default:
                tree[name] = item if type(item) in _ITSELF else _plain(item)
    except _UnfitError as error:
        error.place = f".{name}{error.place}"
        raise
    return tree


def _tree(items: Iterable[tuple[Any, Any]]) -> dict[Any, JsonValue]:
    tree: dict[Any, JsonValue] = {}
    place: Any = None
    try:
        for place, item in items:
            tree[place] = item if type(item) in _ITSELF else _plain(item)
    except _UnfitError as error:
        error.place = f"[{place}]{error.place}" if isinstance(place, int) else f".{place}{error.place}"
        raise
    return tree


@cache
def _known(model: type[BaseModel]) -> Callable[[Any], JsonValue] | None:
    """Return the method by which a record says itself what it is; to learn that it has none takes pydantic long."""
    return getattr(model, "__plain__", None)


@cache
def _defaults(model: type[BaseModel]) -> tuple[tuple[str, Any], ...]:
    fields = model.model_fields.items()
    return tuple((name, field.get_default(call_default_factory=True)) for name, field in fields if not field.exclude)


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise _UnfitError(f": a mapping's keys are text, not {type(name).__name__}")
    return name


def _scalar(value: Any) -> JsonValue:
    if isinstance(value, int | str | list | tuple):  # of a class derived from them
        return _plain(list(value)) if isinstance(value, list | tuple) else value
    if isinstance(value, float) and math.isfinite(value):
        # A default of 50 that was stored is read again as the float it is declared to be: the same number, one form.
        return int(value) if value.is_integer() else value
    if isinstance(value, Decimal) and value.is_finite():
        return str(value)
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, frozenset) and all(isinstance(item, str) for item in value):
        return sorted(value)
    raise _UnfitError(f": {value!r:.80} ({type(value).__name__}) cannot stand in a request; give text or a number")


def canonical(value: Any) -> bytes:
    """Return the one JSON text of a value: keys sorted, no white space, ASCII (lone surrogates escaped)."""
    return dump(plain(value))


def dump(tree: JsonValue) -> bytes:
    """Return the one JSON text of what is plain already."""
    return json.dumps(tree, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def digest(data: bytes, size: int = 16) -> str:
    """Return the BLAKE2b digest in hexadecimal, `size` bytes long."""
    return blake2b(data, digest_size=size).hexdigest()


def call_text(kind: str, maker: str, fingerprint: str, request: JsonValue, sample: int) -> bytes:
    """Return the JSON text of a call: its digest is the call's key, and the journal keeps it for people.

    `maker` is the instance that answers, `fingerprint` that of its settings that change answers; `request` is outlined;
    `sample` tells wanted repetitions apart. No stage name or position is in it.
    """
    parts = {"fingerprint": fingerprint, "kind": kind, "maker": maker, "request": request, "sample": sample}
    try:
        return to_json(parts)
    except PydanticSerializationError:  # a lone surrogate, which has no UTF-8
        return dump(parts)


def fingerprint(values: Mapping[str, Any]) -> str:
    """Return a digest of the settings that change answers: 16 hexadecimal digits, empty for none."""
    return digest(canonical(values), 8) if values else ""


def outline(tree: JsonValue) -> JsonValue:
    """Return the tree with long texts cut to their head, length and digest: for people, to find differences, for keys.

    Names are in order, so that equal trees have one JSON text. Other trees have other outlines: a text that looks like
    the outline of another is cut too.
    """
    if isinstance(tree, str):
        return _head(tree) if len(tree) > _LONG or (tree[-1:] == ")" and _HEAD.search(tree)) else tree
    # Most of a tree is short texts and numbers: they are passed over without a call for each.
    if isinstance(tree, dict):
        return {
            name: item if type(item) is str and len(item) <= _LONG and item[-1:] != ")" else outline(item)
            for name, item in sorted(tree.items())
        }
    if isinstance(tree, list):
        return [
            item if type(item) is str and len(item) <= _LONG and item[-1:] != ")" else outline(item) for item in tree
        ]
    return tree


def _head(text: str) -> str:
    return f"{text[:HEAD]}… ({len(text)} characters, {digest(text.encode('utf-8', 'surrogatepass'))})"
