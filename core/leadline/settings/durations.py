"""Lengths of time as people write them in settings: "1h", "30m", "300s", "0"."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_FORM = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)")


def seconds(text: str) -> float:
    """Return a length of time in seconds. Raises ValueError."""
    match = _FORM.fullmatch(text.strip().lower())
    if match is None:
        raise ValueError(f"{text!r} is no length of time: a number with s, m, h or d, as 30m; 0 is off")
    return float(match[1]) * _UNITS[match[2]]


def _text(value: object) -> object:
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else value


def _checked(text: str) -> str:
    seconds(text)
    return text


Duration = Annotated[str, BeforeValidator(_text), AfterValidator(_checked)]
"""A length of time as it was written; `seconds` reads it."""
