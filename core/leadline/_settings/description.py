"""Describe the settings, plugins and pipelines of a client (`leadline.inventory`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from leadline._hosting.catalog import CatalogEntry, PluginCatalog
from leadline._settings.layers import leaves
from leadline._settings.load import Loaded, obstacles
from leadline._settings.redaction import public
from leadline.inventory import MASK, InstalledPipeline, InstalledPlugin, Setting


def settings_of(loaded: Loaded) -> dict[str, Setting]:
    """Return every setting with its origin, by dotted key."""
    stored = dict(leaves(public(loaded.settings)))
    return {
        ".".join(path): Setting(
            value=stored.get(path, MASK if value else None),
            origin=loaded.origins.get(".".join(path), "default"),
        )
        for path, value in leaves(loaded.settings.model_dump())
        if value != {} or path[0] != "plugins"
    }


def plugins_of(catalog: PluginCatalog, entries: Iterable[CatalogEntry], **given: Any) -> list[InstalledPlugin]:
    """Return loaded plugins, with what they lack if there are arguments for `obstacles`."""
    able = [catalog.load(entry.name) for entry in entries if entry.status != "broken"]
    lacks = obstacles(catalog, able, **given) if given else {}
    return [
        InstalledPlugin(
            name=entry.name,
            kinds=tuple(entry.kinds),
            distribution=entry.distribution,
            version=entry.version,
            status="incomplete" if entry.status == "ready" and lacks.get(entry.name) else entry.status,
            lacks=entry.problem or lacks.get(entry.name, ""),
        )
        for entry in entries
    ]


def pipeline_in(loaded: Loaded) -> InstalledPipeline:
    """Return the pipeline of the settings, and why it cannot run."""
    name = loaded.settings.pipeline
    pipeline = loaded.settings.pipelines[name]
    return InstalledPipeline(
        name=name,
        description=pipeline.description,
        level=pipeline.level,
        problem="\n".join(loaded.problems),
        lacks=tuple(sorted(loaded.lacks)),
    )
