"""The folder of the runs, from the settings alone: no plugin is loaded to look at a run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from leadline._settings.defaults import read_defaults
from leadline._settings.layers import Layer
from leadline._settings.sources import Sources
from leadline.errors import ConfigError
from leadline.hookspecs import DEFAULTS
from leadline.settings import Runs


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
    if value is not None and not isinstance(value, str | Path):
        raise ConfigError(f"runs.folder must be the path of a folder ({layer.origin(('runs', 'folder'))})")
    return Path(value) if value else None
