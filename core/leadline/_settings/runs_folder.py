"""The folder of the runs, from the settings alone: no plugin is loaded to look at a run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from leadline._settings.defaults import read_defaults
from leadline._settings.layers import Layer
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
    sources = Sources(Path.cwd(), os.environ, file)
    defaults = read_defaults(entry_points(group=DEFAULTS))
    for layer in (*sources.layers(arguments or {}, sets, None), *defaults.settings):
        if folder := _folder(layer):
            return folder
    return Runs().folder


def _folder(layer: Layer) -> Path | None:
    table = layer.values.get("runs", {})
    value = table.get("folder") if isinstance(table, Mapping) else None
    if not value:
        return None
    where = layer.origin(("runs", "folder"))
    text = read_text(value, Path, ("runs", "folder"), lambda _, why: ConfigError(f"runs.folder: {why} ({where})"))
    if not isinstance(text, str | Path):
        raise ConfigError(f"runs.folder: must be the path of a folder ({where})")
    return Path(text)
