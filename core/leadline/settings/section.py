"""The base of the core's settings sections, and what holds for those of plugins too."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator

from leadline.settings.types import bare


class Counting(BaseModel):
    """A model whose numbers are numbers: `true` is none, though Python counts it as 1."""

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        field = cls.model_fields.get(info.field_name or "")
        if isinstance(value, bool) and field is not None and bare(field.annotation) in (int, float):
            raise ValueError("input should be a number")
        return value


class Section(Counting):
    """A section of the settings: frozen; a key it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
