"""A light copy of a page: what a reader sees of it, bounded in depth, elements and characters.

The copy is made without recursion. It is at most `_DEPTH` levels deep, so what walks over it may recurse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from leadline_plugins.parse.html_hidden import Hidden
from leadline_plugins.parse.layout import weight

_DEPTH, _ELEMENTS, _CHARACTERS = 120, 150_000, 3_000_000
BLOCKS = frozenset(
    "address article aside blockquote body caption center col colgroup dd details dialog dir div dl dt fieldset"
    " figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html li listing main menu nav ol p pre section summary"
    " table tbody td tfoot th thead tr ul xmp".split()
)
_UNSEEN = frozenset(
    "area audio button canvas datalist embed head iframe input link map meta noscript object option rp rt script select"
    " style svg template textarea title video".split()
)
_PLAIN = frozenset("b br em i strong tbody thead tr".split())
"""Elements whose attributes are not looked at unless the page hides by class."""
_LONG_TAG = re.compile(r"<([a-zA-Z][\w:-]*)\s[^<>]{16384,}>")
_SELF_CLOSED = re.compile(r"<(a|div|em|i|iframe|p|script|span|strong|style|td|textarea|th|title)\b([^<>]*)/>")
_TAG = re.compile(r"<(/?)([a-zA-Z][\w:-]*)[^<>]*>")
_UNNESTED = frozenset(
    "area base br col dd dt embed hr img input li link meta option p source tbody td tfoot th thead tr wbr".split()
)
"""Elements without content, or whose end tag is optional."""
_MANY_TAGS, _NESTED = 10_000, 500
"""A page with so many tags is looked at for nesting: a parser takes time by the square of it."""
_TEXT = 50
"""Weight from which the own text of a block counts."""
_LINKED = 0.45
"""Share of links up to which it counts."""


class Node:
    """An element: its children are nodes and texts."""

    __slots__ = ("attributes", "children", "dropped", "has_blocks", "mass", "tag", "total")

    def __init__(self, tag: str, attributes: dict[str, str | None]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Node | str] = []
        self.mass = 0
        """Weight of the text in it that reads like text."""
        self.total = 0
        """Weight of all text in it."""
        self.has_blocks = False
        self.dropped = False

    def get(self, name: str) -> str:
        """Return an attribute, or an empty string."""
        return self.attributes.get(name) or ""

    @property
    def is_link(self) -> bool:
        """Whether it is a link: in XHTML an empty `<a id="x"/>` is none, and may hold whole sentences."""
        return self.tag == "a" and bool(self.attributes.get("href"))

    @property
    def elements(self) -> list[Node]:
        """The children that are elements and were not dropped."""
        return [child for child in self.children if not isinstance(child, str) and not child.dropped]

    def walk(self) -> Iterator[Node]:
        """Yield the elements below it that were not dropped, in the order of the page."""
        for child in self.children:
            if not isinstance(child, str) and not child.dropped:
                yield child
                yield from child.walk()

    def holds(self, tags: frozenset[str]) -> bool:
        """Return whether an element of one of these tags is below it."""
        return any(
            child.tag in tags or child.holds(tags) for child in self.children if not isinstance(child, str)
        )


def prepared(text: str, *, xhtml: bool) -> str:
    """Return the source of a page without what makes parsers slow or lets them lose text.

    Tags over 16 KB lose their attributes, tags nested deeper than 500 are removed. In XHTML empty elements get the end
    tag without which an HTML parser puts all the rest of the page into them.
    """
    text = _LONG_TAG.sub(r"<\1>", text)
    if xhtml:
        text = _SELF_CLOSED.sub(r"<\1\2></\1>", text)
    return _flattened(text) if text.count("<") > _MANY_TAGS else text


def _flattened(text: str) -> str:
    depth = 0

    def keep(found: re.Match[str]) -> str:
        nonlocal depth
        if found[2].lower() in _UNNESTED or found[0].endswith("/>"):
            return found[0]
        if found[1]:
            depth = max(0, depth - 1)
            return found[0] if depth < _NESTED else ""
        depth += 1
        return found[0] if depth <= _NESTED else ""

    return _TAG.sub(keep, text)


def copy(body: Any, hidden: Hidden) -> Node:
    """Return the light tree of a lexbor element, measured."""
    top = Node("body", {})
    open_nodes = [top]  # one for each level of the page; from `_DEPTH` on, the same
    element, elements, characters = body.child, 0, 0
    while element is not None and elements <= _ELEMENTS and characters <= _CHARACTERS:
        tag, parent, below = element.tag, open_nodes[-1], None
        if tag == "-text":
            if text := element.text_content:
                characters += len(text)
                parent.children.append(text[:_CHARACTERS])
        elif tag and tag[0] != "-" and tag not in _UNSEEN:
            attributes = {} if tag in _PLAIN and not hidden.names else element.attributes
            if not hidden(tag, attributes):
                elements += 1
                below = element.child
                node = parent
                if len(open_nodes) < _DEPTH:
                    node = Node(tag, attributes)
                    parent.children.append(node)
                if below is not None:
                    open_nodes.append(node)
        if below is None:
            while element is not None and element.next is None:
                element = element.parent
                open_nodes.pop()
                if not open_nodes:
                    element = None
            below = element.next if element is not None else None
        element = below
    _measure(top, linked=False)
    return top


def _measure(node: Node, *, linked: bool) -> tuple[int, int]:
    """Set the measures of a node; return the weight of its text that no block below it holds, and of links in it."""
    text = links = 0
    linked = linked or node.is_link
    for child in node.children:
        if isinstance(child, str):
            text += weight(" ".join(child.split())) if len(child) > 1 else len(child.strip())
        else:
            inner, inner_links = _measure(child, linked=linked)
            text += inner
            links += inner_links
            node.mass += child.mass
            node.total += child.total
            node.has_blocks = node.has_blocks or child.has_blocks or child.tag in BLOCKS
    if linked:
        links = text
    if node.tag not in BLOCKS:
        return text, links
    node.total += text
    if text >= _TEXT and links < _LINKED * text:
        node.mass += text - links
    return 0, 0
