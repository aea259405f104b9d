"""What of a reply does not fit, left out, so that one bad item does not cost the rest.

At once goes what stands by itself in its list while others of it are left, and a number or a choice that has a default
to stand for it. What else need not be there goes only where there is no asking again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from leadline.records import Record
from leadline.replies.shapes import Shape, fields_of

_TRIFLES = ("share", "number", "whole", "choice")
"""What an optional field of a reply may hold that costs no call: nobody asked for it in vain who has its default."""


@dataclass(frozen=True)
class _Part:
    """Something in a tree that may be left out: `holder[key]`."""

    holder: Any
    key: Any
    single: bool
    needed: bool
    """Whether its list must keep one item."""


def pruned(tree: dict[str, Any], model: type[Record], error: ValidationError, *, last: bool) -> int | None:
    """Take out of a tree what an error names, and return how many items went; None where it cannot be spared."""
    parts: dict[tuple[int, Any], _Part] = {}
    for one in error.errors(include_url=False, include_input=False, include_context=False):
        part = _spared(tree, model, one["loc"], last=last)
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


def _spared(tree: Any, model: type[Record], place: Sequence[int | str], *, last: bool) -> _Part | None:
    """Return what to leave out for an error at a place: the innermost item that stands by itself, else what it can."""
    shape, value, required = Shape("record", model=model), tree, True
    found: _Part | None = None
    for step in place:
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
        if part is not None and (found is None or part.single or not found.single):
            found = part
        if step not in range(len(value)) if isinstance(value, list) else step not in value:
            break  # it is missing: what lacks it goes
        value = value[step]
    return found
