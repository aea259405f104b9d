"""Layers of settings: the values of one source with their origins."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pydantic import BaseModel

from leadline._settings.schema import KeyPath, Raw, annotation_at, is_table, read_text
from leadline.errors import ConfigError, UsageError
from leadline.settings import Settings

PREFIX = "LEADLINE_"
# Names the settings file.
FILE_VARIABLE = "LEADLINE_SETTINGS"
# Makes the command line print the traceback of a bug.
DEBUG_VARIABLE = "LEADLINE_DEBUG"
# With `1`, the settings that Leadline finds by itself are trusted; never read from `.env`.
TRUST_VARIABLE = "LEADLINE_TRUST"
# Variables with the prefix that are no settings.
_NO_SETTINGS = (FILE_VARIABLE, DEBUG_VARIABLE, TRUST_VARIABLE)
# Keys from a setting up to the top. No model has more tables in each other.
DEEPEST = 20


class Found(str):
    """The origin of a value in a file that nobody named: Leadline found it in the working folder."""

    __slots__ = ()


class Stored(str):
    """The origin of a value that was stored with a run."""

    __slots__ = ()


@dataclass
class Layer:
    """The nested values of one source, and the origin of each leaf.

    `whole` are the tables that the source gives as a whole: maps among them replace those of weaker layers.
    """

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[KeyPath, str] = field(default_factory=dict)
    whole: set[KeyPath] = field(default_factory=set)

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

    def put_whole(self, path: KeyPath, value: Any, origin: str) -> None:
        """Add a value; each table in it is given as a whole."""
        for where, leaf in leaves(value, path):
            self.put(where, leaf, origin)
        self.whole.update(tables(value, path))

    def parsed(self) -> Layer:
        """Return the layer with the text of the core's settings parsed.

        A table in such a text is given as a whole, and so is an empty map.
        """
        found = Layer(whole=set(self.whole))
        for path, value in leaves(self.values):
            section = path[0] == "plugins" and len(path) <= len(("plugins", "NAME"))
            annotation = dict[str, Any] if section else annotation_at(Settings, path)
            parsed = read_text(value, annotation, path, self._refuse)
            whole = isinstance(value, Raw) or (value == {} and is_map(path))
            (found.put_whole if whole else found.put)(path, parsed, self.origin(path))
        return found

    def without(self, replaced: Collection[KeyPath]) -> Layer:
        """Return the layer without these tables."""
        if not replaced:
            return self
        found = Layer(whole=self.whole)
        for path, value in leaves(self.values):
            if not any(path[:depth] in replaced for depth in range(1, len(path) + 1)):
                found.put(path, value, self.origin(path))
        return found

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
            if path[:depth] in self.origins and (depth == len(path) or not self._is_empty_table(path[:depth])):
                return self.origins[path[:depth]]
        return next((origin for other, origin in self.origins.items() if other[: len(path)] == path), "")

    def _is_empty_table(self, path: KeyPath) -> bool:
        value: Any = self.values
        for key in path:
            value = value[key]
        return bool(value == {})


def is_map(path: KeyPath) -> bool:
    """Return whether the table at a path has any keys (`ai.roles`), unlike a section (`ai`, `plugins.NAME`)."""
    if path[:1] == ("plugins",):
        return len(path) > len(("plugins", "NAME"))
    return is_table(annotation_at(Settings, path))


def is_replaceable(path: KeyPath) -> bool:
    """Return whether a table that is given as a whole replaces weaker ones: a map, or an entry of one.

    Sections are merged key by key.
    """
    return is_map(path) or is_map(path[:-1])


def without_replaced(layers: Iterable[Layer], defaults: Iterable[Layer] = ()) -> list[Layer]:
    """Return the layers, strongest first, and the defaults, without tables that a stronger layer replaces.

    The pipelines of the defaults stay: users extend them.
    """
    found: list[Layer] = []
    replaced: set[KeyPath] = set()
    for layer in layers:
        found.append(layer.without(replaced))
        replaced.update(filter(is_replaceable, layer.whole))
    replaced = {path for path in replaced if path[:1] != ("pipelines",)}
    return found + [layer.without(replaced) for layer in defaults]


def with_plugin_tables(layer: Layer, plugins: Collection[str]) -> Layer:
    """Return a layer with `[NAME]` as `[plugins.NAME]`, for a plugin whose name is no table of the core.

    Raises `ConfigError` for a key that both have.
    """
    short = {name for name in layer.values if name in plugins and name not in Settings.model_fields}
    if not short:
        return layer
    found = Layer(whole={("plugins", *path) if path[0] in short else path for path in layer.whole})
    for path, value in sorted(leaves(layer.values), key=lambda leaf: leaf[0][0] in short):
        where = ("plugins", *path) if path[0] in short else path
        if where in found.origins:
            raise ConfigError(
                f"{'.'.join(path)} is also given as {'.'.join(where)}: remove one of them ({layer.origin(path)})"
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
        given = _given(value)
        if given is not None:
            layer.put_whole(tuple(key.split(".")), given, "argument")
    return layer


def _given(value: Any) -> Any:
    """Return a value without None in its tables; None if nothing else was given."""
    if not isinstance(value, Mapping):
        return value
    found = {key: given for key, item in value.items() if (given := _given(item)) is not None}
    return found if found or not value else None


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
        if value is None or not all(path) or len(path) > DEEPEST:
            raise ConfigError(f"{label} {name:.80}: write {PREFIX}KEY=VALUE or {PREFIX}TABLE__KEY=VALUE")
        layer.put(path, Raw(value), type(label)(f"{label} {name}"))
    return layer


def leaves(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Yield every leaf of nested tables with its path; an empty table is a leaf, unless it is the outermost one."""
    if isinstance(value, Mapping) and (value or not path):
        for key, item in value.items():
            yield from leaves(item, (*path, str(key)))
    else:
        yield path, value


def tables(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the paths of all tables in a value, itself included."""
    if isinstance(value, Mapping):
        yield path
        for key, item in value.items():
            yield from tables(item, (*path, str(key)))


def merge(layers: Iterable[Mapping[str, Any]]) -> Settings:
    """Return the core's settings from nested values, the strongest first; `plugins` is left as it is written.

    The sources of pydantic-settings itself are not used: they fail on a foreign key in `.env`, ignore a misspelt
    variable, and lose the origin of a value.
    """
    merged: Settings = _merging_model()(layers=tuple(layers))
    return merged


@cache
def _merging_model() -> Any:
    """Return a model of the core's settings that reads them from its argument `layers`; its schema takes 25 ms."""
    from pydantic_settings import BaseSettings, InitSettingsSource  # costs 70 ms of CPU

    class Merged(Settings, BaseSettings):  # type: ignore[misc]  # each types its own config; ours wins
        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], init_settings: Any, *_: Any, **__: Any
        ) -> Any:
            layers = init_settings.init_kwargs["layers"]
            return tuple(InitSettingsSource(settings_cls, dict(values)) for values in layers)

    return Merged
