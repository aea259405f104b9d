"""A commented settings file, written from the models: every key, its default, what it does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, to_jsonable_python

from leadline.settings.types import is_list, model_of

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_COLUMN = 44
"""Where the remarks begin."""


def commented_toml(settings: type[BaseModel]) -> str:
    """Return a settings file with every key at its default, commented out; taking the `# ` away changes nothing.

    The type of `Loaded.settings` brings the sections of the chosen plugins as well.
    """
    lines = ["# Leadline's settings. Every key stands here with its default: take the # away to change one.", ""]
    return "\n".join([*lines, *_table(settings, (), _default_of(settings))]).rstrip() + "\n"


def _default_of(model: type[BaseModel]) -> dict[str, Any]:
    return {name: field.get_default(call_default_factory=True) for name, field in model.model_fields.items()}


def _table(model: type[BaseModel], path: tuple[str, ...], values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of a section, then the sections below it."""
    below = {name: list(_sections(field, values[name])) for name, field in model.model_fields.items()}
    for name, field in model.model_fields.items():
        if not below[name]:
            yield _key(name, field, values[name])
    for name, sections in below.items():
        for inner, section, inside in sections:
            if not section.model_fields:
                continue
            where = (*path, name, *inner)
            fields = section.model_fields
            yield from ("", *([f"# {_summary(section)}"] if _summary(section) else []))
            if any(not list(_sections(f, inside[n])) for n, f in fields.items()):
                yield f"[{'.'.join(where)}]"
            yield from _table(section, where, inside)


def _sections(field: FieldInfo, value: Any) -> Iterator[tuple[tuple[str, ...], type[BaseModel], Mapping[str, Any]]]:
    """Yield what a field brings as sections of their own: a model, or a table of models by name."""
    if model := model_of(field.annotation):
        yield (), model, dict(value) if isinstance(value, BaseModel) else _default_of(model)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if isinstance(item, BaseModel):
                yield (name,), type(item), dict(item)


def _summary(model: type[BaseModel]) -> str:
    return (model.__doc__ or "").strip().partition("\n")[0]


def _key(name: str, field: FieldInfo, value: Any) -> str:
    required = value is PydanticUndefined
    remark = " ".join(filter(None, ("Required." if required else "", field.description or "")))
    empty: Any = [] if is_list(field.annotation) else ""
    written = f"# {name} = {_toml(to_jsonable_python(empty if required else value))}"
    return f"{written:<{_COLUMN}} # {remark}" if remark else written


def _toml(value: Any) -> str:
    """Write a value as TOML; None, which TOML does not have, as an empty text."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_word(key)} = {_toml(item)}" for key, item in value.items() if item is not None)
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return '""' if value is None else json.dumps(value, ensure_ascii=False)


def _word(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)
