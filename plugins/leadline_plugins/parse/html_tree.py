"""A light copy of a page: the visible part, bounded in depth, elements and characters.

Hidden text is left out first, because it may hold instructions to machines; the page's own stylesheets are read, those
in other files are not. The copy is made without recursion and is at most `_DEPTH` levels deep: its users may recurse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from leadline_plugins.parse.layout import weight

_HIDES = re.compile(
    r"""display:none | visibility:(hidden|collapse) | opacity:(0+(\.0\d*)?|\.0\d*)(?![.\d])
    | font-size:0*(\.?0*(px|em|rem|pt|%)?|[0-4](\.\d+)?(px|pt)|\.[0-2]\d*r?em|\d(\.\d+)?%)(?=;|!|$)
    | ^(?!.*background-clip).*(?<![-\w])color:(transparent|rgba\(([\d.]+,){3}0*\.?0*\)) | transform:scale\([0.]+[,)]
    | text-indent:-\d{3,} | (left|top|right|bottom|margin-left|margin-top):-\d{4,} | clip:rect\([01]
    | clip-path:inset\((50|100)% | content-visibility:hidden
    | (?<![-\w])(height|width):[01](px)?(?=;|!|$)(?=.*overflow:hidden)""",
    re.VERBOSE,
)
# Classes by which frameworks hide elements, some of them from all but screen readers.
_FRAMEWORKS = frozenset({
    "d-none", "hidden", "hide", "screen-reader-only", "screen-reader-text", "sr-only", "visually-hidden",
    "visuallyhidden",
})  # fmt: skip
_AT_RULES = re.compile(r"@[^{};]*(?:;|\{(?:[^{}]*\{[^{}]*\})*[^{}]*\})")
# Characters of the selectors of a rule.
_SELECTORS = 2_000
_SIMPLE = re.compile(r"[.#][\w-]+")
# Characters of a page's own stylesheets that are read.
_CSS = 300_000
_DEPTH, _ELEMENTS, _CHARACTERS = 120, 150_000, 3_000_000
BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "caption", "center", "col", "colgroup", "dd", "details",
    "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3",
    "h4", "h5", "h6", "header", "hr", "html", "li", "listing", "main", "menu", "nav", "ol", "p", "pre", "section",
    "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul", "xmp",
})  # fmt: skip
_UNSEEN = frozenset({
    "annotation", "annotation-xml", "area", "audio", "button", "canvas", "datalist", "embed", "head", "iframe", "input",
    "link", "map", "meta", "noscript", "object", "option", "rp", "rt", "script", "select", "style", "svg", "template",
    "textarea", "title", "video",
})  # fmt: skip
# Elements whose attributes are not looked at unless the page hides by class.
_PLAIN = frozenset({"b", "br", "em", "i", "strong", "tbody", "thead", "tr"})
# A tag longer than this keeps its first attributes: a parser compares each with all before it.
_LONG_TAG, _MOST_ATTRIBUTES = 1_000, 100
# Characters from which a page is looked at for long tags whose values contain `<`.
_LONG_PAGE = 200_000
_OPEN = re.compile(r"<([a-zA-Z][^\s/>]*+)((?:[^>\"']++|\"[^\"]*+\"|'[^']*+')*+)>?")
_ATTRIBUTE = re.compile(r"""[^\s"'=/>]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'>]*+))?""")
_SELF_CLOSED = re.compile(r"<(a|div|em|i|iframe|p|script|span|strong|style|td|textarea|th|title)\b([^<>]*)/>")
_TAG = re.compile(r"<(/?)([a-zA-Z][\w:-]*)[^<>]*>")
# Elements without content, or whose end tag is optional.
_UNNESTED = frozenset({
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta", "option", "p",
    "source", "tbody", "td", "tfoot", "th", "thead", "tr", "wbr",
})  # fmt: skip
# Elements that a parser opens again in every later block until they are closed.
_FORMATTING = frozenset({
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
})  # fmt: skip
# A page with many tags, or with some and unclosed formatting, is looked at for nesting: parsing takes its square.
_SOME_TAGS, _MANY_TAGS, _NESTED, _UNCLOSED = 2_000, 10_000, 500, 60
# Weight from which the own text of a block counts.
_TEXT = 50
# Share of links up to which it counts.
_LINKED = 0.45


class Hidden:
    """Recognizes hidden elements. `css` is the text of the page's own stylesheets."""

    def __init__(self, css: str = "") -> None:
        # Classes and ids, with their sign.
        self.names = _hidden_names(css[:_CSS])

    def __call__(self, tag: str, attributes: Mapping[str, str | None]) -> bool:
        """Return whether an element is hidden by an attribute, a style, its class or its id."""
        if tag == "dialog" and "open" not in attributes:
            return True
        if not attributes:
            return False
        if "hidden" in attributes and attributes["hidden"] != "until-found":
            return True
        if attributes.get("aria-hidden") == "true" and tag not in ("math", "body", "main", "article"):
            return True
        style, classes = attributes.get("style"), attributes.get("class")
        if style and hides(style):
            return True
        named = classes.split() if classes else []
        if not _FRAMEWORKS.isdisjoint(named):
            return True
        return bool(self.names) and (
            f"#{attributes.get('id')}" in self.names or any(f".{name}" in self.names for name in named)
        )


def hides(style: str) -> bool:
    """Return whether declarations make an element invisible."""
    return bool(_HIDES.search("".join(style.lower().split())))


def _hidden_names(css: str) -> frozenset[str]:
    """Return the classes and ids that the stylesheets hide and do not show again."""
    names: set[str] = set()
    for rule in _AT_RULES.sub("", css).split("}")[:-1]:
        before, _, style = rule.rpartition("{")
        selectors = before.rpartition("{")[2][-_SELECTORS:]
        simple = {part.strip() for part in selectors.split(",") if _SIMPLE.fullmatch(part.strip())}
        if hides(style):
            names |= simple
        elif "display" in style or "visibility" in style or "opacity" in style:
            names -= simple
    return frozenset(names)


class Node:
    """An element: its children are nodes and texts."""

    __slots__ = ("attributes", "children", "cut", "dropped", "has_blocks", "mass", "tag", "total")

    def __init__(self, tag: str, attributes: dict[str, str | None]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Node | str] = []
        # Weight of the text in it that reads like text.
        self.mass = 0
        # Weight of all text in it.
        self.total = 0
        self.has_blocks = False
        self.dropped = False
        # Whether the page goes on where the copy ends.
        self.cut = False

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
        return any(child.tag in tags or child.holds(tags) for child in self.children if not isinstance(child, str))


def prepared(text: str, *, xhtml: bool) -> str:
    """Return the source of a page without what makes parsers slow or lets them lose text.

    Long tags lose all but their first attributes, tags nested too deep are removed. In XHTML empty elements get the end
    tag without which an HTML parser puts all the rest of the page into them.
    """
    if len(text) > _LONG_PAGE or len(max(text.split("<"), key=len)) > _LONG_TAG:
        text = _OPEN.sub(_shortened, text)
    if xhtml:
        text = _SELF_CLOSED.sub(r"<\1\2></\1>", text)
    tags = text.count("<")
    return _flattened(text) if tags > _MANY_TAGS or (tags > _SOME_TAGS and _unclosed(text) > _UNCLOSED) else text


def _shortened(match: re.Match[str]) -> str:
    if len(match[2]) <= _LONG_TAG:
        return match[0]
    attributes = islice(_ATTRIBUTE.finditer(match[2]), _MOST_ATTRIBUTES)
    return f"<{match[1]} {' '.join(attribute[0] for attribute in attributes)}>"


def _unclosed(text: str) -> int:
    return sum(text.count(f"<{tag} ") + text.count(f"<{tag}>") - text.count(f"</{tag}>") for tag in _FORMATTING)


def _flattened(text: str) -> str:
    depth = {True: 0, False: 0}
    limit = {True: _UNCLOSED, False: _NESTED}

    def keep(match: re.Match[str]) -> str:
        tag = match[2].lower()
        if tag in _UNNESTED or match[0].endswith("/>"):
            return match[0]
        formats = tag in _FORMATTING
        if match[1]:
            depth[formats] = max(0, depth[formats] - 1)
            return match[0] if depth[formats] < limit[formats] else ""
        depth[formats] += 1
        return match[0] if depth[formats] <= limit[formats] else ""

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
    top.cut = element is not None or characters > _CHARACTERS
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
