"""What is whole of a reply that was cut off: no sentence without its end, no sentence without its citation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from leadline.records import Record
from leadline.replies.shapes import Shape, fields_of

_END = re.compile(
    r"""(?:(?<!\d)[.!?…]|(?<=\d)[.!?…](?=[\s\["'”’»)*_])|[。！？])["'”’»)*_]*"""
    r"""(?:\s*\[@[^\[\]\s]+\][.。]?)*(?=\s+[^\sa-z\[]|\s*\Z|[^\x00-\x7f])"""
    r"""|\[@[^\[\]\s]+\](?=\s*\n)"""
)
"""The end of a sentence with the citations behind it, and of a line that ends with one. Small letters go on with it."""
_HEADING = re.compile(r"(?:\A|\n)[ ]{0,3}#{1,6}[^\n]*\Z")


def whole_part(tree: Mapping[str, Any], model: type[Record], *, severed: bool = False) -> dict[str, Any]:
    """Return a reply as far as it is whole: the end of it is what its last field says.

    A text ends with its last whole sentence; of a list the last item is left out, unless it is the only one and has
    what it needs. `severed`: it ended within a text, so that this is not whole whatever it is.
    """
    fields = fields_of(model)
    found = dict(tree)
    name = next(reversed(found), "")
    if name in fields:
        value = _whole(found.pop(name), fields[name].shape, severed)
        found |= {} if value in (None, "", []) else {name: value}
    return found


def _whole(value: Any, shape: Shape, severed: bool) -> Any:
    if shape.kind == "record" and isinstance(value, dict):
        return whole_part(value, shape.model, severed=severed)
    if shape.kind == "list" and isinstance(value, list) and value:
        return value[:-1] or _only(value[0], shape.items[0], severed)
    if shape.prose and isinstance(value, str):
        return whole_sentences(value)
    return None if severed and isinstance(value, str) else value


def _only(value: Any, shape: Shape, severed: bool) -> list[Any]:
    """Return the only item of a list as far as it is whole; what would lack what it needs as it is, unless severed."""
    part = _whole(value, shape, severed)
    needed = {name for name, field in fields_of(shape.model).items() if field.required}
    if isinstance(part, dict) and needed <= part.keys():
        return [part]
    if not severed:
        return [value]
    return [part] if part and not isinstance(part, dict) else []


def whole_sentences(text: str) -> str:
    """Return a text up to the end of its last whole sentence; empty where there is none.

    Where sentences are cited, up to the last cited one: the citations of those behind it were cut off.
    """
    ends = [(match.end(), _is_cited(text, match)) for match in _END.finditer(text)]
    cited = any(with_citation for _, with_citation in ends)
    end = max((end for end, with_citation in ends if with_citation or not cited), default=0)
    said = text[:end].rstrip()
    while heading := _HEADING.search(said):
        said = said[: heading.start()].rstrip()
    return said


def _is_cited(text: str, end: re.Match[str]) -> bool:
    return "[@" in end.group() or text.endswith("]", 0, end.start())
