"""What Pandoc's Typst has no words for, said in Typst: alternative texts, ragged lines, entries of lists of sources.

Each is a function of the template around what stays content; of the text itself nothing becomes code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from leadline_plugins.formats.pdf.rows import whole
from leadline_plugins.formats.tree import Node, text

_ENDING = ["Div", "Header", "BulletList"]
"""How a report ends: the last source, and the statistics, which shall not stand on a page of their own."""
_LEAD = 400
"""Characters of a paragraph that goes with its table to the next page."""


def adapted(blocks: list[Node]) -> Iterator[Node]:
    """Yield the blocks of a document, ready for Pandoc's Typst."""
    set_ = list(whole(blocks))
    kept = len(set_) - len(_ENDING) if [block["t"] for block in set_[-len(_ENDING) :]] == _ENDING else -1
    for place, block in enumerate(set_):
        if place == kept:
            yield _raw("#kept[")
        match block:
            case {"t": "Figure"}:
                yield from _pictured(block)
            case {"t": "Div", "c": [[_, classes, _], _]} if "reference" in classes:
                yield from _within("further" if "additional" in classes else "entry", block)
            case {"t": "Div", "c": [[_, classes, _], [line, *quoted]]} if "quote" in classes:
                yield from (_raw("#passage["), *_within("leading", line), *quoted, _raw("]"))
            case {"t": "Para"} if _leads(block, set_[place + 1 : place + 2]):
                yield from _within("leading", block)
            case {"t": "Para" | "BulletList" | "OrderedList"} if _shows_address(block["c"]):
                yield from _within("ragged", block)
            case _:
                yield block
    if kept >= 0:
        yield _raw("]")


def _leads(block: Node, following: list[Node]) -> bool:
    """Return whether a paragraph leads to the table behind it, and is not so long that it had better be parted."""
    return [node["t"] for node in following] == ["Table"] and len(text(block)) <= _LEAD


def _pictured(block: Node) -> list[Node]:
    """Return a figure with its alternative text."""
    (name, _, _), (_, caption), body = block["c"]
    picture = next((node for node in body[0]["c"] if node["t"] == "Image"), None)
    if picture is None:
        return [block]
    (_, _, values), _, (address, _) = picture["c"]
    shown = f"image({_string(address)}, alt: {_string(dict(values).get('alt', ''))})"
    opening, closing = f"#figure({shown}, kind: image, caption: [", f"]) <{name}>"
    return [_raw(opening), *caption, _raw(closing)]


def _within(function: str, block: Node) -> list[Node]:
    return [_raw(f"#{function}["), block, _raw("]")]


def _shows_address(node: Any) -> bool:
    """Return whether an address stands in a text: too long a word for lines that are all filled."""
    match node:
        case list():
            return any(map(_shows_address, node))
        case {"t": "Link", "c": [_, inside, _]}:
            return text(inside).startswith(("http://", "https://"))
        case {"c": content}:
            return _shows_address(content)
    return False


def _string(value: str) -> str:
    """Return a text as a string of Typst: its escapes are those of JSON, but for those of other characters."""
    return json.dumps(value, ensure_ascii=False)


def _raw(code: str) -> Node:
    return {"t": "RawBlock", "c": ["typst", code]}
