"""The core's settings as far as they are sound: what is wrong is told and left out, the rest is looked at all the same.

One typo would otherwise hide what else is wrong: whoever mends it is told of the next, one at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from leadline.errors import ConfigError
from leadline.settings_errors import path_of, problems
from leadline.settings_layers import Layer, origin_of
from leadline.settings_model import Settings
from leadline.settings_types import KeyPath

Values = Mapping[str, Any]


def sound(layers: Sequence[Layer]) -> tuple[Settings, list[str]]:
    """Return the core's settings without what is wrong with them, and what that is, in words.

    Raises `ConfigError` where nothing can be left out that would make them sound.
    """
    from leadline.settings_merge import merge  # pydantic-settings costs 70 ms of CPU

    given: list[Values] = [layer.read(Settings) for layer in layers]
    told: list[str] = []
    for whole in (False, True, True):
        try:
            return merge(given), told
        except ValidationError as error:
            details = error.errors()
        told = told or [*problems(details, Settings, given, partial(origin_of, layers))]
        wrong = {path[:1] if whole else path for path in (_left_out(detail, given) for detail in details)}
        given = [_without(values, wrong) for values in given]
    # Outside of `except`: the validation error holds what stands in the files, and must not be chained.
    raise ConfigError("\n".join(told))


def beside(told: Sequence[str], found: Iterable[str]) -> list[str]:
    """Return what is wrong besides what was told: not what only follows from a key that was left out."""
    known = {_place(text) for text in told}
    return [text for text in found if _place(text) not in known]


def _place(problem: str) -> tuple[str, ...]:
    """Return the section of a problem, with the first key in it."""
    return tuple(problem.partition(":")[0].split(".")[:2])


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
