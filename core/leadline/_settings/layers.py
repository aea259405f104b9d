"""Layers of settings: the values of one source with their origins, and how layers are merged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from leadline._settings.schema import KeyPath, Raw, annotation_at, is_table, read_text
from leadline.errors import ConfigError
from leadline.settings import Settings

PREFIX = "LEADLINE_"
# Settings of earlier versions, with the message for each.
RENAMED = {
    ("runs", "queue"): "the setting is runs.database now, with postgresql://USER@HOST/DATABASE; "
    "without it the queue is a file in the folder of runs"
}
# Names the settings file.
FILE_VARIABLE = "LEADLINE_SETTINGS"
# Names the environment, one of the tables `environments` of the settings files.
ENVIRONMENT_VARIABLE = "LEADLINE_ENV"
# Names the folder of secrets.
SECRETS_VARIABLE = "LEADLINE_SECRETS"
# Makes the command line print the traceback of a bug.
DEBUG_VARIABLE = "LEADLINE_DEBUG"
# With `1`, the settings that Leadline finds by itself are trusted; never read from `.env`.
TRUST_VARIABLE = "LEADLINE_TRUST"


class Found(str):
    """The origin of a value in a file that nobody named: Leadline found it in the working folder."""


class Stored(str):
    """The origin of a value that was stored with a run."""


class Shipped(str):
    """The origin of a value that a preset or a built-in pipeline sets: what it names are Leadline's plugins."""


class Unresolved(str):
    """A reference that cannot be resolved; it is a fault only where no stronger source sets the value."""

    fault = ""


class Leaf(NamedTuple):
    """A value and its origin; `short` if the table of its plugin was written without `plugins`.

    `reference` is what is written where the value comes from a variable or a file: `${env:NAME}`.
    """

    value: Any
    origin: str
    short: bool = False
    reference: Any = None


@dataclass
class Layer:
    """The values of one source by path; a table is among them only if it is empty.

    `plugins` are the installed ones: `[NAME]` is `[plugins.NAME]` for one whose name is no table of the core. `whole`
    are the maps that the source gives as a whole: they replace those of weaker layers, except the pipelines of
    `defaults`, which users extend.
    """

    plugins: Collection[str] = ()
    leaves: dict[KeyPath, Leaf] = field(default_factory=dict)
    whole: set[KeyPath] = field(default_factory=set)
    defaults: bool = False
    # The origin of the first value in each table.
    _tables: dict[KeyPath, str] = field(default_factory=dict)

    def put(self, written: KeyPath, value: Any, origin: str, *, whole: bool = False) -> None:
        """Add a value, with text parsed as the core's settings expect it; tables are merged unless they are `whole`.

        The first key may have dots: `"search.engines"`. Raises `ConfigError` for a value and a table of the same name,
        and for a plugin's key that is given twice.
        """
        written = (*written[0].split("."), *written[1:])
        short = written[0] in self.plugins and written[0] not in Settings.model_fields
        path = ("plugins", *written) if short else written
        if not isinstance(value, Mapping):
            whole = whole or isinstance(value, Raw)
            value = read_text(value, _annotation(path), path, lambda path, why: refusal(path, why, origin))
        if isinstance(value, Mapping):
            # A map replaces weaker ones, as does an entry of one that is given as a whole; sections are merged by key.
            if (whole or not value) and (_is_map(path) or (whole and _is_map(path[:-1]))):
                self.whole.add(path)
            for key, item in value.items():
                self.put((*written, str(key)), item, origin, whole=whole)
        if not isinstance(value, Mapping) or not value:
            self._add(path, Leaf(value, origin, short))

    def _add(self, path: KeyPath, leaf: Leaf) -> None:
        for above in (path[:depth] for depth in range(1, len(path))):
            if self.leaves.get(above, leaf).value != {} and above in self.leaves:
                raise self._clash(above, leaf.origin)
            self.leaves.pop(above, None)
        if path in self._tables:
            if leaf.value == {}:
                return
            raise self._clash(path, leaf.origin)
        other = self.leaves.get(path, leaf)
        if other.short != leaf.short and other.value != leaf.value:
            origin = leaf.origin if leaf.short else other.origin
            raise ConfigError(f"{'.'.join(path[1:])} is also given as {'.'.join(path)}: remove one of them ({origin})")
        self.set_leaf(path, leaf)

    def set_leaf(self, path: KeyPath, leaf: Leaf) -> None:
        """Set a value as it is."""
        self.leaves[path] = leaf
        for depth in range(1, len(path)):
            self._tables.setdefault(path[:depth], leaf.origin)

    def _clash(self, path: KeyPath, origin: str) -> ConfigError:
        return ConfigError(
            f"{'.'.join(path)}: given as a value and as a table, by {self.origin(path)} and {origin}: "
            "remove one of them"
        )

    def value(self, path: KeyPath) -> Any:
        """Return the value at a path; None for a table and for what the layer does not have."""
        leaf = self.leaves.get(path)
        return leaf.value if leaf else None

    def origin(self, path: KeyPath) -> str:
        """Return the origin of a value, or of the first value of a table; empty if the layer has neither."""
        for depth in range(len(path), 0, -1):
            leaf = self.leaves.get(path[:depth])
            if leaf and (depth == len(path) or leaf.value != {}):
                return leaf.origin
        return self._tables.get(path, "")

    def only(self, paths: Iterable[KeyPath]) -> Layer:
        """Return the layer with these paths alone."""
        return Layer(self.plugins, {path: self.leaves[path] for path in paths}, self.whole, self.defaults)

    def nested(self, without: Collection[KeyPath] = ()) -> dict[str, Any]:
        """Return nested tables, without the values at, above and below some paths.

        Of a value and a table of the same name, it has the first one.
        """
        left_out = {path for path in self.leaves if any(path[: len(bad)] == bad[: len(path)] for bad in without)}
        return nested((path, leaf.value) for path, leaf in self.leaves.items() if path not in left_out)


