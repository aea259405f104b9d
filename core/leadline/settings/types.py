"""What a settings model expects at a place: by it text becomes values, and errors know choices and secrets.

Environment variables and `--set` are text. Only where a list or a table is expected do `[` and `{` open TOML, and
commas separate; everywhere else the field's own type reads the text, so that a key or a title may begin as it likes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, SecretBytes, SecretStr

KeyPath = tuple[str, ...]
_LISTS = (list, tuple, set, frozenset, Sequence)
_UNIONS = (Union, UnionType)


class Raw(str):
    """Text from the environment or the command line, not yet read as a value."""

    __slots__ = ()


def bare(annotation: Any) -> Any:
    """Return an annotation without `Annotated` and `| None`."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return bare(args[0])
    if origin in _UNIONS and len(rest := [arg for arg in args if arg is not NoneType]) == 1:
        return bare(rest[0])
    return annotation


def model_of(annotation: Any) -> type[BaseModel] | None:
    """Return the model that is expected, if there is one, by itself or beside other forms."""
    kind = bare(annotation)
    if get_origin(kind) in _UNIONS:
        return next(filter(None, map(model_of, get_args(kind))), None)
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def under(annotation: Any, key: str) -> Any:
    """Return what is expected below a key; None where that cannot be told."""
    if model := model_of(annotation):
        return next((f.annotation for name, f in model.model_fields.items() if key in (name, f.alias)), None)
    if is_table(annotation):
        return get_args(bare(annotation))[1] if get_args(bare(annotation)) else None
    if is_list(annotation) and key.isdigit():
        return next(iter(get_args(bare(annotation))), None)
    return None


def at(annotation: Any, path: Sequence[str]) -> Any:
    """Return what is expected at a path; None where that cannot be told."""
    for key in path:
        annotation = under(annotation, key)
    return annotation


def is_list(annotation: Any) -> bool:
    """Tell whether a list of some sort is expected."""
    return (get_origin(bare(annotation)) or bare(annotation)) in _LISTS


def is_table(annotation: Any) -> bool:
    """Tell whether a mapping with free keys is expected."""
    kind = get_origin(bare(annotation)) or bare(annotation)
    return isinstance(kind, type) and issubclass(kind, Mapping)


def is_secret(annotation: Any) -> bool:
    """Tell whether a secret is expected, by itself or within."""
    parts = get_args(annotation)
    return annotation in (SecretStr, SecretBytes) or any(is_secret(part) for part in parts)


def secret_texts(annotation: Any, value: Any) -> Iterator[str]:
    """Yield the texts that stand where secrets are expected, before anything was validated."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from secret_texts(under(annotation, str(key)), item)
    elif is_secret(annotation):
        yield from map(str, value) if isinstance(value, list | tuple) else [str(value)]


def read_text(value: Any, annotation: Any, path: KeyPath, refuse: Callable[[KeyPath, str], Exception]) -> Any:
    """Return values with their text read as far as lists and tables go; `refuse` makes the error for bad TOML."""
    if isinstance(value, Mapping):
        return {
            key: read_text(item, under(annotation, str(key)), (*path, str(key)), refuse) for key, item in value.items()
        }
    if not isinstance(value, str) or annotation in (None, Any):
        return value
    if isinstance(value, Raw) and _opens(value, annotation):
        try:
            return tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError as error:
            raise refuse(path, f"is no TOML: {error}") from None
    if is_list(annotation):
        return [part.strip() for part in value.split(",") if part.strip()]
    return str(value)


def _opens(text: str, annotation: Any) -> bool:
    table = is_table(annotation) or model_of(annotation) is not None
    return (is_list(annotation) and text.lstrip().startswith("[")) or (table and text.lstrip().startswith("{"))
