"""Load settings from a folder and an environment of a test."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from leadline._hosting.catalog import PluginCatalog
from leadline._settings import load
from leadline._settings.sources import Sources


def load_settings(catalog: PluginCatalog, **options: Any) -> load.Loaded:
    """Return settings; `options` are those of `load_settings`, `Sources`, `Given` and `StoredRun` by their names."""

    def take(*names: str) -> dict[str, Any]:
        return {name: options.pop(name) for name in names if name in options}

    given = load.Given(**take("arguments", "sets", "docs", "reads"))
    sources = Sources(options.pop("cwd", Path.cwd()), options.pop("environ", os.environ), **take("file", "user_file"))
    stored, about = options.pop("stored", None), take("tags", "plugins", "sealed", "offline")
    run = None if stored is None else load.StoredRun(stored, **about)
    return load.load_settings(catalog, sources, given=given, stored=run, **options)
