"""Where settings come from: each source read into one layer, every value with its origin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from leadline.errors import ConfigError, UsageError
from leadline.settings.pipelines import BUILT_IN
from leadline.settings.types import KeyPath, Raw, read_text

PREFIX = "LEADLINE_"
FILE_VARIABLE = "LEADLINE_SETTINGS"
"""Names the settings file to read."""
DEBUG_VARIABLE = "LEADLINE_DEBUG"
"""Asks for the traceback of a bug; read by the command line."""
_NO_SETTINGS = (FILE_VARIABLE, DEBUG_VARIABLE)
"""The variables with the prefix that are no settings."""


@dataclass
class Layer:
    """Nested values of one source, and where each leaf stands."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[KeyPath, str] = field(default_factory=dict)

    def put(self, path: KeyPath, value: Any, origin: str) -> None:
        """Add a leaf. Raises `ConfigError` where a value meets a section of the same name."""
        place = self.values
        for depth, key in enumerate(path[:-1]):
            place = place.setdefault(key, {})
            if not isinstance(place, dict):
                raise self._clash(path[: depth + 1], origin)
        if isinstance(place.get(path[-1]), dict):
            raise self._clash(path, origin)
        place[path[-1]] = value
        self.origins[path] = origin

    def read(self, model: type[BaseModel]) -> dict[str, Any]:
        """Return the values, their text read as far as the model tells what it is."""
        values: dict[str, Any] = read_text(self.values, model, (), self._refuse)
        return values

    def _refuse(self, path: KeyPath, why: str) -> ConfigError:
        return ConfigError(f"{'.'.join(path)}: {why} ({self.origin(path)})")

    def _clash(self, path: KeyPath, origin: str) -> ConfigError:
        others = [there for other, there in self.origins.items() if other[: len(path)] == path]
        return ConfigError(
            f"{'.'.join(path)}: given as a value and as a section, by {others[0]} and {origin}: take one of them out"
        )

    def origin(self, path: KeyPath) -> str:
        """Return where a value stands, or the first of a section; empty where this layer has neither."""
        for depth in range(len(path), 0, -1):
            if path[:depth] in self.origins:
                return self.origins[path[:depth]]
        return next((where for other, where in self.origins.items() if other[: len(path)] == path), "")


def origin_of(layers: Iterable[Layer], path: KeyPath) -> str:
    """Return where the value that won stands."""
    return next(filter(None, (layer.origin(path) for layer in layers)), "default")


def from_arguments(arguments: Mapping[str, Any]) -> Layer:
    """Return a call's arguments, dotted or nested; None is an argument not given."""
    layer = Layer()
    for key, value in arguments.items():
        for path, leaf in leaves(value, tuple(key.split("."))):
            if leaf is not None:
                layer.put(path, leaf, "argument")
    return layer


def from_sets(sets: Iterable[str]) -> Layer:
    """Return what `--set KEY=VALUE` says; of the same key the last."""
    layer = Layer()
    for text in sets:
        key, equals, value = text.partition("=")
        path = tuple(part.strip() for part in key.split("."))
        if not equals or not all(path):
            raise UsageError(f"--set {text!r}: write KEY=VALUE, such as --set search.strategy=race")
        layer.put(path, Raw(value), f"--set {key.strip()}")
    return layer


def from_environment(variables: Mapping[str, str | None], label: str) -> Layer:
    """Return the settings among variables, `LEADLINE_SECTION__KEY`; `label` says where the variables stand.

    An empty variable is not set, here as in the shell's `${NAME:-default}`.
    """
    layer = Layer()
    for name, value in variables.items():
        if not name.startswith(PREFIX) or name in _NO_SETTINGS or value == "":
            continue
        path = tuple(name.removeprefix(PREFIX).lower().split("__"))
        if value is None or not all(path):
            raise ConfigError(f"{label} {name}: write {PREFIX}KEY=VALUE or {PREFIX}SECTION__KEY=VALUE")
        layer.put(path, Raw(value), f"{label} {name}")
    return layer


def built_in() -> Layer:
    """Return the pipelines that ship, so that a file may add to them."""
    pipelines = {name: pipeline.model_dump(exclude_unset=True) for name, pipeline in BUILT_IN.items()}
    return Layer({"pipelines": pipelines})


def leaves(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Yield every leaf of nested tables with its path; an empty table is one."""
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from leaves(item, (*path, str(key)))
    else:
        yield path, value
