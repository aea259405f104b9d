"""Settings models as schemas: the annotation at a path, text as values, and the commented settings file.

Environment variables and `--set` are text. Where a list or a table is expected, `[` and `{` begin TOML, and commas
separate items; a text in quotes is TOML everywhere. Otherwise the type of the field parses the text, so that a key or a
title may begin with any character.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, SecretBytes, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

KeyPath = tuple[str, ...]
_LISTS = (list, tuple, set, frozenset, Sequence)
_UNIONS = (Union, UnionType)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
# The column of the comments in a settings file.
_COLUMN = 44


class Raw(str):
    """Text of the environment or the command line that is not parsed yet."""


# The key that makes a section a second instance of another plugin, or names the file of a plugin.
USE = "use"


def names_code(path: KeyPath, value: Any) -> bool:
    """Return whether a value is the path of a plugin of one file, or of a folder of them."""
    if path == ("plugin_folder",):
        return isinstance(value, str) and bool(value)
    is_use = path[:1] == ("plugins",) and path[2:] == (USE,) and isinstance(value, str)
    return is_use and (value.strip("\"' ").endswith(".py") or "/" in value or os.sep in value)


# --- annotations -----------------------------------------------------------------------------------------------------


def unwrapped(annotation: Any) -> Any:
    """Return an annotation without `Annotated` and `| None`."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return unwrapped(args[0])
    if origin in _UNIONS and len(rest := [arg for arg in args if arg is not NoneType]) == 1:
        return unwrapped(rest[0])
    return annotation


def model_of(annotation: Any) -> type[BaseModel] | None:
    """Return the model of an annotation, alone or in a union; None if there is none."""
    kind = unwrapped(annotation)
    if get_origin(kind) in _UNIONS:
        return next(filter(None, map(model_of, get_args(kind))), None)
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def fields_of(model: type[BaseModel], above: KeyPath = ()) -> Iterator[tuple[KeyPath, FieldInfo]]:
    """Yield all fields of a model and of its tables, with their paths."""
    for name, field in model.model_fields.items():
        yield (*above, name), field
        if table := model_of(field.annotation):
            yield from fields_of(table, (*above, name))


def annotation_at(annotation: Any, path: Sequence[str]) -> Any:
    """Return the annotation at a path; None if it is unknown."""
    for key in path:
        annotation = _annotation_below(annotation, key)
    return annotation


def _annotation_below(annotation: Any, key: str) -> Any:
    if model := model_of(annotation):
        return next((f.annotation for name, f in model.model_fields.items() if key in (name, f.alias)), None)
    if is_table(annotation):
        return get_args(unwrapped(annotation))[1] if get_args(unwrapped(annotation)) else None
    if is_list(annotation) and key.isdigit():
        return next(iter(get_args(unwrapped(annotation))), None)
    return None


def is_list(annotation: Any) -> bool:
    """Return whether a list of any type is expected."""
    return (get_origin(unwrapped(annotation)) or unwrapped(annotation)) in _LISTS


def is_table(annotation: Any) -> bool:
    """Return whether a mapping with any keys is expected."""
    kind = get_origin(unwrapped(annotation)) or unwrapped(annotation)
    return isinstance(kind, type) and issubclass(kind, Mapping)


def is_secret(annotation: Any) -> bool:
    """Return whether a secret is expected, alone or inside."""
    return annotation in (SecretStr, SecretBytes) or any(is_secret(part) for part in get_args(annotation))


def scalars(value: Any) -> Iterator[Any]:
    """Yield the values in tables and lists, however deep."""
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, list | tuple | set | frozenset):
        yield value
        return
    for item in value:
        yield from scalars(item)


