"""The folder and the queue of the runs from the settings alone: no plugin is loaded to look at a run."""

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


def runs_settings(
    *, arguments: Mapping[str, Any] | None = None, sets: Sequence[str] = (), file: Path | None = None
) -> Runs:
    """Return the table `runs`, from the same sources as `load_settings`. Raises `ConfigError` as that does."""
    sources = Sources(Path.cwd(), os.environ, file)
    defaults = read_defaults(entry_points(group=DEFAULTS)).settings
    layer = strongest([*sources.layers(arguments or {}, sets, None), *defaults])
    found: dict[str, str | Path] = {}
    for name, what in (("folder", "the path of a folder"), ("queue", "a text")):
        value, origin = layer.value(("runs", name)), layer.origin(("runs", name))
        if not isinstance(value, str | Path | None):
            raise ConfigError(f"runs.{name}: must be {what} ({origin})")
        found |= {name: value} if value else {}
    runs = Runs.model_validate(found)
    if any(isinstance(layer.origin(("runs", name)), Found) for name in found):
        from leadline._settings.trust import Review  # it imports every contract

        if untrusted := Review(sources, layer).untrusted([(runs, ("runs",))]):
            raise untrusted
    return runs
