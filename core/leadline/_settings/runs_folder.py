"""The folder and the queue of the runs, from the settings alone: no plugin is loaded to look at a run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from leadline._settings.defaults import read_defaults
from leadline._settings.layers import Found, strongest
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
    layer = strongest([*sources.layers(arguments, sets, None), *read_defaults(entry_points(group=DEFAULTS)).settings])
    found: dict[str, str | Path] = {}
    for name, what in (("folder", "the path of a folder"), ("queue", "a text")):
        value, origin = layer.value(("runs", name)), layer.origin(("runs", name))
        if not isinstance(value, str | Path | None):
            raise ConfigError(f"runs.{name}: must be {what} ({origin})")
        if value:
            found[name] = value
    if any(isinstance(layer.origin(("runs", name)), Found) for name in found):
        from leadline._settings.trust import Review  # it imports every contract

        if untrusted := Review(sources, layer).untrusted([(Runs.model_validate(found), ("runs",))]):
            raise untrusted
    return found