def secret_texts(annotation: Any, value: Any) -> Iterator[str]:
    """Yield the texts of values that are expected to be secret, before validation."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from secret_texts(_annotation_below(annotation, str(key)), item)
    elif is_secret(annotation):
        yield from map(str, value) if isinstance(value, list | tuple) else [str(value)]


# --- text ------------------------------------------------------------------------------------------------------------


def read_text(value: Any, annotation: Any, path: KeyPath, refuse: Callable[[KeyPath, str], Exception]) -> Any:
    """Return values with lists and tables parsed from text; `refuse` returns the error for invalid TOML."""
    if isinstance(value, Mapping):
        below = {key: _annotation_below(annotation, str(key)) for key in value}
        return {key: read_text(item, below[key], (*path, str(key)), refuse) for key, item in value.items()}
    if not isinstance(value, str) or annotation is None:
        return value
    if annotation is Any:
        return unquoted(value)
    if isinstance(value, Raw) and _is_toml(value, annotation):
        try:
            return tomllib.loads(f"value = {value}")["value"]
        except (ValueError, RecursionError) as error:
            raise refuse(path, f"the value is not valid TOML: {error}") from None
    if is_list(annotation):
        quoted = quoted_texts(value) if isinstance(value, Raw) else None
        return quoted or [part.strip() for part in value.split(",") if part.strip()]
    return unquoted(value)


def unquoted(text: str) -> str:
    """Return text of the environment or the command line without the quotes of TOML; any other text as it is."""
    texts = quoted_texts(text) if isinstance(text, Raw) else None
    return texts[0] if texts and len(texts) == 1 else str(text)


def quoted_texts(text: str) -> list[str] | None:
    """Return the texts in TOML's quotes, separated by commas; None for anything else."""
    if text.lstrip()[:1] not in ('"', "'"):
        return None
    try:
        items = tomllib.loads(f"value = [{text}]")["value"]
    except (ValueError, RecursionError):
        return None
    return items if all(isinstance(item, str) for item in items) else None


def _is_toml(text: str, annotation: Any) -> bool:
    table = is_table(annotation) or model_of(annotation) is not None
    return (is_list(annotation) and text.lstrip().startswith("[")) or (table and text.lstrip().startswith("{"))


# --- the settings file -----------------------------------------------------------------------------------------------


def commented_toml(defaults: BaseModel) -> str:
    """Return a settings file with every key and value of these settings, commented out."""
    lines = ["# Leadline's settings. Every key has its default here: remove the # to change one.", ""]
    return "\n".join([*lines, *_table_lines((), defaults, set())]).strip() + "\n"


def _table_lines(path: KeyPath, table: BaseModel, described: set[type[BaseModel]]) -> Iterator[str]:
    """Yield the keys of a table, and then the tables in it; only the first table of its kind has all keys."""
    model, tables, lines = type(table), dict[KeyPath, BaseModel](), list[str]()
    for name, field in model.model_fields.items():
        value = getattr(table, name)
        inner = {(): value} if isinstance(value, BaseModel) else {(key,): item for key, item in _models(value)}
        tables |= {(*path, name, *below): item for below, item in inner.items()}
        written = f"# {name} = {toml_value(to_jsonable_python(value))}"
        if model not in described and not inner:
            comment = " ".join(filter(None, ("Required." if field.is_required() else "", field.description)))
            lines.append(f"{written:<{_COLUMN}} # {comment}" if comment else written)
        elif not inner and value != field.get_default(call_default_factory=True):
            lines.append(written)
    summary = (model.__doc__ or "").strip().partition("\n")[0]
    if path and model.model_fields:
        yield from ("", *([f"# {summary}"] if summary and model not in described else []))
        yield from [f"[{'.'.join(path)}]"] if lines or model in described else []
    described.add(model)
    yield from lines
    for where, item in tables.items():
        yield from _table_lines(where, item, described)


def _models(value: Any) -> Iterator[tuple[str, BaseModel]]:
    """Yield the models by name in the value of a field."""
    if isinstance(value, Mapping):
        yield from ((name, item) for name, item in value.items() if isinstance(item, BaseModel))


def toml_value(value: Any) -> str:
    """Return a value as TOML; None, which TOML does not have, as an empty text."""
    if isinstance(value, Mapping):
        keys = {key: key if _BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False) for key in value}
        pairs = (f"{keys[key]} = {toml_value(item)}" for key, item in value.items() if item is not None)
        return f"{{ {inside} }}" if (inside := ", ".join(pairs)) else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    return '""' if value is None else json.dumps(value, ensure_ascii=False)
