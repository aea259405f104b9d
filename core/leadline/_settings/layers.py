"""Layers of settings: the values of one source with their origins."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from leadline._settings.schema import KeyPath, Raw, read_text
from leadline.errors import ConfigError, UsageError
from leadline.settings import Settings

PREFIX = "LEADLINE_"
# Names the settings file.
FILE_VARIABLE = "LEADLINE_SETTINGS"
# Makes the command line print the traceback of a bug.
DEBUG_VARIABLE = "LEADLINE_DEBUG"
# Variables with the prefix that are no settings.
_NO_SETTINGS = (FILE_VARIABLE, DEBUG_VARIABLE)


@dataclass
class Layer:
    """The nested values of one source, and the origin of each leaf."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[KeyPath, str] = field(default_factory=dict)

    def put(self, path: KeyPath, value: Any, origin: str) -> None:
        """Add a leaf. Raises `ConfigError` for a value and a table of the same name."""
        table = self.values
        for depth, key in enumerate(path[:-1]):
            table = table.setdefault(key, {})
            if not isinstance(table, dict):
                raise self._clash(path[: depth + 1], origin)
        if isinstance(table.get(path[-1]), dict):
            raise self._clash(path, origin)
        table[path[-1]] = value
        self.origins[path] = origin

    def read(self, model: type[BaseModel]) -> dict[str, Any]:
        """Return the values with lists and tables parsed from text, as the model expects them."""
        values: dict[str, Any] = read_text(self.values, model, (), self._refuse)
        return values

    def _refuse(self, path: KeyPath, why: str) -> ConfigError:
        return ConfigError(f"{'.'.join(path)}: {why} ({self.origin(path)})")

    def _clash(self, path: KeyPath, origin: str) -> ConfigError:
        others = [origin for other, origin in self.origins.items() if other[: len(path)] == path]
        return ConfigError(
            f"{'.'.join(path)}: given as a value and as a table, by {others[0]} and {origin}: remove one of them"
        )

    def origin(self, path: KeyPath) -> str:
        """Return the origin of a value, or of the first value of a table; empty if the layer has neither."""
        for depth in range(len(path), 0, -1):
            if path[:depth] in self.origins:
                return self.origins[path[:depth]]
        return next((origin for other, origin in self.origins.items() if other[: len(path)] == path), "")


def with_plugin_tables(layer: Layer, plugins: Collection[str]) -> Layer:
    """Return a layer with `[NAME]` as `[plugins.NAME]`, for a plugin whose name is no table of the core.

    Raises `ConfigError` for a key that both have.
    """
    short = {name for name in layer.values if name in plugins and name not in Settings.model_fields}
    if not short:
        return layer
    found = Layer()
    for path, value in sorted(leaves(layer.values), key=lambda leaf: leaf[0][0] in short):
        where = ("plugins", *path) if path[0] in short else path
        if where in found.origins:
            raise ConfigError(
                f"{'.'.join(path)}: is also given as {'.'.join(where)}: remove one of them ({layer.origin(path)})"
            )
        found.put(where, value, layer.origin(path))
    return found


def origin_of(layers: Iterable[Layer], path: KeyPath) -> str:
    """Return the origin of the strongest value; `default` if no layer has one."""
    return next(filter(None, (layer.origin(path) for layer in layers)), "default")


def from_arguments(arguments: Mapping[str, Any]) -> Layer:
    """Return the arguments of a call, dotted or nested; None counts as not given."""
    layer = Layer()
    for key, value in arguments.items():
        for path, leaf in leaves(value, tuple(key.split("."))):
            if leaf is not None:
                layer.put(path, leaf, "argument")
    return layer


def from_sets(sets: Iterable[str]) -> Layer:
    """Return the values of `--set KEY=VALUE`; the last one of a key wins."""
    layer = Layer()
    for text in sets:
        key, equals, value = text.partition("=")
        path = tuple(part.strip() for part in key.split("."))
        if not equals or not all(path):
            raise UsageError(f"--set {text!r}: write KEY=VALUE, such as --set search.strategy=race")
        layer.put(path, Raw(value), f"--set {key.strip()}")
    return layer


def from_environment(variables: Mapping[str, str | None], label: str) -> Layer:
    """Return the settings among variables, `LEADLINE_TABLE__KEY`; `label` names the source of the variables.

    An empty variable counts as not set, as in the shell's `${NAME:-default}`.
    """
    layer = Layer()
    for name, value in variables.items():
        if not name.startswith(PREFIX) or name in _NO_SETTINGS or value == "":
            continue
        path = tuple(name.removeprefix(PREFIX).lower().split("__"))
        if value is None or not all(path):
            raise ConfigError(f"{label} {name}: write {PREFIX}KEY=VALUE or {PREFIX}TABLE__KEY=VALUE")
        layer.put(path, Raw(value), f"{label} {name}")
    return layer


def leaves(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Yield every leaf of nested tables with its path; an empty table is a leaf."""
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from leaves(item, (*path, str(key)))
    else:
        yield path, value


def merge(layers: Iterable[Mapping[str, Any]]) -> Settings:
    """Return the core's settings from nested values, the strongest first; `plugins` is left as it is written.

    The sources of pydantic-settings itself are not used: they fail on a foreign key in `.env`, ignore a misspelt
    variable, and lose the origin of a value.
    """
    from pydantic_settings import BaseSettings, InitSettingsSource  # costs 70 ms of CPU

    ordered = tuple(layers)

    class Merged(Settings, BaseSettings):  # type: ignore[misc]  # each types its own config; ours wins
        @classmethod
        def settings_customise_sources(cls, settings_cls: type[BaseSettings], *_: Any, **__: Any) -> Any:
            return tuple(InitSettingsSource(settings_cls, dict(values)) for values in ordered)

    return Merged()