def refusal(path: KeyPath, why: str, origin: str) -> ConfigError:
    """Return the error about a value."""
    return ConfigError(f"{'.'.join(path)}: {why} ({origin})")


@cache
def _annotation(path: KeyPath) -> Any:
    section = path[0] == "plugins" and len(path) <= len(("plugins", "NAME"))
    return dict[str, Any] if section else annotation_at(Settings, path)


@cache
def _is_map(path: KeyPath) -> bool:
    """Return whether the table at a path has any keys (`ai.roles`), unlike a section (`ai`, `plugins.NAME`)."""
    if path[:1] == ("plugins",):
        return len(path) > len(("plugins", "NAME"))
    return is_table(annotation_at(Settings, path))


def strongest(layers: Iterable[Layer]) -> Layer:
    """Return the strongest value at each path and its origin, without tables that a stronger layer replaces."""
    merged, replaced = Layer(), set[KeyPath]()
    for layer in layers:
        gone = {path for path in replaced if path[0] != "pipelines"} if layer.defaults else replaced
        for path, leaf in layer.leaves.items():
            if path not in merged.leaves and not any(path[:end] in gone for end in range(1, len(path) + 1)):
                merged.set_leaf(path, leaf)
        replaced |= layer.whole
    return merged


@cache
def _validated_model() -> Any:
    from pydantic_settings import BaseSettings  # costs 70 ms of CPU

    class Validated(Settings, BaseSettings):  # type: ignore[misc]  # each types its own config; ours wins
        @classmethod
        def settings_customise_sources(cls, settings_cls: Any, init_settings: Any, *_: Any, **__: Any) -> Any:
            return (init_settings,)

    return Validated


def validated(values: Mapping[str, Any]) -> Settings:
    """Return the core's settings from merged, nested values; `plugins` is left as it is written.

    The sources of pydantic-settings itself are not used: they fail on a foreign key in `.env`, ignore a misspelt
    variable, and lose the origin of a value. Raises `ValidationError`.
    """
    settings: Settings = _validated_model()(**values)
    return settings


def leaves(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Yield every leaf of nested tables with its path; an empty table is a leaf, unless it is the outermost one."""
    if isinstance(value, Mapping) and (value or not path):
        for key, item in value.items():
            yield from leaves(item, (*path, str(key)))
    else:
        yield path, value


def nested(values: Iterable[tuple[KeyPath, Any]]) -> dict[str, Any]:
    """Return leaves as nested tables; of a value and a table of the same name, the first one."""
    top: dict[str, Any] = {}
    for path, value in values:
        table: Any = top
        for key in path[:-1]:
            table = table.setdefault(key, {}) if isinstance(table, dict) else None
        if isinstance(table, dict):
            table.setdefault(path[-1], {} if value == {} else value)
    return top
