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

from annotated_types import Ge, Le

from leadline.citations import cited
from leadline.records import NUMBERED, PROSE, SINGLE, Record


@dataclass(frozen=True)
class Shape:
    """The type of a field or of a list item; `share` is a number from 0 to 1, `whole` an integer."""

    kind: Literal["record", "list", "map", "text", "choice", "share", "number", "whole", "other"]
    marks: tuple[Any, ...] = ()
    nullable: bool = False
    model: type[Record] = Record
    """The model of a record."""
    choices: tuple[Any, ...] = ()
    items: tuple[Shape, ...] = ()
    """The shape of the items of a list or the values of a map."""

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
        one = shape_of(options[0], marks) if len(options) == 1 else Shape("other", marks)
        return replace(one, nullable=NoneType in inner)
    if origin is Literal:
        return Shape("choice", marks, choices=inner)
    if origin in (list, frozenset, set) or (origin is tuple and inner[1:] == (...,)):
        return Shape("list", marks, items=(shape_of(inner[0]),))
    if origin is dict:
        return Shape("map", marks, items=(shape_of(inner[1]),))
    if isinstance(form, type) and issubclass(form, Record):
        return Shape("record", marks, model=form)
    if form is str:
        return Shape("text", marks)
    if form is float and Ge(0) in marks and Le(1) in marks:
        return Shape("share", marks)
    if form in (float, int):
        return Shape("number" if form is float else "whole", marks)
    return Shape("other", marks, nullable=form is Any)


Tree = Mapping[str, Any]
# Texts that mean an empty list.
_NOTHING = frozenset({"", "none", "null", "n/a", "无", "無", "なし"})
# A number above the first value, up to the second, is a percentage; a smaller one may be points.
_PERCENT = 10.0, 100.0
# From this value on, floats do not represent all integers.
_EXACT = 2.0**53
_LISTED = re.compile(r"\s*[,;、]\s*")
# A cited id: `[@a]`, `@a`, `[a]`.
_MARKED = re.compile(r"[\s\[(]*@\s?([^\s\[\]()@,;]+)[\s\])]*|\s*\[([^\s\[\]()@,;]+)\]\s*")


def coerce(tree: Tree, model: type[Record]) -> dict[str, Any]:
    """Return the tree with values as the model expects them, where the meaning is clear; keep unknown keys."""
    fields = fields_of(model)
    found: dict[str, Any] = {}
    for key, said in tree.items():
        name = key if key in fields else field_named(key, model) or key
        if name not in fields or (name != key and (name in tree or name in found)):
            found[key] = said
            continue
        shape = fields[name].shape
        value = _value(said, shape, name)
        # A null id is a missing id, which is assigned later.
        if value is not None or shape.nullable or (fields[name].required and not fields[name].numbered):
            found[name] = value
    missing = {name: "" for name, field in fields.items() if field.required and field.numbered and name not in found}
    return missing | found


def _value(said: Any, shape: Shape, name: str = "") -> Any:
    """Return a value as its shape expects it; `name` is the name of its field."""
    if shape.kind in ("record", "choice", "share", "number", "whole") and isinstance(said, list) and len(said) == 1:
        said = said[0]
    if said is None:
        return None
    match shape.kind:
        case "record":
            return _record(said, shape.model)
        case "list":
            return _list(said, shape.items[0])
        case "map" if isinstance(said, dict):
            return {key: _value(item, shape.items[0]) for key, item in said.items()}
        case "text":
            return _text(said, shape, name)
        case "choice":
            return _choice(said, shape.choices)
        case "share":
            return _share(said)
        case _:
            return said


def _record(said: Any, model: type[Record]) -> Any:
    if isinstance(said, str) and text_field(model):
        said = {text_field(model): said}
    return coerce(said, model) if isinstance(said, dict) else said


def _list(said: Any, item: Shape) -> Any:
    if isinstance(said, str):
        said = _said_list(said.strip(), item)
    if isinstance(said, dict) and all(key.isdecimal() for key in said):
        said = list(said.values())
    listed = said if isinstance(said, list) else [said]
    return [_value(one, item) for one in listed if one is not None or item.nullable]


def _said_list(text: str, item: Shape) -> Any:
    """Return the list that a text means: an empty one, cited ids, or numbers separated by commas."""
    if text.lower() in _NOTHING:
        return []
    if item.kind == "text" and not item.prose and (ids := cited(text)):
        return ids
    return _LISTED.split(text) if item.kind in ("number", "whole") else text


def _text(said: Any, shape: Shape, name: str) -> Any:
    if isinstance(said, list):
        texts = [_text(one, shape, name) for one in said if one is not None]
        joined = texts and (shape.prose or len(texts) == 1) and all(isinstance(one, str) for one in texts)
        return "\n\n".join(texts) if joined else said
    if isinstance(said, dict):
        if not shape.prose and isinstance(said.get("id"), str | int):
            return str(said["id"])
        inner = said.get(name, next(iter(said.values()), None) if len(said) == 1 else None)
        return inner if isinstance(inner, str) else said
    if isinstance(said, str) and not shape.prose and (marked := _MARKED.fullmatch(said)):
        return marked[1] or marked[2]
    if isinstance(said, bool) or not isinstance(said, int | float):
        return said
    return str(int(said)) if abs(said) < _EXACT and said == int(said) else str(said)


def _choice(said: Any, choices: tuple[Any, ...]) -> Any:
    if said in choices or not isinstance(said, str | int | float):
        return said
    words = " ".join(str(said).casefold().replace("_", " ").replace("-", " ").split())
    known = {str(choice).casefold().replace("_", " ").replace("-", " "): choice for choice in choices}
    return known.get(words, said)


def _share(said: Any) -> Any:
    """Return a share from 0 to 1 for a percentage."""
    if isinstance(said, str) and (number := _number(said.strip().removesuffix("%"))) is not None:
        return number / 100 if said.strip().endswith("%") else _share(number)
    least, most = _PERCENT
    return said / 100 if isinstance(said, int | float) and least < said <= most else said


def _number(said: str) -> float | None:
    try:
        return float(said)
    except ValueError:
        return None
