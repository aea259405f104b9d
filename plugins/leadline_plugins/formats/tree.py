"""The document tree of all formats: nodes of Pandoc's document model as JSON.

A node is `{"t": type, "c": content}`; see https://hackage.haskell.org/package/pandoc-types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from leadline.citations import unspaced
from leadline.rendering import clean, readable_url, safe_url

Node = dict[str, Any]
# Version of the document model.
API = [1, 23, 1]
_SPACES = re.compile(r"[ \t\r\n]+")


def words(text: str) -> list[Node]:
    """Return a text as inlines.

    Pandoc needs the first word and the spaces at the ends as nodes, to escape what would begin a list or a heading.
    The rest is one node, because a node per word takes twice the time.
    """
    plain = _SPACES.sub(" ", clean(text))
    first, space, rest = plain.strip(" ").partition(" ")
    before, after = plain.startswith(" "), bool(first) and plain.endswith(" ")
    runs = (" " * before, first, space, rest, " " * after)
    return [{"t": "Space"} if run == " " else {"t": "Str", "c": run} for run in runs if run]


def attributes(name: str = "", *classes: str, **values: str) -> list[Any]:
    """Return attributes: identifier, classes, key-value pairs; `data_x` is written `data-x`."""
    return [name, list(classes), [[key.replace("_", "-"), clean(value)] for key, value in values.items()]]


def para(inlines: list[Node]) -> Node:
    return {"t": "Para", "c": inlines}


def plain(inlines: list[Node]) -> Node:
    """Return a block without the space of a paragraph around it."""
    return {"t": "Plain", "c": inlines}


def header(level: int, name: str, inlines: list[Node], *classes: str) -> Node:
    """Return a heading; sections of the report are level 1."""
    return {"t": "Header", "c": [level, attributes(name, *classes), inlines]}


def strong(inlines: list[Node]) -> Node:
    return {"t": "Strong", "c": inlines}


def link(inlines: list[Node], url: str, attr: list[Any] | None = None) -> Node:
    return {"t": "Link", "c": [attr or attributes(), inlines, [url, ""]]}


def image(alt: str, url: str) -> Node:
    """Return an image with its alternative text."""
    return {"t": "Image", "c": [attributes(alt=alt), words(alt), [url, ""]]}


def div(blocks: list[Node], attr: list[Any]) -> Node:
    """Return blocks with a common name or class."""
    return {"t": "Div", "c": [attr, blocks]}


def bullets(items: list[list[Node]]) -> Node:
    return {"t": "BulletList", "c": items}


def figure(attr: list[Any], body: list[Node], caption: list[Node]) -> Node:
    return {"t": "Figure", "c": [attr, [None, [plain(caption)]], body]}


def interactive(html: str, title: str, still: list[Node]) -> Node:
    """Return interactive HTML for the screen, with the blocks that take its place on paper."""
    return {"t": "Interactive", "c": [html, title, still]}


def text(node: Any) -> str:
    """Return the text of a node or a list of nodes."""
    pieces: list[str] = []
    waiting = [node]
    while waiting:
        match waiting.pop():
            case list() as nodes:
                waiting += reversed(nodes)
            case {"t": "Str", "c": content} | {"t": "Code" | "Math" | "CodeBlock", "c": [_, content]}:
                pieces.append(content)
            case {"t": "Space" | "SoftBreak" | "LineBreak"}:
                pieces.append(" ")
            case {"c": content}:
                waiting.append(content)
    return "".join(pieces)


def formulas(node: Any) -> list[str]:
    """Return the distinct formulas in a node or a list of nodes, as TeX."""
    texts: dict[str, None] = {}
    with_code(node, lambda tex: bool(texts.setdefault(tex)))
    return list(texts)


def with_code(node: Any, chosen: Callable[[str], bool]) -> Any:
    match node:
        case list():
            return [with_code(item, chosen) for item in node]
        case {"t": "Math", "c": [_, tex]} if chosen(tex):
            return {"t": "Code", "c": [attributes(), tex]}
        case {"t": kind, "c": content}:
            return {"t": kind, "c": with_code(content, chosen)}
    return node


def after_text(before: list[Node], marks: list[Node]) -> list[Node]:
    """Return marks to follow inlines: without their first space after Chinese or Japanese."""
    return marks[1:] if marks and unspaced(text(before[-1:])) else marks


def joined(runs: Iterable[list[Node]]) -> list[Node]:
    """Join runs of inlines by spaces."""
    joined: list[Node] = []
    for run in runs:
        joined += [{"t": "Space"}, *run] if joined and run else run
    return joined


def address_nodes(url: str) -> list[Node]:
    """Return an address as a link; as words if it is not safe to follow."""
    if target := safe_url(url):
        return [link(words(url), target, attributes("", "url"))]
    return words(readable_url(url))
