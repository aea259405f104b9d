"""Coerces a reply to its record: keys in another case, `null` for nothing, one item instead of a list.

Values that fit a field stay as they are. Others become what they clearly mean, or stay and are refused by validation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from leadline.citations import cited
from leadline.records import NUMBERED, PROSE, SINGLE, Record


@dataclass(frozen=True)
class Shape:
    """The type of a field or of a list item."""

    kind: Literal["record", "list", "text", "choice", "number", "other"]
    marks: tuple[Any, ...] = ()
    nullable: bool = False
    model: type[Record] = Record
    """The model of a record."""
    choices: tuple[Any, ...] = ()
    items: tuple[Shape, ...] = ()
    """The shape of the items of a list."""

    @property
    def prose(self) -> bool:
        """True for text to read, false for ids, names and addresses."""
        return self.kind == "text" and PROSE in self.marks

    @property
    def single(self) -> bool:
        """True for an independent item, which alone is left out if it does not fit."""
        return SINGLE in self.marks


@dataclass(frozen=True)
class Field:
    """A field of a record."""

    shape: Shape
    required: bool

    @property
    def numbered(self) -> bool:
        """True for an id that is assigned if it is missing."""
        return NUMBERED in self.shape.marks


@cache
def fields_of(model: type[Record]) -> Mapping[str, Field]:
    """Return the fields of a record by their names."""
    return {
        name: Field(shape_of(field.annotation, tuple(field.metadata)), field.is_required())
        for name, field in model.model_fields.items()
    }


@cache
def normalized_names(model: type[Record]) -> Mapping[str, str]:
    """Return field names by their normalized form."""
    return {normalized(name): name for name in reversed(model.model_fields)}


def field_named(key: object, model: type[Record]) -> str:
    """Return the field that a key names, whatever its case and separators; empty if there is none."""
    return normalized_names(model).get(normalized(str(key)), "")


def normalized(name: str) -> str:
    """Return a name without case and separators: `isSufficient` equals `is_sufficient`."""
    return "".join(char for char in name.casefold() if char not in "_- ")


@cache
def text_field(model: type[Record]) -> str:
    """Return the only required field (ids aside) if it is a text: a plain text then means this field. Else empty."""
    needed = {name: field for name, field in fields_of(model).items() if field.required and not field.numbered}
    name = next(iter(needed), "")
    return name if len(needed) == 1 and needed[name].shape.prose else ""


def as_reply(model: type[Record], text: str) -> dict[str, Any]:
    """Return a text as the only required field of a reply: a text, or a list of records of one; else empty."""
    if name := text_field(model):
        return {name: text}
    needed = [(name, field.shape) for name, field in fields_of(model).items() if field.required]
    if len(needed) == 1 and needed[0][1].kind == "list" and (item := needed[0][1].items[0]).kind == "record":
        return {needed[0][0]: [{text_field(item.model): text}]} if text_field(item.model) else {}
    return {}


def shape_of(form: Any, marks: tuple[Any, ...] = ()) -> Shape:
    """Return the shape of an annotation; `other` if only pydantic understands it."""
    origin, inner = get_origin(form), get_args(form)
    if origin is Annotated:
        return shape_of(inner[0], (*marks, *inner[1:]))
    if origin in (Union, UnionType):
        options = [option for option in inner if option is not NoneType]
        shape = shape_of(options[0], marks) if len(options) == 1 else Shape("other", marks)
        return replace(shape, nullable=NoneType in inner)
    if origin is Literal:
        return Shape("choice", marks, choices=inner)
    if origin in (list, frozenset, set) or (origin is tuple and inner[1:] == (...,)):
        return Shape("list", marks, items=(shape_of(inner[0]),))
    if isinstance(form, type) and issubclass(form, Record):
        return Shape("record", marks, model=form)
    if form is str:
        return Shape("text", marks)
    if form in (float, int):
        return Shape("number", marks)
    return Shape("other", marks, nullable=form is Any)


# Texts that mean an empty list.
_NOTHING = frozenset({"", "none", "null", "n/a", "无", "無", "なし"})
# A cited id: `[@a]`, `@a`, `[a]`.
_CITED_ID = re.compile(r"[\s\[(]*@\s?([^\s\[\]()@,;]+)[\s\])]*|\s*\[([^\s\[\]()@,;]+)\]\s*")


def coerce(tree: Mapping[str, Any], model: type[Record]) -> dict[str, Any]:
    """Return the tree with values as the model expects them, where the meaning is clear; keep unknown keys."""
    fields = fields_of(model)
    coerced: dict[str, Any] = {}
    for key, given in tree.items():
        name = key if key in fields else field_named(key, model) or key
        if name not in fields or (name != key and (name in tree or name in coerced)):
            coerced[key] = given
            continue
        shape = fields[name].shape
        value = _value(given, shape)
        # A null id is a missing id, which is assigned later.
        if value is not None or shape.nullable or (fields[name].required and not fields[name].numbered):
            coerced[name] = value
    missing = {name: "" for name, field in fields.items() if field.required and field.numbered and name not in coerced}
    return missing | coerced


def _value(given: Any, shape: Shape) -> Any:
    """Return a value as its shape expects it."""
    if given is None:
        return None
    match shape.kind:
        case "record":
            given = {text_field(shape.model): given} if isinstance(given, str) and text_field(shape.model) else given
            return coerce(given, shape.model) if isinstance(given, dict) else given
        case "list":
            return _list(given, shape.items[0])
        case "text":
            return _text(given, shape)
        case "choice":
            return _choice(given, shape.choices)
    return given


def _list(given: Any, item: Shape) -> Any:
    if isinstance(given, str):
        if given.strip().lower() in _NOTHING:
            return []
        if item.kind == "text" and not item.prose:
            given = cited(given) or given
    items = given if isinstance(given, list) else [given]
    return [_value(value, item) for value in items if value is not None or item.nullable]


def _text(given: Any, shape: Shape) -> Any:
    if isinstance(given, list) and shape.prose and all(isinstance(paragraph, str) for paragraph in given):
        return "\n\n".join(given)
    if isinstance(given, str) and not shape.prose and (match := _CITED_ID.fullmatch(given)):
        return match[1] or match[2]
    return str(given) if isinstance(given, int) and not isinstance(given, bool) else given


def _choice(given: Any, choices: tuple[Any, ...]) -> Any:
    if given in choices or not isinstance(given, str):
        return given
    by_name = {normalized(str(choice)): choice for choice in choices}
    return by_name.get(normalized(given.strip()), given)
