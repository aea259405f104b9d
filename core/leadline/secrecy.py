"""Secrets in settings: found by their type, left out of whatever is kept or shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, SecretBytes, SecretStr
from pydantic_core import to_jsonable_python

from leadline.hookspecs import Offer, PluginSettings

_SECRET = (SecretStr, SecretBytes)


def without_secrets(value: Any) -> Any:
    """Return dumped settings without their secrets; sets sorted, so that two processes dump the same."""
    if isinstance(value, Mapping):
        return {key: without_secrets(item) for key, item in value.items() if not isinstance(item, _SECRET)}
    if isinstance(value, set | frozenset):
        return sorted((without_secrets(item) for item in value if not isinstance(item, _SECRET)), key=repr)
    if isinstance(value, list | tuple):
        return [without_secrets(item) for item in value if not isinstance(item, _SECRET)]
    return value


def secrets_of(value: Any) -> Iterator[str]:
    """Yield the plain text of every secret in dumped settings."""
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, SecretBytes):
        yield value.get_secret_value().decode(errors="replace")
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from secrets_of(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from secrets_of(item)


def public(settings: BaseModel) -> dict[str, Any]:
    """Return settings as JSON data, secrets left out."""
    data: dict[str, Any] = to_jsonable_python(without_secrets(settings.model_dump()))
    return data


def answer_options(offer: Offer[Any, Any], settings: PluginSettings) -> dict[str, Any]:
    """Return the settings that change a plugin's answers, as JSON data: part of the journal's keys, never secret."""
    options = public(settings)
    return options if offer.answers is None else {name: options[name] for name in offer.answers if name in options}
