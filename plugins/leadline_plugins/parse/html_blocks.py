"""Convert the light tree of a page to pieces: headings, paragraphs, lists, tables, code.

Runs of inline content are paragraphs wherever they are, also directly in a `div` or a table cell.
"""

from __future__ import annotations

import re
from itertools import chain

from leadline.display import visible
from leadline_plugins.parse.html_tree import BLOCKS, Hidden, Node, copy, prepared
from leadline_plugins.parse.layout import Item, Piece, collapse, formula, lowered, raised

# A `br` in a run of text; two of them separate paragraphs.
_BREAK = "\0"
_BREAKS = re.compile(r"\0\s*\0[\s\0]*")
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
# Texts of links from a heading to itself.
_ANCHORS = frozenset({"¶", "§", "#", "🔗", "[edit]"})
_ANCHOR_CLASSES = frozenset({
    "anchor", "anchorjs-link", "hash-link", "heading-anchor", "heading-link", "headerlink", "mw-editsection",
    "permalink",
})  # fmt: skip
_NOTE_CLASSES = frozenset({"footnote", "footnote-ref", "footnote-reference"})
# Classes of note boxes.
_BOXES = frozenset({"admonition", "caution", "example", "important", "note", "sidebar", "tip", "warning"})
_MATH_CLASSES = ("latex", "math")
# Markup that a page shows as text by mistake.
_SOURCE = re.compile(r"<(?:img|iframe|div|a|script|p)\b")
# Content of the only item of a list that is only layout.
_FRAMED = frozenset({"list", "table"})
# Characters; some pages set whole paragraphs as headings.
_LONGEST_HEADING = 150
_MOST_CELLS, _WIDEST, _WIDEST_CELL = 20_000, 200, 50
# Content of cells in layout tables.
_IN_LAYOUT = frozenset({"ul", "ol", "dl", "table", "pre", "h1", "h2", "h3", "h4", "blockquote"})


def pieces_of_markup(markup: str) -> list[Piece]:
    """Return the visible pieces of HTML that is no page: of an entry, a mail, a chapter."""
    from selectolax.lexbor import LexborHTMLParser

    page = LexborHTMLParser(prepared(markup if "<body" in markup else f"<body>{markup}", xhtml="<?xml" in markup[:100]))
    return pieces_in(copy(page.body or page.root, Hidden()))


def pieces_in(node: Node, *, linked: bool = False) -> list[Piece]:
    """Return the pieces of a node's content."""
    pieces: list[Piece] = []
    run: list[str] = []
    links = 0
    for child in node.children:
        if isinstance(child, str):
            run.append(child)
        elif child.dropped:
            continue
        elif child.tag in BLOCKS or child.has_blocks:
            pieces += _paragraphs(run, links, linked=linked)
            run, links = [], 0
            pieces += pieces_of(child, linked=linked or node.is_link)
        else:
            links += _inline_child(child, run)
    return pieces + _paragraphs(run, links, linked=linked)


def _paragraphs(run: list[str], links: int, *, linked: bool) -> list[Piece]:
    pieces = []
    for part in _BREAKS.split("".join(run)):
        text = collapse(part.replace(_BREAK, " \n "))
        if text and (len(text) > 2 or text.isalnum()) and not _SOURCE.match(text):
            pieces.append(Piece("paragraph", text, links=len(text) if linked else min(links, len(text))))
    return pieces


def pieces_of(node: Node, *, linked: bool = False) -> list[Piece]:
    """Return the pieces of an element."""
    tag, linked = node.tag, linked or node.is_link
    if tag in _HEADINGS or node.get("role") == "heading":
        return _heading(node, linked=linked)
    if tag in ("pre", "listing", "xmp"):
        run: list[str] = []
        _inline(node, run, code=True)
        code = visible("".join(run).replace(_BREAK, "\n")).strip("\n").rstrip()
        return [Piece("code", code)] if code.strip() else []
    if tag in ("ul", "ol", "menu", "dir"):
        return _list(node, linked=linked)
    if tag == "dl":
        return _definitions(node)
    if tag == "table":
        return _table(node)
    if tag == "blockquote":
        inner = pieces_in(node)
        return [Piece("quote", items=[Item(inner)])] if inner else []
    if tag in ("figcaption", "caption"):
        text, links = text_of(node)
        return [Piece("caption", text, links=links)] if text else []
    pieces = pieces_in(node, linked=linked)
    if pieces and pieces[0].kind == "heading" and not _BOXES.isdisjoint(node.get("class").split()):
        _unhead(pieces)
    return pieces


