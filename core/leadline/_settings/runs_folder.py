"""The folder and the queue of the runs, from the settings alone: no plugin is loaded to look at a run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from leadline._settings.defaults import read_defaults
from leadline._settings.layers import Found, Layer, origin_of
from leadline._settings.schema import read_text
from leadline._settings.sources import Sources
from leadline.errors import ConfigError
from leadline.settings import Runs

# `leadline.hookspecs.DEFAULTS`, whose module imports every contract.
DEFAULTS = "leadline.defaults"


def runs_folder(
    *, arguments: Mapping[str, Any] | None = None, sets: Sequence[str] = (), file: Path | None = None
) -> Path:
    """Return `runs.folder`, from the same sources as `load_settings`. Raises `ConfigError`."""
    found = _settings(arguments or {}, sets, file).get("folder")
    return Path(found) if found else Runs().folder


def runs_queue(
    *, arguments: Mapping[str, Any] | None = None, sets: Sequence[str] = (), file: Path | None = None
) -> str:
    """Return `runs.queue`, which may have a password. Raises `ConfigError`."""
    return str(_settings(arguments or {}, sets, file).get("queue", ""))


def _settings(arguments: Mapping[str, Any], sets: Sequence[str], file: Path | None) -> dict[str, str | Path]:
    """Return the settings of `runs` that are set. Raises `UntrustedSettings` as `load_settings` does."""
    sources = Sources(Path.cwd(), os.environ, file)
    layers = [*sources.layers(arguments, sets, None), *read_defaults(entry_points(group=DEFAULTS)).settings]
    found: dict[str, str | Path] = {}
    kinds: dict[str, type] = {"folder": Path, "queue": str}
    for name, kind in kinds.items():
        for value in [value for layer in layers if (value := _value(name, kind, layer))][:1]:
            found[name] = value
    if any(isinstance(origin_of(layers, ("runs", name)), Found) for name in found):
        from leadline._settings.trust import Review  # it imports every contract

        if untrusted := Review(sources, layers).untrusted([(Runs.model_validate(found), ("runs",))]):
            raise untrusted
    return found


def _value(name: str, kind: type, layer: Layer) -> str | Path | None:
    table = layer.values.get("runs", {})
    value = table.get(name) if isinstance(table, Mapping) else None
    if not value:
        return None
    where = layer.origin(("runs", name))
    text = read_text(value, kind, ("runs", name), lambda _, why: ConfigError(f"runs.{name}: {why} ({where})"))
    if not isinstance(text, str | Path):
        what = "the path of a folder" if kind is Path else "a text"
        raise ConfigError(f"runs.{name}: must be {what} ({where})")
    return text
