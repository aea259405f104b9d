"""What a record's fields take, as far as lenient reading asks: read from their annotations, once a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Le

from leadline.records import NUMBERED, PROSE, SINGLE, Record

_ALIASES: Mapping[str, tuple[str, ...]] = {
    "id": ("section id", "claim id", "number", "no", "index"),
    "section": ("section id",),
    "title": ("name", "heading", "headline", "section title"),
    "name": ("title", "perspective", "heading"),
    "goal": ("description", "purpose", "objective", "aim"),
    "questions": ("key questions", "research questions"),
    "sections": ("outline", "chapters"),
    "queries": ("searches", "search queries", "next searches"),
    "query": ("search", "search query", "text", "q"),
    "text": ("content", "body", "markdown", "paragraphs", "section text"),
    "claim": ("statement", "finding", "learning"),
    "quote": ("verbatim quote", "quotation", "citation"),
    "learnings": ("findings", "claims"),
    "coverage": ("status", "rating"),
    "is_sufficient": ("sufficient",),
    "priority_gaps": ("gaps", "knowledge gaps"),
    "verdict": ("label", "status", "judgement", "judgment"),
    "reason": ("explanation", "rationale", "justification"),
    "evidence_ids": ("evidence", "passages", "passage ids", "ids"),
    "pieces": ("numbers", "items", "passages"),
    "summary": ("executive summary", "abstract"),
    "conclusion": ("conclusions",),
    "perspectives": ("analysis", "analyses"),
    "charts": ("figures",),
    "type": ("chart type", "form", "kind"),
    "rows": ("data", "data points", "points"),
    "label": ("category", "name"),
}
"""Other names of fields, in the records that have them: what the words of a prompt suggest, and what is usual."""


@dataclass(frozen=True)
class Shape:
    """What stands under a field, or in a list; `share`: a number from 0 to 1; `whole` is one without fractions."""

    kind: Literal["record", "list", "map", "text", "choice", "share", "number", "whole", "other"]
    marks: tuple[Any, ...] = ()
    nullable: bool = False
    model: type[Record] = Record
    """Of a record."""
    choices: tuple[Any, ...] = ()
    items: tuple[Shape, ...] = ()
    """Of a list that of its items, of a map that of its values."""

    @property
    def prose(self) -> bool:
        """Whether it is text to be read, no id, name or address."""
        return self.kind == "text" and PROSE in self.marks

    @property
    def single(self) -> bool:
        """Whether as an item it stands by itself, and is left out alone where it does not read."""
        return SINGLE in self.marks


@dataclass(frozen=True)
class Field:
    """A field of a record."""

    shape: Shape
    required: bool

    @property
    def numbered(self) -> bool:
        """Whether it is an id that whoever takes the record gives where there is none."""
        return NUMBERED in self.shape.marks


@cache
def fields_of(model: type[Record]) -> Mapping[str, Field]:
    """Return the fields of a record by their names."""
    return {
        name: Field(shape_of(field.annotation, tuple(field.metadata)), field.is_required())
        for name, field in model.model_fields.items()
    }


@cache
def names_of(model: type[Record]) -> Mapping[str, str]:
    """Return the names of the fields by what is left of them without case and signs."""
    return {folded(name): name for name in reversed(model.model_fields)}


@cache
def aliases_of(model: type[Record]) -> Mapping[str, str]:
    """Return the fields by other names that models give them, where the record has no field of that name."""
    names = names_of(model)
    others = {folded(other): name for name in reversed(model.model_fields) for other in _ALIASES.get(name, ())}
    return {other: name for other, name in others.items() if other not in names}


def known_by(key: object, model: type[Record]) -> str:
    """Return the field that a key means, by its name or by another that models give it; empty for none."""
    said = folded(str(key))
    return names_of(model).get(said) or aliases_of(model).get(said, "")


def folded(name: str) -> str:
    """Return a name without case and the signs between its words: `isSufficient` is `is_sufficient`."""
    return "".join(char for char in name.casefold() if char not in "_- ")


@cache
def natural(model: type[Record]) -> str:
    """Return the field that a mere text stands for: the one that a record needs, numbers aside; empty for none."""
    needed = {name: field for name, field in fields_of(model).items() if field.required and not field.numbered}
    name = next(iter(needed), "")
    return name if len(needed) == 1 and needed[name].shape.prose else ""


def shape_of(form: Any, marks: tuple[Any, ...] = ()) -> Shape:
    """Return the shape of an annotation; `other` for what only pydantic knows."""
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