def _unhead(pieces: list[Piece]) -> None:
    """Make the heading of a note box a paragraph, because the text after the box is not below it."""
    if sum(piece.kind == "heading" for piece in pieces) == 1:
        pieces[0].kind = "paragraph"


_FORMS = {
    "mfrac": "{}/{} ",
    "msup": "{}^{}",
    "msub": "{}_{}",
    "msubsup": "{}_{}^{}",
    "munder": "{}_{}",
    "munderover": "{}_{}^{}",
    "mroot": "{1}√{0}",
}


def text_of(node: Node) -> tuple[str, int]:
    """Return the text of an element in one line, and how many characters of it are links."""
    run: list[str] = []
    links = _inline(node, run)
    return collapse("".join(run).replace(_BREAK, " \n ")), links


def _inline(node: Node, run: list[str], *, code: bool = False) -> int:
    """Append the text of an element; return the length of the links in it."""
    links = 0
    for child in node.children:
        if isinstance(child, str):
            run.append(child)
        elif not child.dropped:
            links += _inline_child(child, run, code=code)
    return links


def _inline_child(child: Node, run: list[str], *, code: bool = False) -> int:
    tag, classes = child.tag, child.get("class")
    if tag == "br":
        run.append(_BREAK)
        return 0
    if tag == "img":
        if any(name in classes for name in _MATH_CLASSES):
            run.append(f" {child.get('alt')} ")
        return 0
    if classes and tag in ("a", "span") and not _ANCHOR_CLASSES.isdisjoint(classes.split()):
        return 0
    if _is_note_mark(child, classes.split()):
        return 0
    begun, block = len(run), tag in BLOCKS and not code
    if block:
        run.append(" ")
    if tag in _FORMS and len(child.elements) == _FORMS[tag].count("{"):
        runs: list[list[str]] = [[] for _ in child.elements]
        for part, its_run in zip(child.elements, runs, strict=True):
            _inline_child(part, its_run)
        run.append(formula(_FORMS[tag], *map("".join, runs)))
        return 0
    links = _inline(child, run, code=code)
    if tag in ("sup", "sub"):
        text, before = "".join(run[begun:]), run[begun - 1] if begun else ""
        if tag == "sup" and links and any(map(str.isdigit, text)):
            run[begun:], links = [], 0  # the mark of a note
        else:
            run[begun:] = [raised(text, before) if tag == "sup" else lowered(text, before)]
    elif tag == "math":
        run[begun:] = ["".join(run[begun:]).strip()]
    elif tag == "msqrt":
        run[begun:] = [formula("√{}", "".join(run[begun:]))]
    elif tag in ("s", "strike", "del") and (struck := "".join(run[begun:]).strip()):
        run[begun:] = [f"~~{struck}~~"]
    if tag == "a":
        text = "".join(run[begun:]).strip()
        if text in _ANCHORS:
            del run[begun:]
        elif child.is_link and not text.startswith(("http://", "https://")):  # an address is shown to be read
            links = len(text)
    if block:
        run.append(" ")
    return links


def _is_note_mark(node: Node, classes: list[str]) -> bool:
    """Return whether an element is the number of a footnote, which would look like a figure of the text."""
    if node.tag not in ("a", "sup"):
        return False
    marks = _NOTE_CLASSES if node.tag == "a" else {*_NOTE_CLASSES, "reference"}
    return node.get("role") == "doc-noteref" or not marks.isdisjoint(classes)


def _heading(node: Node, *, linked: bool) -> list[Piece]:
    text, links = text_of(node)
    if not text:
        return []
    level = node.get("aria-level")
    number = int(node.tag[1]) if node.tag in _HEADINGS else int(level) if level in "123456" and level else 2
    # DocBook writes the authors of a book as headings.
    plain = len(text) > _LONGEST_HEADING or text.endswith((".", "。")) or node.get("class").lower() == "author"
    links = len(text) if linked else min(links, len(text))
    return [Piece("paragraph" if plain else "heading", text, level=number, links=links)]


def _list(node: Node, *, linked: bool) -> list[Piece]:
    items: list[Item] = []
    for child in node.children:
        if isinstance(child, str):
            inner = [Piece("paragraph", text)] if (text := collapse(child)) else []
        elif child.dropped:
            continue
        elif child.tag in ("ul", "ol") and items:
            items[-1].pieces.extend(pieces_of(child, linked=linked))
            continue
        elif child.tag in BLOCKS and child.tag != "li":
            inner = pieces_of(child, linked=linked)
        else:
            inner = pieces_in(child, linked=linked or child.is_link)
        if inner:
            items.append(Item(inner))
    if not items:
        return []
    if len(items) == 1 and any(piece.kind in _FRAMED for piece in items[0].pieces):
        return items[0].pieces  # a list that only lays out the page
    start = node.get("start")
    first = int(start) if node.tag == "ol" and start.isdecimal() and len(start) < 6 else 1
    links = sum(piece.links for item in items for piece in item.pieces)
    return [Piece("list", level=first, ordered=node.tag == "ol", items=items, links=links)]


