"""Defaults that packages of plugins ship: settings, pipelines, presets, and the orders of `auto`.

The core names no plugin. A package registers its `defaults.toml` through the entry-point group `leadline.defaults`; the
entry point names the Python package that holds the file. Beside it, `pipelines/NAME.toml` may hold the table
`pipelines.NAME`, one file for each pipeline. Leadline's own files are the lowest layer of all settings; those of other
packages are read above it, in the order of their names.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from leadline._settings.layers import RENAMED, Found, Layer, Shipped, leaves, strongest
from leadline._settings.sources import Sources
from leadline.display import choose_from
from leadline.errors import ConfigError
from leadline.settings import Runs, Section

# `leadline.hookspecs.DEFAULTS`, whose module imports every contract.
DEFAULTS = "leadline.defaults"
FILE = "defaults.toml"
# The folder of the pipelines beside it.
PIPELINES = "pipelines"
OWN = "leadline"


class AutoOrder(Section):
    """The order in which `auto` selects plugins at one key, if they are installed and can work."""

    configured: tuple[str, ...] = Field((), description="Plugins that need a key or a section, in this order.")
    otherwise: tuple[str, ...] = Field((), description="Plugins to use where none of those works.")
    first: bool = Field(False, description="Only the first that works.")
    reason: str = Field("", description="Why `otherwise` is used, for the start of a run.")

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in their order."""
        return (*self.configured, *self.otherwise)


class Defaults(Section):
    """The contents of the `defaults.toml` files, made one; `settings` is one layer for each file, strongest first."""

    auto: dict[str, AutoOrder] = {}
    presets: dict[str, dict[str, Any]] = {}
    documents: str = ""
    progress: str = ""
    checker: str = ""
    settings: tuple[Any, ...] = ()

    def value(self, key: str) -> Any:
        """Return the default of a dotted key; None if no file has one."""
        path = tuple(key.split("."))
        return next((value for layer in self.settings if (value := layer.value(path))), None)

    @property
    def tools(self) -> set[str]:
        """The tools of all default pipelines: those of plugins that are not installed are no mistake of the user's."""
        leaves = (item for layer in self.settings for item in layer.leaves.items())
        return {tool for path, leaf in leaves if path[::2] == ("pipelines", "tools") for tool in leaf.value}


def read_defaults(points: Iterable[EntryPoint]) -> Defaults:
    """Return the defaults of all packages. Raises `ConfigError` for a file that cannot be read."""
    return _read(tuple(sorted(points, key=lambda point: (point.name == OWN, point.name))))


@cache
def _read(points: tuple[EntryPoint, ...]) -> Defaults:
    merged: dict[str, Any] = {"settings": ()}
    for part in map(_parsed, reversed(points)):  # the weakest first
        merged["settings"] = (*part.settings, *merged["settings"])
        for name, value in part:
            if name != "settings" and value:
                merged[name] = {**merged.get(name, {}), **value} if isinstance(value, Mapping) else value
    return Defaults(**merged)


def _parsed(point: EntryPoint) -> Defaults:
    """Return the defaults of one package. Raises `ConfigError`."""
    where = main = f"{FILE} of {point.name}"
    try:
        folder = files(point.module)
        values = tomllib.loads(folder.joinpath(FILE).read_text("utf-8"))
        known = values.setdefault("pipelines", {})
        pipelines = folder.joinpath(PIPELINES)
        listed = [file for file in pipelines.iterdir() if file.name.endswith(".toml")] if pipelines.is_dir() else []
        for file in sorted(listed, key=lambda file: file.name):
            where, name = f"{PIPELINES}/{file.name} of {point.name}", file.name.removesuffix(".toml")
            table = tomllib.loads(file.read_text("utf-8"))
            tables = table.get("pipelines")
            if len(table) != 1 or not isinstance(tables, Mapping) or {*tables} != {name}:
                raise ConfigError(f"{where}: the file must have the table [pipelines.{name}] and no other")
            if name in known:
                raise ConfigError(f"{where}: {FILE} has the table [pipelines.{name}], too: remove one of them")
            known |= tables
    except (ImportError, OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{where} cannot be read: {error}; reinstall {point.name}") from error
    about = {name: values.pop(name) for name in Defaults.model_fields if name in values}
    layer = Layer(defaults=True)
    for path, value in leaves(values):
        # Leadline's own have no origin, and so count as defaults.
        layer.put(path, value, "" if point.name == OWN else f"defaults of {point.name}")
    try:
        return Defaults(**{**about, "settings": (layer,)})
    except ValidationError as error:
        detail = error.errors()[0]
        raise ConfigError(f"{main}: {'.'.join(map(str, detail['loc']))}: {detail['msg']}") from None


def preset_layer(settings: Layer, defaults: Defaults, installed: Collection[str]) -> tuple[Layer, list[str]]:
    """Return the chosen preset as a layer, without sections of plugins that are not installed, and the problems."""
    name, origin, layer = settings.value(("preset",)) or "", settings.origin(("preset",)), Layer()
    if not isinstance(name, str) or name not in defaults.presets:
        problem = f"preset: there is no preset {str(name)!r}: {choose_from(str(name), defaults.presets)}"
        return layer, [f"{problem} ({origin})" if origin else problem]
    for path, value in leaves(defaults.presets[name]):
        if path and (path[0] != "plugins" or path[1] in installed):
            layer.put(path, value, Shipped(f"preset {name}"))
    return layer, []


def runs_settings(
    *, arguments: Mapping[str, Any] | None = None, sets: Sequence[str] = (), file: Path | None = None
) -> Runs:
    """Return the table `runs`, from the same sources as `load_settings`: no plugin is loaded to look at a run.

    Raises `ConfigError` as that does.
    """
    sources = Sources(Path.cwd(), os.environ, file)
    defaults = read_defaults(entry_points(group=DEFAULTS)).settings
    layer = strongest([*sources.layers(arguments or {}, sets, None), *defaults])
    if layer.value(old := ("runs", "queue")) is not None:
        raise ConfigError(f"runs.queue: {RENAMED[old]} ({layer.origin(old)})")
    values: dict[str, str | Path] = {}
    for name in ("folder", "database", "files", "dispatcher", "live"):
        value, origin = layer.value(("runs", name)), layer.origin(("runs", name))
        if not isinstance(value, str | Path | None):
            what = "the path of a folder" if name == "folder" else "a text"
            raise ConfigError(f"runs.{name}: must be {what} ({origin})")
        values |= {name: value} if value else {}
    runs = Runs.model_validate(values)
    if any(isinstance(layer.origin(("runs", name)), Found) for name in values):
        from leadline._settings.trust import Review  # it imports every contract

        if untrusted := Review(sources, layer).untrusted([(runs, ("runs",))]):
            raise untrusted
    return runs
