"""Settings that differ now from those that a run began with; on resume the run's own values are used.

Secrets are read again on resume; `leadline._settings.trust` refuses an address that is not that of today beside them.

Of the values that a run does not store, it has tags, which show whether a value has changed and nothing else of it. A
tag is an HMAC under a random key that stays on this machine, in the folder of the cache: who has only the folder of a
run cannot try values. Tags of another machine cannot be compared with the values here; they count as unchanged.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from leadline._settings.layers import Layer, Leaf, leaves, nested, refusal
from leadline._settings.redaction import public
from leadline._settings.schema import KeyPath, is_secret, read_text
from leadline.files import private_folder

# A run stores the text of its templates, where the sources have a path; `runs` is about the folder, not about the run.
_NOT_COMPARED = (("prompts",), ("runs",))
# The file of the key of tags, and its bytes.
KEY_FILE, _BYTES = "settings.key", 32


def find_drift(settings: BaseModel, stored: Mapping[str, Any], above: Layer, today: Layer) -> dict[KeyPath, Leaf]:
    """Return the values of `today` that differ from the stored ones, unless `above` sets them."""
    current = read_text(today.nested(), type(settings), (), lambda path, why: refusal(path, why, today.origin(path)))
    differences = _differences(settings, stored, current, ())
    return {path: Leaf(value, today.origin(path)) for path, value in differences if not above.origin(path)}


def drift_notices(own: Mapping[KeyPath, str], replaced: Mapping[KeyPath, str]) -> Iterator[str]:
    """Yield the notices about values that are not used, and about those that replace what was not stored.

    Both by their origins.
    """
    if own:
        yield f"the run keeps its own settings, which differ now: {_listed(own)}; to use a new value, --set KEY=VALUE"
    if replaced:
        yield f"settings that are not stored with a run differ now, and are used: {_listed(replaced)}"


def outdated_notices(paths: Collection[KeyPath]) -> Iterator[str]:
    """Yield the notice about settings of a run that this version does not know."""
    if paths:
        names = ", ".join(sorted(".".join(path) for path in paths))
        yield f"settings of the run that this version of Leadline does not have are ignored: {names}"


def _listed(origins: Mapping[KeyPath, str]) -> str:
    return ", ".join(f"{'.'.join(path)} ({origin})" for path, origin in origins.items())


def _differences(
    model: BaseModel, stored: Mapping[str, Any], current: Mapping[str, Any], path: KeyPath
) -> Iterator[tuple[KeyPath, Any]]:
    """Yield path and current value of each setting that both have and that differs as their model reads it."""
    for key, new in current.items():
        field, old = type(model).model_fields.get(key), stored.get(key)
        if field is None or key not in stored or is_secret(field.annotation) or (*path, key) in _NOT_COMPARED:
            continue
        inner = getattr(model, key)
        if isinstance(inner, BaseModel) and isinstance(new, Mapping) and isinstance(old, Mapping):
            yield from _differences(inner, old, new, (*path, key))
        else:
            both = isinstance(old, Mapping) and isinstance(new, Mapping)
            whole = nested(chain(leaves(new), leaves(old))) if both else new
            if _read(type(model), stored, key, old) != _read(type(model), stored, key, whole):
                yield (*path, key), new


def _read(model: type[BaseModel], stored: Mapping[str, Any], key: str, value: Any) -> Any:
    """Return a value as a run would store it, without secrets, which are no difference."""
    try:
        return public(model.model_validate({**stored, key: value})).get(key)
    except (ValidationError, ValueError, TypeError):
        return value


# --- tags of values that are not stored -------------------------------------------------------------------------------


def tags_of(values: Mapping[str, Any], folder: Path | None) -> dict[str, str]:
    """Return the tags of withheld values by dotted key; `folder` is that of the cache, None for tags of no use."""
    if not values:
        return {}
    key = _key(folder) if folder else secrets.token_bytes(_BYTES)
    own = hmac.digest(key, b"leadline: key of tags", "sha256").hex()[:8]
    texts = {path: json.dumps([path, value], sort_keys=True) for path, value in values.items()}
    return {path: f"{own}:{hmac.digest(key, text.encode(), 'sha256').hex()[:32]}" for path, text in texts.items()}


@dataclass(frozen=True)
class Comparison:
    """The withheld settings of a resumed run, compared with those that it began with.

    `tags` are those to go on with, `changed` the keys with another value now, `lost` those that no source sets now.
    """

    tags: Mapping[str, str]
    changed: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def compare(stored: Mapping[str, str], current: Mapping[str, str], is_set: Callable[[str], object]) -> Comparison:
    """Compare the tags of a run with those of now; `is_set` tells whether a source sets a key.

    Tags under the keys of two machines count as those of one value.
    """
    lost = tuple(key for key in stored if key not in current and not is_set(key))
    gone = tuple(key for key in stored if key not in current and key not in lost)
    same = [key for key, tag in current.items() if key in stored and stored[key] == tag]
    elsewhere = [key for key in current if key in stored and stored[key].split(":")[0] != current[key].split(":")[0]]
    changed = tuple(key for key in current if key not in same and key not in elsewhere)
    tags = {key: tag for key, tag in stored.items() if key not in gone} | {key: current[key] for key in changed}
    return Comparison(tags, (*changed, *gone), lost)


def _key(folder: Path) -> bytes:
    """Return the key of this machine; a new one if there is none, or if the folder cannot be written."""
    path = folder / KEY_FILE
    for _ in range(2):
        with suppress(OSError):
            key = path.read_bytes()
            if len(key) == _BYTES:
                return key
            path.unlink()
        new = secrets.token_bytes(_BYTES)
        temporary = path.with_name(f".{KEY_FILE}.{secrets.token_hex(4)}")
        with suppress(OSError):
            private_folder(folder)
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(new)
            try:
                os.link(temporary, path)  # complete at once; fails if another process was first
            finally:
                temporary.unlink()
    return new