def _definitions(node: Node) -> list[Piece]:
    items: list[Item] = []

    def read(parent: Node) -> None:
        for child in parent.elements:
            if child.tag == "dt":
                term, _ = text_of(child)
                if items and items[-1].term and not items[-1].pieces:
                    items[-1].term += f" / {term}"
                else:
                    items.append(Item([], term))
            elif child.tag == "dd":
                inner = pieces_in(child)
                if items and not items[-1].pieces:
                    items[-1].pieces = inner
                else:
                    items.append(Item(inner))
            else:
                read(child)

    read(node)
    links = sum(piece.links for item in items for piece in item.pieces)
    return [Piece("definition", items=items, links=links)] if items else []


def _table(node: Node) -> list[Piece]:
    """Return a caption and a table; a table that only lays out the page is unwrapped."""
    rows: list[tuple[Node, bool]] = []
    captions: list[str] = []
    _rows(node, rows, captions)
    cells = [[cell for cell in row.elements if cell.tag in ("td", "th")] for row, _ in rows]
    before = [Piece("caption", text) for text in captions if text]
    if _lays_out(node, rows, cells):
        shown = (cell for cell in chain.from_iterable(cells) if "linenos" not in cell.get("class"))
        inner = [piece for cell in shown for piece in pieces_in(cell)]
        return [*before, *inner]
    grid, header, links = _grid(rows, cells)
    if not grid:
        return before
    return [*before, Piece("table", rows=grid, header=1 if header == len(grid) else header, links=links)]


def _rows(node: Node, rows: list[tuple[Node, bool]], captions: list[str]) -> None:
    for child in node.elements:
        if child.tag == "tr":
            rows.append((child, node.tag == "thead"))
        elif child.tag == "caption":
            captions.append(text_of(child)[0])
        elif child.tag in ("tbody", "thead", "tfoot", "form", "div"):
            _rows(child, rows, captions)


def _lays_out(node: Node, rows: list[tuple[Node, bool]], cells: list[list[Node]]) -> bool:
    """Return whether a table is only layout: a note box, a page's frame, code with line numbers."""
    if node.get("role") in ("presentation", "none") or node.holds(frozenset({"table"})):
        return True
    width = max(map(len, cells), default=0)
    every = list(chain.from_iterable(cells))
    filled = [cell for cell in every if cell.total]
    if width <= 1 or (len(filled) <= 2 and len(rows) <= 2):
        return True
    headed = any(cell.tag == "th" for cell in every) or any(head for _, head in rows)
    parted = sum(cell.holds(_IN_LAYOUT) or sum(el.tag in ("p", "div") for el in cell.elements) > 1 for cell in every)
    return parted >= max(1, 0.3 * len(filled)) and len(rows) <= 4 and not (headed and len(rows) > 2)


def _grid(rows: list[tuple[Node, bool]], cells: list[list[Node]]) -> tuple[list[list[str]], int, int]:
    """Return the cells with spans filled, the number of header rows, and the length of links."""
    grid: list[list[str]] = []
    below: dict[int, tuple[int, str]] = {}  # by column: rows that a cell above still spans, and its text
    header = links = total = 0

    def fill_spans(line: list[str]) -> None:
        while (left := below.get(len(line), (0, "")))[0]:
            below[len(line)] = (left[0] - 1, left[1])
            line.append(left[1])

    for (_, in_head), row in zip(rows, cells, strict=True):
        line: list[str] = []
        for cell in row:
            fill_spans(line)
            text, length = text_of(cell)
            links += length
            for index in range(_span(cell, "colspan")):
                shown = "" if index else text
                if (high := _span(cell, "rowspan")) > 1:
                    below[len(line)] = (high - 1, shown)
                line.append(shown)
            if len(line) > _WIDEST:
                break
        fill_spans(line)
        total += len(line)
        if total > _MOST_CELLS:
            break
        if any(line):
            heads = in_head or (bool(row) and all(cell.tag == "th" for cell in row))
            if heads and header == len(grid) and header < 3:
                header += 1
            grid.append(line)
    width = max(map(len, grid), default=0)
    return [[*line, *[""] * (width - len(line))] for line in grid], header, links


def _span(cell: Node, name: str) -> int:
    value = cell.get(name)
    return max(1, min(int(value), _WIDEST_CELL)) if value.isdecimal() and len(value) < 10 else 1
