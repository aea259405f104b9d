"""Secrets in settings: found by their type or in an address, and left out of everything that is stored or shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from pydantic import BaseModel, SecretBytes, SecretStr
from pydantic_core import to_jsonable_python

from leadline.hookspecs import Offer, PluginSettings

_SECRET = (SecretStr, SecretBytes)
_ADDRESS = re.compile(r"\s*[A-Za-z][\w+.-]*://\S+\s*")
# A password before the host, as in the address of a proxy; a long user name alone, which is a token; and parameters of
# the query with the name of a secret. `key` and `token` count alone or after a word such as `api`, but not as
# `sort_key` or `page_token`. A long `code` is the key of an Azure function.
_IN_ADDRESS = re.compile(
    r"(?<=://)(?:[^\s/?#@:]*:(?P<password>[^\s/?#@]+)|(?P<token>[^\s/?#@:]{16,}))@"
    r"|[?&;](?:key|token|sig|(?:[\w.-]*[_.-])?(?:"
    r"(?:api|access|secret|private|auth|subscription|client|security|session)[_.-]?(?:key|token|sig)"
    r"|signature|secret|passwd|password|pwd|credentials?))=(?P<named>[^\s&;#]+)"
    r"|[?&;]code=(?P<code>[^\s&;#]{16,})",
    re.IGNORECASE,
)


def secrets_in_address(value: Any) -> list[str]:
    """Return the secrets in an address as they are written; empty for any other value."""
    if not isinstance(value, str) or "://" not in value or not _ADDRESS.fullmatch(value):
        return []
    return [text for found in _IN_ADDRESS.finditer(value) for text in found.groups() if text]


def public(settings: BaseModel) -> dict[str, Any]:
    """Return settings as JSON data without secrets: the form that a run stores and shows."""
    data: dict[str, Any] = to_jsonable_python(_without_secrets(settings.model_dump()))
    return data


def _without_secrets(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_secrets(item) for key, item in value.items() if not _is_secret(item)}
    if isinstance(value, set | frozenset):
        # Sorted, so that two processes store the same.
        return sorted((_without_secrets(item) for item in value if not _is_secret(item)), key=repr)
    if isinstance(value, list | tuple):
        return [_without_secrets(item) for item in value if not _is_secret(item)]
    return value


def _is_secret(value: Any) -> bool:
    return isinstance(value, _SECRET) or bool(secrets_in_address(value))


def secrets_of(value: Any) -> Iterator[str]:
    """Yield the plain text of every secret in dumped settings."""
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, SecretBytes):
        yield value.get_secret_value().decode(errors="replace")
    elif isinstance(value, str):
        for text in secrets_in_address(value):
            yield from dict.fromkeys((text, unquote(text)))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from secrets_of(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from secrets_of(item)


def texts_not_stored(settings: BaseModel, stored: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of texts that were not stored; as a rule, such a text is an address with a secret."""
    yield from (name for name, value in settings if isinstance(value, str) and name not in stored)


def answer_options(offer: Offer[Any, Any], settings: PluginSettings) -> dict[str, Any]:
    """Return the settings that change a plugin's answers as JSON data: part of the journal's keys, never secret."""
    options = public(settings)
    return options if offer.answers is None else {name: options[name] for name in offer.answers if name in options}
