"""The document tree of all formats: nodes of Pandoc's document model as JSON, and addresses that are safe to follow.

A node is `{"t": type, "c": content}`; see https://hackage.haskell.org/package/pandoc-types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, unquote

from leadline.citations import unspaced

Node = dict[str, Any]
# Version of the document model.
API = [1, 23, 1]
# Control characters, which XML forbids, and overrides of the reading direction, which disguise text.
_HARMFUL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]|\\[?\ufdd0(?:\\d{1,6}\\])?"
)
SIGN = "\ufdd0"
# The token of a mark at a claim in Markdown, with a noncharacter that no text contains.
TOKEN = re.compile(rf"\[{SIGN}(\d{{1,6}})\]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_SPACES = re.compile(r"[ \t\r\n]+")
# Characters; programs that read or write PDF and Word files refuse longer addresses.
LONGEST = 2000
_SAFE = re.compile(r"(?:https?|ftp)://[^\s/?#]|mailto:", re.IGNORECASE)
_LETTERS = re.compile(r"(?:%[89a-f][0-9a-f])+", re.IGNORECASE)
_ODD = re.compile(r"[\s\"<>\\^`{|}]")
# Braces of BibTeX that keep capitals; catalogs copy them with the titles.
_KEPT = re.compile(r"\{\{([^{}]*)\}\}|\$\\\{\$([^$]*)\$\\\}\$")


def clean(text: str) -> str:
    """Return a text without invisible characters that some renderers obey."""
    return text if text.isprintable() else _SURROGATES.sub("\ufffd", _HARMFUL.sub("", text))


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
    """Return an image with its alternative text."""
    return {"t": "Image", "c": [attributes(alt=alt), words(alt), [url, ""]]}


def div(blocks: list[Node], attr: list[Any]) -> Node:
    """Return blocks with a common name or class."""
    return {"t": "Div", "c": [attr, blocks]}


def bullets(items: list[list[Node]]) -> Node:
    """Return a bullet list."""
    return {"t": "BulletList", "c": items}


def figure(name: str, body: list[Node], caption: list[Node]) -> Node:
    """Return a figure with its caption."""
    return {"t": "Figure", "c": [attributes(name), [None, [plain(caption)]], body]}


def interactive(html: str, title: str, still: list[Node]) -> Node:
    """Return interactive HTML for the screen, with the blocks that take its place on paper."""
    return {"t": "Interactive", "c": [html, title, still]}


def text(node: Any) -> str:
    """Return the text of a node or a list of nodes."""
    found: list[str] = []
    waiting = [node]
    while waiting:
        match waiting.pop():
            case list() as nodes:
                waiting += reversed(nodes)
            case {"t": "Str", "c": content} | {"t": "Code" | "Math" | "CodeBlock", "c": [_, content]}:
                found.append(content)
            case {"t": "Space" | "SoftBreak" | "LineBreak"}:
                found.append(" ")
            case {"c": content}:
                waiting.append(content)
    return "".join(found)


def after_text(before: list[Node], marks: list[Node]) -> list[Node]:
    """Return marks to follow inlines: without their first space after Chinese or Japanese."""
    return marks[1:] if marks and unspaced(text(before[-1:])) else marks


def joined(runs: Iterable[list[Node]]) -> list[Node]:
    """Join runs of inlines by spaces."""
    joined: list[Node] = []
    for run in runs:
        joined += [{"t": "Space"}, *run] if joined and run else run
    return joined


def plain_title(text: str) -> str:
    """Return the title of a source in one line without markup."""
    return " ".join(_KEPT.sub(lambda kept: kept[1] or kept[2] or "", text).split())


def safe_url(url: str) -> str:
    """Return an address that a link may have; empty unless it leads to the web, to FTP or to mail.

    Characters that an address must not have are percent-encoded: programs that read Word files refuse them.
    """
    url = clean(url).strip()
    if not _SAFE.match(url) or len(url) > LONGEST:
        return ""
    return _ODD.sub(lambda sign: quote(sign[0]), url)


def address_nodes(url: str) -> list[Node]:
    """Return an address as a link; as words if it is not safe to follow."""
    if target := safe_url(url):
        return [link(words(url), target, attributes("", "url"))]
    return words(readable_url(url))


def readable_url(url: str) -> str:
    """Return the address of a source for readers: of a document of one's own the folder and the path in it.

    Of a file elsewhere only its name is shown, since reports are shared. Letters outside ASCII are decoded; a space
    stays encoded.
    """
    scheme, found, rest = url.partition("://")
    if not found or scheme not in ("local", "file"):
        return url
    path = rest.partition("/")[2] if scheme == "local" else rest.rpartition("/")[2]
    return _LETTERS.sub(_decoded, path)


def _decoded(coded: re.Match[str]) -> str:
    try:
        letters = unquote(coded[0], errors="strict")
    except UnicodeDecodeError:
        return coded[0]
    return letters if letters.isprintable() else coded[0]
