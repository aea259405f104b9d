"""The types of the fields of an offer: checked when a plugin is loaded, so that a listing can rely on them.

Dataclasses check nothing. A text in place of a tuple of texts, for example, would break every listing of plugins.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from leadline.findings import Key
from leadline.hookspecs import MapOffer, Offer, PluginSettings, StageOffer
from leadline.records import Tool
from leadline.tasks import TaskKind

# A module, and what to install for it.
_REQUIREMENT = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*(=.*\S.*)?")
Check = Callable[[Any], bool]


def _is(*types: type) -> Check:
    return lambda value: isinstance(value, types) and (bool in types or not isinstance(value, bool))


def _tuple_of(check: Check) -> Check:
    return lambda value: isinstance(value, tuple) and all(map(check, value))


def _optional(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _is_text_table(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(text, str) for pair in value.items() for text in pair)


def _is_requirement(value: Any) -> bool:
    return isinstance(value, str) and _REQUIREMENT.fullmatch(value) is not None


def _is_number(value: Any) -> bool:
    return _is(int, float)(value) and math.isfinite(value) and value >= 0


def _is_key(value: Any) -> bool:
    return isinstance(value, Key) and all(
        (
            isinstance(value.name, str),
            isinstance(value.type, type),
            isinstance(value.grows, bool),
            isinstance(value.file, str),
        )
    )


def _is_growing_key(value: Any) -> bool:
    return _is_key(value) and value.grows


def _is_task(value: Any) -> bool:
    return isinstance(value, TaskKind) and isinstance(value.name, str)


def _is_count(value: Any) -> bool:
    return _is(int)(value) and value >= 1


def _is_timeout(value: Any) -> bool:
    return value is None or (_is_number(value) and value > 0)


_TEXTS = (_tuple_of(_is(str)), "a tuple of texts")
_BOOL = (_is(bool), "True or False")
_KEYS = (_tuple_of(_is_key), "a tuple of Key")
_GROWING = (_is_growing_key, "a Key that grows")
_CHECKS: Mapping[str, tuple[Check, str]] = {
    "make": (callable, "a function of settings and context"),
    "summary": (_is(str), "a text"),
    "env": (_is_text_table, "a table of texts, such as {'api_key': 'WIKI_API_KEY'}"),
    "requires": (_tuple_of(_is_requirement), "a tuple of 'module' or 'module=what to install'"),
    "ready": (callable, "a function of the settings"),
    "keep": _BOOL,
    "answers": (_optional(_tuple_of(_is(str))), "a tuple of texts, or None"),
    "priced": _BOOL,
    "free": _BOOL,
    "per_user": _BOOL,
    "at_once": (_is_count, "a whole number, at least 1"),
    "interval": (_is_number, "a number of seconds, at least 0"),
    "calls": _BOOL,
    "timeout": (_is_timeout, "a number of seconds above 0, or None"),
    "tasks": (_tuple_of(_is_task), "a tuple of TaskKind"),
    "uses": _TEXTS,
    "tools": (_tuple_of(_is(Tool)), "a tuple of Tool"),
}
_STAGE_CHECKS: Mapping[str, tuple[Check, str]] = {
    "needs": _KEYS,
    "wants": _KEYS,
    "gives": _KEYS,
    "may_give": _KEYS,
    "ends_loop": _BOOL,
    "closing": _BOOL,
}
_MAP_CHECKS: Mapping[str, tuple[Check, str]] = {
    "over": _GROWING,
    "gives": _GROWING,
    "may_give": (_tuple_of(_is_growing_key), "a tuple of Key that grow"),
    "needs": _KEYS,
    "wants": _KEYS,
}


def faulty_field(offer: Offer[Any, Any]) -> str:
    """Return which field of an offer has a wrong value, and what it must be; empty if all are right."""
    checks = dict(_CHECKS)
    checks |= _STAGE_CHECKS if isinstance(offer, StageOffer) else {}
    checks |= _MAP_CHECKS if isinstance(offer, MapOffer) else {}
    for name, (check, wanted) in checks.items():
        value = getattr(offer, name)
        if not check(value):
            return f"`{name}` must be {wanted}, and is {_shown(value)}"
    return ""


def faulty_settings(model: type[PluginSettings]) -> str:
    """Return what is wrong with a settings model beside its schema; empty if nothing is."""
    for name in ("removed", "authority"):
        if not _is_text_table(value := getattr(model, name)):
            return f"`{name}` must be a table of texts, and is {_shown(value)}"
    for name, field in model.model_fields.items():
        if field.description is not None and not isinstance(field.description, str):
            return f"the description of `{name}` must be a text, and is {_shown(field.description)}"
    return ""


def _shown(value: Any) -> str:
    """Return a value for a message; `repr` of a foreign class may raise anything."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - foreign code
        text = ""
    return text if text and len(text) <= 80 else f"a {type(value).__name__}"
