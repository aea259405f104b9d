"""Presets: one word for several settings. Whatever is set by name, in any source, stands over them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from leadline.settings.layers import Layer

Preset = Literal["lean", "full"]
PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "lean": {},  # is what the defaults are
    "full": {"analyze": {"mode": "on"}, "chart": {"mode": "on"}},
}
"""What each preset sets, by plugin."""
ABOVE_STORED = 2
"""Layers that stand over the settings of an earlier run: arguments and `--set`."""


def with_preset(layers: Sequence[Layer], installed: Collection[str], *, stored: bool) -> list[Layer]:
    """Return the layers with that of the preset below them; one asked for on resume stands over the stored ones."""
    place = next((place for place, layer in enumerate(layers) if "preset" in layer.values), None)
    said = layers[place].values["preset"] if place is not None else "lean"
    below = ABOVE_STORED if stored and place is not None and place < ABOVE_STORED else len(layers)
    return [*layers[:below], _layer(said, installed), *layers[below:]]


def _layer(preset: Any, installed: Collection[str]) -> Layer:
    """Return what a preset sets of the plugins that are installed; nothing for one that will be refused."""
    layer = Layer()
    for name, section in PRESETS.get(preset, {}).items() if isinstance(preset, str) else ():
        for key, value in section.items() if name in installed else ():
            layer.put(("plugins", name, key), value, f"preset {preset}")
    return layer
