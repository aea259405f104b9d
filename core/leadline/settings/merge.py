"""The sources made one, the first winning, by pydantic-settings.

Its stock sources are not used: they fail on a foreign key in `.env`, pass over a misspelt variable, and forget where
a value came from. Importing it costs 70 ms of CPU, so it happens when settings are read and not before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from leadline.settings.model import Settings


class _Source(PydanticBaseSettingsSource):
    """The values of one layer, as pydantic-settings takes them."""

    def __init__(self, settings: type[BaseSettings], values: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._values = values

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return self._values.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        return dict(self._values)


def merge(values: Iterable[Mapping[str, Any]]) -> Settings:
    """Return the core's settings from nested values, the first winning; `plugins` stays as it is written."""
    ordered = tuple(values)

    class Merged(Settings, BaseSettings):  # type: ignore[misc]  # each types its own config; ours wins
        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], *_: Any, **__: Any
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return tuple(_Source(settings_cls, values) for values in ordered)

    return Merged()
