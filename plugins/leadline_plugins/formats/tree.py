"""The tree every format is set from: the nodes of Pandoc's document model, as plain JSON.

It is the one written-down document model that HTML, Word, EPUB, LaTeX and Typst all have a writer for; a node is
`{"t": type, "c": content}`, https://hackage.haskell.org/package/pandoc-types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from leadline.citations import unspaced

Node = dict[str, Any]
API = [1, 23, 1]
"""The version of the model."""
_HARMFUL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]|\\[?\ufdd0(?:\\d{1,6}\\])?"
)
"""Controls, which XML forbids, and overrides of the reading direction, which make a text read as it is not written."""
SIGN = "\ufdd0"
TOKEN = re.compile(rf"\[{SIGN}(\d{{1,6}})\]")
"""What holds the place of a mark at a claim in Markdown; no text has the noncharacter in it."""
_SURROGATES = re.compile("[\ud800-\udfff]")
_SPACES = re.compile(r"[ \t\r\n]+")


def clean(text: str) -> str:
    """Return a text without what no reader sees and some renderers obey."""
    return text if text.isprintable() else _SURROGATES.sub("\ufffd", _HARMFUL.sub("", text))


def words(text: str) -> list[Node]:
    """Return a text as inlines.

    Only its first word and the space at its ends are nodes of their own: by these Pandoc tells what would begin a list
    or a heading, and must be escaped. The rest is one node, for a node a word takes twice the time.
    """
    plain = _SPACES.sub(" ", clean(text))
    first, space, rest = plain.strip(" ").partition(" ")
    before, behind = plain.startswith(" "), bool(first) and plain.endswith(" ")
    runs = (" " * before, first, space, rest, " " * behind)
    return [{"t": "Space"} if run == " " else {"t": "Str", "c": run} for run in runs if run]


def attributes(name: str = "", *classes: str, **values: str) -> list[Any]:
    """Return attributes: identifier, classes, key-value pairs; `data_x` is written `data-x`."""
    return [name, list(classes), [[key.replace("_", "-"), clean(value)] for key, value in values.items()]]


def para(inlines: list[Node]) -> Node:
    """Return a paragraph."""
    return {"t": "Para", "c": inlines}


def plain(inlines: list[Node]) -> Node:
    """Return a block without the space of a paragraph around it."""
    return {"t": "Plain", "c": inlines}


def header(level: int, name: str, inlines: list[Node], *classes: str) -> Node:
    """Return a heading; sections of the report are level 1."""
    return {"t": "Header", "c": [level, attributes(name, *classes), inlines]}


def strong(inlines: list[Node]) -> Node:
    """Return inlines set bold."""
    return {"t": "Strong", "c": inlines}


def link(inlines: list[Node], url: str, attr: list[Any] | None = None) -> Node:
    """Return a link."""
    return {"t": "Link", "c": [attr or attributes(), inlines, [url, ""]]}


def image(alt: str, url: str) -> Node:
    """Return an image; `alt` is for those who do not see it."""
    return {"t": "Image", "c": [attributes(alt=alt), words(alt), [url, ""]]}


def div(blocks: list[Node], attr: list[Any]) -> Node:
    """Return blocks under one name or class."""
    return {"t": "Div", "c": [attr, blocks]}


def bullets(items: list[list[Node]]) -> Node:
    """Return a bullet list."""
    return {"t": "BulletList", "c": items}


def figure(name: str, body: list[Node], caption: list[Node]) -> Node:
    """Return a figure with its caption."""
    return {"t": "Figure", "c": [attributes(name), [None, [plain(caption)]], body]}


def text(node: Any) -> str:
    """Return the text of a node or a list of nodes."""
    found: list[str] = []
    waiting = [node]
    while waiting:
        match waiting.pop():
            case list() as nodes:
                waiting += reversed(nodes)
            case {"t": "Str", "c": said} | {"t": "Code" | "Math" | "CodeBlock", "c": [_, said]}:
                found.append(said)
            case {"t": "Space" | "SoftBreak" | "LineBreak"}:
                found.append(" ")
            case {"c": content}:
                waiting.append(content)
    return "".join(found)


def behind(said: list[Node], marks: list[Node]) -> list[Node]:
    """Return marks as they stand behind inlines: without the space they begin with where Chinese or Japanese ends."""
    return marks[1:] if marks and unspaced(text(said[-1:])) else marks


def spaced(runs: Iterable[list[Node]]) -> list[Node]:
    """Join runs of inlines by spaces."""
    joined: list[Node] = []
    for run in runs:
        joined += [{"t": "Space"}, *run] if joined and run else run
    return joined
