"""The layers made one, the first winning, by pydantic-settings.

Its stock sources are not used: they fail on a foreign key in `.env`, pass over a misspelt variable, and forget where
a value came from. Importing it costs 70 ms of CPU, so it happens when settings are read and not before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from leadline.errors import ConfigError
from leadline.settings_layers import Layer
from leadline.settings_model import Settings
from leadline.settings_types import KeyPath, read_text


class _Source(PydanticBaseSettingsSource):
    """A layer as pydantic-settings takes it."""

    def __init__(self, settings: type[BaseSettings], layer: Layer) -> None:
        super().__init__(settings)
        self._layer = layer

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return self._layer.values.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        def refuse(path: KeyPath, why: str) -> ConfigError:
            return ConfigError(f"{'.'.join(path)}: {why} ({self._layer.origin(path)})")

        values: dict[str, Any] = read_text(self._layer.values, Settings, (), refuse)
        return values


def read_layers(layers: Iterable[Layer]) -> Settings:
    """Merge the layers, the first winning, into the core's settings; `plugins` stays as it is written."""
    ordered = tuple(layers)

    class Layered(Settings, BaseSettings):  # type: ignore[misc]  # each types its own config; ours wins
        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], *_: Any, **__: Any
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return tuple(_Source(settings_cls, layer) for layer in ordered)

    return Layered()
