"""Tags of the settings that a run does not store: they show whether a value has changed, and nothing else of it.

A tag is an HMAC under a random key that stays on this machine, in the folder of the cache: who has only the folder of a
run cannot try values. Tags of another machine cannot be compared with the values here; they count as unchanged.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leadline.files import private_folder

_FILE = "settings.key"
_BYTES = 32


def tags_of(values: Mapping[str, Any], folder: Path | None) -> dict[str, str]:
    """Return the tags of withheld values by dotted key; `folder` is that of the cache, None for tags of no use."""
    if not values:
        return {}
    key = _key(folder) if folder else secrets.token_bytes(_BYTES)
    own = hmac.digest(key, b"leadline: key of tags", "sha256").hex()[:8]
    return {path: f"{own}:{_tag(key, path, value)}" for path, value in values.items()}


@dataclass(frozen=True)
class Comparison:
    """The withheld settings of a resumed run, compared with those that it began with.

    `tags` are those to go on with, `changed` the keys with another value now, `lost` those that no source sets now.
    """

    tags: Mapping[str, str]
    changed: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def compare(stored: Mapping[str, str], current: Mapping[str, str], is_set: Callable[[str], object]) -> Comparison:
    """Compare the tags of a run with those of now; `is_set` tells whether a source sets a key."""
    lost = tuple(key for key in stored if key not in current and not is_set(key))
    gone = [key for key in stored if key not in current and key not in lost]
    changed = [key for key, tag in current.items() if key not in stored or _differ(stored[key], tag)]
    tags = {key: tag for key, tag in stored.items() if key not in gone and key not in changed}
    return Comparison(tags | {key: current[key] for key in changed}, (*changed, *gone), lost)


def _differ(stored: str, current: str) -> bool:
    """Return whether two tags of one setting are known to be those of different values."""
    return stored.partition(":")[0] == current.partition(":")[0] and stored != current


def _tag(key: bytes, path: str, value: Any) -> str:
    return hmac.digest(key, json.dumps([path, value], sort_keys=True).encode(), "sha256").hex()[:32]


def _key(folder: Path) -> bytes:
    """Return the key of this machine; a new one if there is none, or if the folder cannot be written."""
    path = folder / _FILE
    for _ in range(2):
        with suppress(OSError):
            key = path.read_bytes()
            if len(key) == _BYTES:
                return key
            path.unlink()
        new = secrets.token_bytes(_BYTES)
        temporary = path.with_name(f".{_FILE}.{secrets.token_hex(4)}")
        with suppress(OSError):
            private_folder(folder)
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(new)
            try:
                os.link(temporary, path)  # complete at once; fails if another process was first
            finally:
                temporary.unlink()
    return new
