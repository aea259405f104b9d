"""The names of calls: the same content is the same call, in every process, on every machine.

A key is a digest of canonical JSON, so that resume, replay, sharing and idempotency rest on one notion of "the same".
What has no canonical form (a mutable set's order, a path of this machine, the time of day) is refused, with its place.
"""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache
from hashlib import blake2b
from typing import Any

from pydantic import BaseModel, JsonValue

HEAD = 200
"""Characters of a long text that `outline` leaves standing."""
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
    if isinstance(value, BaseModel):
        if known := getattr(kind, "__plain__", None):
            return known(value)  # type: ignore[no-any-return]
        held = value.__dict__
        return _tree((name, held[name]) for name, default in _defaults(kind) if held[name] != default)
    if kind is tuple or kind is list:
        try:
            return [item if type(item) in _ITSELF else _plain(item) for item in value]
        except _UnfitError:
            return list(_tree(enumerate(value)).values())  # which says where
    if isinstance(value, Mapping):
        return _tree(zip([_name(name) for name in value], value.values(), strict=True))
    return _scalar(value)


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


def call_key(kind: str, maker: str, fingerprint: str, request: JsonValue, sample: int) -> str:
    """Return the key of a call: 32 hexadecimal digits.

    `maker` is the instance that answers, `fingerprint` that of its settings that change answers; `request` is outlined;
    `sample` tells wanted repetitions apart. No stage name or position is in it.
    """
    parts = {"kind": kind, "maker": maker, "fingerprint": fingerprint, "request": request, "sample": sample}
    return digest(dump(parts))


def fingerprint(values: Mapping[str, Any]) -> str:
    """Return a digest of the settings that change answers: 16 hexadecimal digits, empty for none."""
    return digest(canonical(values), 8) if values else ""


def outline(tree: JsonValue) -> JsonValue:
    """Return the tree with long texts cut to their head, length and digest: for people, to find differences, for keys.

    Other trees have other outlines: a text that looks like the outline of another is cut too.
    """
    if isinstance(tree, str):
        return _head(tree) if len(tree) > 2 * HEAD or (tree[-1:] == ")" and _HEAD.search(tree)) else tree
    if isinstance(tree, dict):
        return {name: outline(item) for name, item in tree.items()}
    if isinstance(tree, list):
        return [outline(item) for item in tree]
    return tree


def _head(text: str) -> str:
    return f"{text[:HEAD]}… ({len(text)} characters, {digest(text.encode('utf-8', 'surrogatepass'))})"
