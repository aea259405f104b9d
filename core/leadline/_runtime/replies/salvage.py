"""Salvages the usable part of a reply: leaves out items that do not fit, and the last piece of one that was cut off."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from leadline._runtime.replies.coercion import Shape, fields_of
from leadline.records import Record

# The end of a sentence with the citations after it, or of a line that ends with one. A small letter continues it.
_END = re.compile(
    r"""(?:(?<!\d)[.!?…]|(?<=\d)[.!?…](?=[\s\["'”’»)*_])|[。！？])["'”’»)*_]*"""
    r"""(?:\s*\[@[^\[\]\s]+\][.。]?)*(?=\s+[^\sa-z\[]|\s*\Z|[^\x00-\x7f])"""
    r"""|\[@[^\[\]\s]+\](?=\s*\n)"""
)
_HEADING = re.compile(r"(?:\A|\n)[ ]{0,3}#{1,6}[^\n]*\Z")


def whole_part(tree: Mapping[str, Any], model: type[Record], *, severed: bool = False) -> dict[str, Any]:
    """Return the complete part of a reply that was cut off; only its last field can be incomplete.

    A text ends after its last complete sentence. A list loses its last item, unless that is the only one and has all
    required fields. `severed`: the text ended inside a string, which is therefore incomplete.
    """
    fields = fields_of(model)
    part = dict(tree)
    name = next(reversed(part), "")
    if name in fields:
        value = _whole(part.pop(name), fields[name].shape, severed)
        part |= {} if value in (None, "", []) else {name: value}
    return part


def _whole(value: Any, shape: Shape, severed: bool) -> Any:
    if shape.kind == "record" and isinstance(value, dict):
        return whole_part(value, shape.model, severed=severed)
    if shape.kind == "list" and isinstance(value, list) and value:
        return value[:-1] or _only(value[0], shape.items[0], severed)
    if shape.prose and isinstance(value, str):
        return whole_sentences(value)
    return None if severed and isinstance(value, str) else value


def _only(value: Any, shape: Shape, severed: bool) -> list[Any]:
    """Return the complete part of the only item; if it then lacks required fields, the item as it is unless severed."""
    part = _whole(value, shape, severed)
    needed = {name for name, field in fields_of(shape.model).items() if field.required}
    if isinstance(part, dict) and needed <= part.keys():
        return [part]
    if not severed:
        return [value]
    return [part] if part and not isinstance(part, dict) else []


def whole_sentences(text: str) -> str:
    """Return a text up to the end of its last complete sentence; empty if there is none.

    If sentences have citations, the text ends with the last cited one, because later citations were cut off.
    """
    ends = [(match.end(), _is_cited(text, match)) for match in _END.finditer(text)]
    cited = any(with_citation for _, with_citation in ends)
    end = max((end for end, with_citation in ends if with_citation or not cited), default=0)
    whole = text[:end].rstrip()
    while heading := _HEADING.search(whole):
        whole = whole[: heading.start()].rstrip()
    return whole


def _is_cited(text: str, end: re.Match[str]) -> bool:
    return "[@" in end.group() or text.endswith("]", 0, end.start())


# Kinds of optional values that are left out at once, because their default is good enough to save a call.
_TRIFLES = ("number", "choice")


@dataclass(frozen=True)
class _Part:
    """A part of a tree that may be left out: `holder[key]`."""

    holder: Any
    key: Any
    single: bool
    needed: bool
    """True if its list must keep at least one item."""


def prune(tree: dict[str, Any], model: type[Record], error: ValidationError, *, last: bool) -> int | None:
    """Remove the parts of a tree that an error names; return the number of items removed, or None if one is required.

    Independent items of lists, and numbers and choices with defaults, are removed at once; other optional parts only
    with `last`, when the model is not asked again.
    """
    parts: dict[tuple[int, Any], _Part] = {}
    for problem in error.errors(include_url=False, include_input=False, include_context=False):
        part = _spared(tree, model, problem["loc"], last=last)
        if part is None:
            return None
        parts[id(part.holder), part.key] = part
    items = 0
    for part in sorted(parts.values(), key=lambda part: part.key if isinstance(part.key, int) else -1, reverse=True):
        del part.holder[part.key]
        if isinstance(part.holder, list):
            items += 1
            if part.needed and not part.holder:
                return None
    return items


def _spared(tree: Any, model: type[Record], path: Sequence[int | str], *, last: bool) -> _Part | None:
    """Return the part to leave out for an error at a place: the innermost independent item, else the innermost part."""
    shape, value, required = Shape("record", model=model), tree, True
    spared: _Part | None = None
    for step in path:
        if shape.kind == "record" and isinstance(value, dict) and step in fields_of(shape.model):
            field = fields_of(shape.model)[str(step)]
            shape, required = field.shape, field.required
            trifle = shape.kind in _TRIFLES and not shape.nullable
            may = not required and (last or trifle)
            part = _Part(value, step, trifle, needed=False) if may and step in value else None
        elif shape.kind == "list" and isinstance(value, list) and isinstance(step, int) and step < len(value):
            shape = shape.items[0]
            may = shape.single or last
            part = _Part(value, step, shape.single, needed=required or not last) if may else None
        else:
            break
        if part is not None and (spared is None or part.single or not spared.single):
            spared = part
        if step not in range(len(value)) if isinstance(value, list) else step not in value:
            break  # a missing field: leave out its owner
        value = value[step]
    return spared
