"""Content keys of calls: the same content is the same call, in every process and on every machine.

A key is the digest of a JSON text, which the journal stores too; resume, replay, sharing and idempotency all depend on
it. Values without a canonical form (the order of a set, a local path, the time of day) are refused with their path.
"""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from typing import Any

from pydantic import BaseModel, JsonValue
from pydantic_core import PydanticSerializationError, to_json

from leadline.encoding import digest

# Characters that `outline` keeps of a long text.
HEAD = 200
_LONG = 2 * HEAD
_HEAD = re.compile(r"… \(\d+ characters, [0-9a-f]{32}\)\Z")


def plain(value: Any, path: str = "request") -> JsonValue:
    """Return the value as plain JSON: records without their default-valued fields, bytes as base64.

    Raises TypeError, with the path, for values that differ from run to run or have no JSON: set, Path, datetime, NaN,
    SecretStr. A frozen set of text (`Labels`) is sorted.
    """
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, list | tuple):
        return [plain(item, f"{path}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, BaseModel):
        fields = ((name, getattr(value, name), default) for name, default in _defaults(type(value)))
        return {name: plain(item, f"{path}.{name}") for name, item, default in fields if item != default}
    if isinstance(value, Mapping):
        if odd := next((name for name in value if not isinstance(name, str)), None):
            raise TypeError(f"{path}: a mapping's keys are text, not {type(odd).__name__}")
        return {name: plain(item, f"{path}.{name}") for name, item in value.items()}
    if isinstance(value, float) and math.isfinite(value):
        # An integer read back as a declared float is the same number.
        return int(value) if value.is_integer() else value
    if isinstance(value, Decimal) and value.is_finite():
        return str(value)
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, frozenset) and all(isinstance(item, str) for item in value):
        return sorted(value)
    raise TypeError(f"{path}: {value!r:.80} ({type(value).__name__}) cannot be part of a request; use text or a number")


@cache
def _defaults(model: type[BaseModel]) -> tuple[tuple[str, Any], ...]:
    fields = model.model_fields.items()
    return tuple((name, field.get_default(call_default_factory=True)) for name, field in fields if not field.exclude)


def dump(tree: JsonValue) -> bytes:
    """Return the canonical JSON of a plain tree: names sorted, no white space, ASCII (lone surrogates escaped)."""
    return json.dumps(tree, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def call_text(
    kind: str, provider: str, fingerprint: str, request: JsonValue, sample: int, principal: str = ""
) -> bytes:
    """Return the JSON text of a call: its digest is the call's key, and the journal keeps it for people.

    `provider` is the name of the plugin instance, `fingerprint` that of the settings that change its answers;
    `request` is outlined; `sample` tells intended repetitions apart, `principal` the users on whose behalf calls are
    made. No stage name or position is part of it.
    """
    # "maker" is the provider: another name would change every key of every journal.
    parts = {"fingerprint": fingerprint, "kind": kind, "maker": provider, "request": request, "sample": sample}
    if principal:  # without one, keys are as in older journals
        parts["principal"] = principal
    try:
        return to_json(parts)
    except PydanticSerializationError:  # a lone surrogate, which has no UTF-8
        return dump(parts)


def fingerprint(values: Mapping[str, Any]) -> str:
    """Return a digest of the settings that change answers: 16 hexadecimal digits, empty for none."""
    return digest(dump(plain(values)), 8) if values else ""


def outline(tree: JsonValue) -> JsonValue:
    """Return plain JSON with long texts cut to their head, length and digest: for people, for differences, for keys.

    Names are sorted, so that equal trees have one JSON text. Different trees have different outlines: a short text
    that looks like an outlined one is cut too.
    """
    if isinstance(tree, str):
        return _head(tree) if len(tree) > _LONG or (tree[-1:] == ")" and _HEAD.search(tree)) else tree
    if isinstance(tree, dict):
        return {name: outline(item) for name, item in sorted(tree.items())}
    return [outline(item) for item in tree] if isinstance(tree, list) else tree


def _head(text: str) -> str:
    return f"{text[:HEAD]}… ({len(text)} characters, {digest(text.encode('utf-8', 'surrogatepass'))})"
