"""The core's settings as far as they are sound: what is wrong is told and left out, the rest is looked at all the same.

One typo would otherwise hide what else is wrong: whoever mends it is told of the next, one at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from leadline.errors import ConfigError
from leadline.settings.errors import path_of, problems
from leadline.settings.layers import Layer, origin_of
from leadline.settings.model import Settings
from leadline.settings.types import KeyPath

Values = Mapping[str, Any]
_NO_PIPELINE = re.compile(r"there is no pipeline '([^']+)'")


def sound(layers: Sequence[Layer]) -> tuple[Settings, list[str], set[KeyPath]]:
    """Return the core's settings without what is wrong with them, what that is, in words, and what was left out.

    Raises `ConfigError` where nothing can be left out that would make them sound.
    """
    from leadline.settings.merge import merge  # pydantic-settings costs 70 ms of CPU

    given: list[Values] = [layer.read(Settings) for layer in layers]
    told: list[str] = []
    gone: set[KeyPath] = set()
    for whole in (False, True, True):
        try:
            return merge(given), told, gone
        except ValidationError as error:
            details = error.errors()
        told = told or [*problems(details, Settings, given, partial(origin_of, layers))]
        wrong = {path[:1] if whole else path for path in (_left_out(detail, given) for detail in details)}
        gone |= {_reached(path, given) for path in wrong}
        given = [_without(values, wrong) for values in given]
    # Outside of `except`: the validation error holds what stands in the files, and must not be chained.
    raise ConfigError("\n".join(told))


def beside(gone: Iterable[KeyPath], found: Iterable[str]) -> list[str]:
    """Return what is wrong besides what was left out: not what only follows from that."""
    keys = [".".join(path) for path in gone]
    return [text for text in found if not _follows(text, keys)]


def _follows(problem: str, gone: Sequence[str]) -> bool:
    """Return whether a problem is one only because of keys that are gone: its own, or those of a pipeline it needs."""
    own = problem.partition(":")[0]
    needed = [f"pipelines.{name}" for name in _NO_PIPELINE.findall(problem)] or own.split(", ")
    emptied = own.startswith("pipelines.") and any(_within(key, own) for key in gone)
    return emptied or all(any(_within(key, other) for other in gone) for key in needed)


def _within(key: str, table: str) -> bool:
    """Return whether a key is another, or stands in its table."""
    return key == table or key.startswith(f"{table}.")


def _reached(path: KeyPath, given: Sequence[Values]) -> KeyPath:
    """Return what `_cut` takes away for a path: no more of it than leads through tables."""
    inner: list[Any] = [*given]
    for place, key in enumerate(path, start=1):
        inner = [values[key] for values in inner if isinstance(values, Mapping) and key in values]
        if any(not isinstance(values, Mapping) for values in inner):
            return path[:place]
    return path


def _left_out(detail: ErrorDetails, given: Sequence[Values]) -> KeyPath:
    path = path_of(detail, given)
    return path[:-1] if detail["type"] == "missing" else path


def _without(values: Values, wrong: Iterable[KeyPath]) -> Values:
    for path in wrong:
        values = _cut(values, path)
    return values


def _cut(values: Values, path: KeyPath) -> Values:
    """Return a table without what stands at a path; of a list all goes, for its items stand for each other."""
    key, *below = path or ("",)
    if key not in values:
        return values
    if below and isinstance(inner := values[key], Mapping):
        return {**values, key: _cut(inner, tuple(below))}
    return {name: value for name, value in values.items() if name != key}
