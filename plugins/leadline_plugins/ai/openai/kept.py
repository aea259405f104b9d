"""Settings that are kept with each run and shown, and so must hold no secret: addresses, and what is sent besides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, urlsplit

from pydantic import JsonValue, SecretStr

_OURS = ("input", "messages", "model", "n", "response_format", "stream", "stream_options", "tools")
_TRANSFER = ("content-length", "transfer-encoding")
_SECRET = re.compile(
    r"(^|_)(api|access|secret|private|auth|subscription|client)_?key(_id)?$|token$|secret|passw(or)?d|credential"
    r"|authorization|headers$",
    re.IGNORECASE,
)
"""Names of arguments that may be secret."""
_IN_QUERY = re.compile(r"(^|[_.-]|api|access|subscription)key$|^sig(nature)?$|^code$", re.IGNORECASE)
"""Names in the query of an address that may be so, too."""


def refuse_secrets(fields: Mapping[str, JsonValue], instead: str) -> None:
    """Raise `ValueError` where fields, or what is in them, have names of secrets; `instead` is where those belong."""
    if names := [name for name in _names(fields) if _SECRET.search(name)]:
        raise ValueError(f"{', '.join(names)} may be secret, and what stands here is kept and shown: {instead}")


def refuse_ours(fields: Mapping[str, JsonValue]) -> None:
    """Raise `ValueError` where fields name what every request says for itself."""
    if names := sorted(set(_OURS) & set(fields)):
        raise ValueError(f"{', '.join(names)} cannot be set here: every request says it for itself")


def refuse_transfer(headers: Mapping[str, SecretStr]) -> None:
    """Raise `ValueError` where headers name what each request is sent by."""
    if names := sorted(name for name in headers if name.strip().lower() in _TRANSFER):
        raise ValueError(f"{', '.join(names)} cannot be set here: it is of each request, and says how that is sent")


def refuse_secret_address(address: str) -> None:
    """Raise `ValueError` where an address brings a key along: before its host, or in its query."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:  # no address, as `ready` says
        return
    named = [name for name, _ in parse_qsl(parts.query) if _IN_QUERY.search(name) or _SECRET.search(name)]
    if "@" in parts.netloc or named:
        where = f"the query names {', '.join(named)}" if named else "something stands before the @ of its host"
        raise ValueError(
            f"{where}, which may be secret, and an address is kept and shown: "
            "put the key into `api_key`, or into `headers`"
        )


def _names(value: JsonValue | Mapping[str, JsonValue]) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield name
            yield from _names(item)
    for item in value if isinstance(value, list) else ():
        yield from _names(item)
