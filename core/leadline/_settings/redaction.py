"""Settings that a run stores, and those that it leaves out: secrets and withheld texts.

A secret is found by its type or in an address; it is neither stored nor shown. Withheld texts are sent to a service
with every request and may be personal; they are not stored, but read again on resume, as secrets are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, get_args
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import BaseModel, JsonValue, SecretBytes, SecretStr
from pydantic_core import to_jsonable_python

from leadline._settings.schema import is_table, scalars, unwrapped
from leadline.hookspecs import ALL, Offer, PluginSettings

_SECRET = (SecretStr, SecretBytes)
_LEFT_OUT: Any = object()
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
    matches = _IN_ADDRESS.finditer(value) if _is_address(value) else ()
    return [text for match in matches for text in match.groups() if text]


def is_private_address(value: Any) -> bool:
    """Return whether a value is an address with something before the @ of its host, or with a query."""
    return bool(_parts_in_address(value))


def _is_address(value: Any) -> bool:
    return isinstance(value, str) and "://" in value and bool(_ADDRESS.fullmatch(value))


def _parts_in_address(value: Any) -> list[str]:
    """Return what stands before the @ of an address and the values of its query."""
    with suppress(ValueError):  # not a valid address
        parts = urlsplit(value.strip() if _is_address(value) else "")
        texts = [parts.username, parts.password, *(text for _, text in parse_qsl(parts.query, keep_blank_values=True))]
        return [text for text in texts if text]
    return []


def public(settings: BaseModel) -> dict[str, Any]:
    """Return settings as JSON data without secrets and withheld texts: the form that a run stores."""
    return _divided(settings)[0]


def withheld(settings: BaseModel) -> dict[str, Any]:
    """Return by dotted key the values that a run does not store though they are no secrets.

    In the sections of plugins: the fields that are `unstored`, texts in tables of free form, which are passed on to a
    service as they are, and addresses with a query or a user. A value that is the default is not withheld.
    """
    return _divided(settings)[1]


def is_unstored(settings: BaseModel, key: str) -> bool:
    """Return whether a dotted key is that of an `unstored` field of a plugin, which changes no reply."""
    _, name, field, *_ = (*key.split("."), "")
    section = getattr(getattr(settings, "plugins", None), name, None)
    return isinstance(section, PluginSettings) and field in section.unstored


def private_texts(withheld: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts in withheld values that no error may show; of an address, what is private in it."""
    for value in scalars(withheld):
        if isinstance(value, str):
            yield from dict.fromkeys(_parts_in_address(value) or [value])


def _divided(settings: BaseModel) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what `public` and what `withheld` return."""
    left: dict[str, Any] = {}
    rest = _kept(settings, settings.model_dump(), "", left)
    stored: dict[str, Any] = to_jsonable_python({} if rest is _LEFT_OUT else rest)
    return stored, to_jsonable_python(left)


def _kept(model: Any, value: Any, path: str, left: dict[str, Any], *, plugin: bool = False, free: bool = False) -> Any:
    """Return dumped settings without what is not stored, or `_LEFT_OUT`; the part that is no secret goes into `left`.

    `plugin` is true in a plugin's section, `free` in a table of free form there.
    """
    if isinstance(value, Mapping):
        table = dict(_kept_items(model, value, path, left, plugin=plugin, free=free))
        return table if table or not value else _LEFT_OUT
    if isinstance(value, list | tuple | set | frozenset):
        # Sorted, so that two processes store the same.
        items = sorted(value, key=repr) if isinstance(value, set | frozenset) else list(value)
        inner: dict[str, Any] = {}
        whole = [_kept(None, item, path, inner, plugin=plugin, free=free) for item in items]
        if _LEFT_OUT not in whole:
            return whole
        if inner:  # sources replace lists as a whole, so it is read again as a whole
            left[path] = [item for item in items if not isinstance(item, _SECRET)]
        return _LEFT_OUT
    if isinstance(value, _SECRET):
        return _LEFT_OUT
    if isinstance(value, str) and (free or (is_private_address(value) if plugin else secrets_in_address(value))):
        left[path] = value
        return _LEFT_OUT
    return value


def _kept_items(
    model: Any, value: Mapping[str, Any], path: str, left: dict[str, Any], *, plugin: bool, free: bool
) -> Iterator[tuple[str, Any]]:
    fields = type(model).model_fields if isinstance(model, BaseModel) else {}
    section = isinstance(model, PluginSettings)
    for key, item in value.items():
        dotted = f"{path}.{key}" if path else str(key)
        is_default = section and key in fields and item == fields[key].get_default(call_default_factory=True)
        if section and key in model.unstored:
            if not is_default:
                left[dotted] = item
            continue
        below = getattr(model, key, None) if fields else None
        passed_on = free or ((plugin or section) and key in fields and _is_free(fields[key].annotation))
        inside = {} if is_default else left
        stored = _kept(below, item, dotted, inside, plugin=plugin or section, free=passed_on)
        if stored is not _LEFT_OUT:
            yield key, stored


def _is_free(annotation: Any) -> bool:
    """Return whether a table with any keys is expected whose values may be any text."""
    if not is_table(annotation):
        return False
    values = get_args(unwrapped(annotation))[1:]
    return not values or unwrapped(values[0]) in (JsonValue, Any, object, str)


def secrets_of(settings: Any) -> Iterator[str]:
    """Yield the plain text of every secret in dumped settings."""
    for value in scalars(settings):
        if isinstance(value, SecretStr):
            yield value.get_secret_value()
        elif isinstance(value, SecretBytes):
            yield value.get_secret_value().decode(errors="replace")
        for text in secrets_in_address(value):
            yield from dict.fromkeys((text, unquote(text)))


def answer_options(
    offer: Offer[Any], settings: PluginSettings, tags: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the settings that change a plugin's answers as JSON data: part of the journal's keys, never secret.

    `tags` stand for the withheld ones, by their key in the section.
    """
    options = public(settings)
    answers = set((ALL,) if offer.cache_key is None else offer.cache_key)
    if ALL in answers:
        answers |= set(type(settings).model_fields) - set(settings.unstored)
    hidden = {path: tag for path, tag in (tags or {}).items() if path.partition(".")[0] in answers}
    # A replay has the default in place of what was not stored; its tag alone counts.
    replaced = {*hidden, *(path.partition(".")[0] for path in hidden if not options.get(path.partition(".")[0]))}
    known = {name: options[name] for name in options if name in answers and name not in replaced}
    return known | ({"withheld": hidden} if hidden else {})
