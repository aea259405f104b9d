"""What the sources say otherwise than the settings that a run was begun with, which stand when it is resumed.

Its secrets are read anew: a key that stands beside another address now may be another vendor's, and is not sent to
the address of then.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from leadline.settings.layers import Layer, origin_of
from leadline.settings.secrecy import in_address, public, secrets_of
from leadline.settings.types import KeyPath, is_secret

_READ_FROM_FILES = "prompts"
"""A run keeps the text of its templates, where the sources say a path."""


@dataclass(frozen=True)
class Otherwise:
    """A setting that the sources say otherwise than the run has it."""

    path: KeyPath
    kept: Any
    said: Any
    origin: str

    @property
    def key(self) -> str:
        """Its dotted name."""
        return ".".join(self.path)

    @property
    def command(self) -> str:
        """The option by which what the sources say is used; what cannot be shown is left to people."""
        plain = isinstance(self.said, str | int | float) and not in_address(self.said)
        return f"--set {shlex.quote(f'{self.key}={self.said}') if plain else f'{self.key}=…'}"

    @property
    def of_address(self) -> bool:
        """Whether it says where requests are sent."""
        return any(isinstance(value, str) and "://" in value for value in (self.kept, self.said))


def otherwise(
    settings: BaseModel, stored: Mapping[str, Any], above: Sequence[Layer], below: Sequence[Layer]
) -> list[Otherwise]:
    """Return what the layers below a run's stored settings say otherwise than these; `above` stands over both."""
    said: dict[str, Any] = {}
    for layer in reversed(below):
        said = _over(said, layer.read(type(settings)))
    found = _among(settings, stored, said, ())
    return [
        Otherwise(path, kept, new, origin_of(below, path))
        for path, kept, new in found
        if not any(layer.origin(path) for layer in above)
    ]


def in_words(found: Sequence[Otherwise]) -> list[str]:
    """Return the notice of what is not used, if anything."""
    if not found:
        return []
    keys = ", ".join(f"{one.key} ({one.origin})" for one in found)
    return [f"the run's own settings are used where others say otherwise now: {keys}; to use one, --set KEY=VALUE"]


def misdirected(settings: BaseModel, found: Sequence[Otherwise]) -> list[str]:
    """Return why a key is not sent: that stands beside another address now than the run's own."""
    problems = []
    for name, section in getattr(settings, "plugins", ()):
        own = [one for one in found if one.path[:2] == ("plugins", name)]
        moved = next((one for one in own if one.of_address), None)
        if moved and any(secrets_of(section.model_dump())):
            kept, said = ("" if in_address(value) else f" {value}" for value in (moved.kept, moved.said))
            problems.append(
                f"{moved.key}: the run was begun with{kept or ' another one'}, but{said or ' another one'} stands in "
                f"{moved.origin}, and the key may be for that one alone: go on there with "
                f"{' '.join(one.command for one in own)}, or as before with --set {moved.key}={kept.strip() or '…'}"
            )
    return problems


def _among(
    model: BaseModel, stored: Mapping[str, Any], said: Mapping[str, Any], path: KeyPath
) -> Iterator[tuple[KeyPath, Any, Any]]:
    """Yield path, kept and said value of each setting that both have; they are compared as their model reads them."""
    for key, new in said.items():
        field, kept = type(model).model_fields.get(key), stored.get(key)
        if field is None or key not in stored or is_secret(field.annotation) or (*path, key) == (_READ_FROM_FILES,):
            continue
        inner = getattr(model, key)
        if isinstance(inner, BaseModel) and isinstance(new, Mapping) and isinstance(kept, Mapping):
            yield from _among(inner, kept, new, (*path, key))
        else:
            whole = _over(kept, new) if isinstance(kept, Mapping) and isinstance(new, Mapping) else new
            if _read(type(model), stored, key, kept) != _read(type(model), stored, key, whole):
                yield (*path, key), kept, new


def _read(model: type[BaseModel], stored: Mapping[str, Any], key: str, value: Any) -> Any:
    """Return a value as a run would keep it: secrets in it are none of what differs."""
    try:
        return public(model.model_validate({**stored, key: value})).get(key)
    except (ValidationError, ValueError, TypeError):
        return value


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested tables made one, the second above the first."""
    both = dict(below)
    for key, value in above.items():
        there = both.get(key)
        both[key] = _over(there, value) if isinstance(there, Mapping) and isinstance(value, Mapping) else value
    return both
