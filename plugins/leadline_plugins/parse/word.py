"""The plugin `word`: Word files (.docx) as Markdown with blocks, read from their XML.

Headings are recognized by outline level, or by the name of a style or of its base. Lists are the paragraphs with a
numbering; one with an empty mark continues the item before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from zipfile import ZipFile

from leadline.contracts import Call
from leadline.errors import Unsupported
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.parsing import parse_in_worker
from leadline.records import Blob, Document
from leadline_plugins.parse.decode import clean, document
from leadline_plugins.parse.layout import Item, Piece, collapse, lay_out
from leadline_plugins.parse.media import DOCX, bare_type

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MATH_TEXT = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
# Unpacked bytes of a part of a file: a zip of a few kilobytes can fill the memory.
_UNPACKED = 40_000_000
_PARAGRAPHS, _CELLS, _WIDEST_CELL = 100_000, 20_000, 50
# Length of a chain of base styles, and characters of their names.
_BASES, _NAME = 10, 100
# Characters of a block of code; more lines are another one, because each is copied with those before it.
_LONGEST_CODE = 20_000
_HEADING = re.compile(r"(?:heading|überschrift|titre|título|titolo|标题|標題|見出し)\s*(\d)")
_CODE = re.compile(r"source ?code|\bcode\b|preformatted|verbatim|listing")
_QUOTE = re.compile(r"quote|block text|quotation")
# Values of a property that is on; it usually has none.
_ON = ("1", "true", "on")
_SIGNS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}


class WordParser:
    """Parses .docx."""

    def accepts(self, media_type: str, /) -> bool:
        """Accept .docx, but not the .doc of Word 97-2003."""
        return bare_type(media_type) == DOCX

    async def parse(self, blob: Blob, call: Call, /) -> Document:
        """Return the document; raises `Unsupported` for a file that is broken or too large."""
        return await parse_in_worker(parse, blob)


def parse(blob: Blob) -> Document:
    """Parse, blocking."""
    try:
        with ZipFile(BytesIO(blob.data)) as archive:
            title, pieces = _Reader(archive, blob.name).read()
    except (Unsupported, MemoryError, RecursionError):
        raise
    except Exception as error:
        raise Unsupported(f"{blob.name}: not a readable Word file, or too large ({error})") from error
    return document(blob, lay_out(pieces), title)


@dataclass(frozen=True)
class _Style:
    name: str
    base: str
    level: str


@dataclass(frozen=True)
class _Mark:
    """The mark of a list paragraph; without a visible mark it continues the item before it."""

    depth: int
    ordered: bool
    shown: bool


class _Reader:
    """Reads one file."""

    def __init__(self, archive: ZipFile, name: str) -> None:
        self._archive = archive
        self._name = name
        self._styles = self._read_styles()
        self._marks = self._read_marks()

    def read(self) -> tuple[str, list[Piece]]:
        """Return the title and the pieces."""
        from lxml import etree  # type: ignore[import-untyped]

        pieces: list[Piece] = []
        self._paragraphs = tables = 0
        source = BytesIO(self._part("word/document.xml"))
        tags = (f"{_W}p", f"{_W}tbl")
        for event, element in etree.iterparse(
            source, events=("start", "end"), tag=tags, resolve_entities=False, no_network=True
        ):
            if element.tag == tags[1]:
                tables += 1 if event == "start" else -1
                if event == "end" and not tables:
                    pieces += self._table(element)
                    _free(element)
            elif event == "end":
                self._count()
                if not tables:
                    self._paragraph(element, pieces)
                    _free(element)
        title = next((piece.text for piece in pieces if piece.kind == "heading"), "")
        return self._named() or title, pieces

    def _count(self) -> None:
        self._paragraphs += 1
        if self._paragraphs > _PARAGRAPHS:
            raise Unsupported(f"{self._name}: has over {_PARAGRAPHS:,} paragraphs")

    def _part(self, name: str) -> bytes:
        with self._archive.open(name) as file:
            data = file.read(_UNPACKED + 1)
        if len(data) > _UNPACKED:
            raise Unsupported(f"{self._name}: {name} unpacks to over {_UNPACKED:,} bytes")
        return data

    def _tree(self, name: str) -> Any:
        from lxml import etree

        if name not in self._archive.namelist():
            return etree.Element("none")
        return etree.fromstring(self._part(name), etree.XMLParser(resolve_entities=False, no_network=True))

    def _named(self) -> str:
        return collapse(clean(self._tree("docProps/core.xml").findtext(_TITLE) or ""))

    def _read_styles(self) -> dict[str, _Style]:
        return {
            style.get(f"{_W}styleId", ""): _Style(
                _value(style, "name").lower()[:_NAME], _value(style, "basedOn"), _value(style, "pPr/outlineLvl")
            )
            for style in self._tree("word/styles.xml").iter(f"{_W}style")
        }

    def _read_marks(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Return the format and the mark of each numbering and level."""
        tree = self._tree("word/numbering.xml")
        levels = {
            kind.get(f"{_W}abstractNumId"): {
                level.get(f"{_W}ilvl", "0"): (_value(level, "numFmt"), _value(level, "lvlText"))
                for level in kind.iter(f"{_W}lvl")
            }
            for kind in tree.iter(f"{_W}abstractNum")
        }
        return {
            (number.get(f"{_W}numId", ""), level): mark
            for number in tree.iter(f"{_W}num")
            for level, mark in levels.get(_value(number, "abstractNumId"), {}).items()
        }

    def _paragraph(self, element: Any, pieces: list[Piece]) -> None:
        text = clean(_text(element))
        if not text.strip():
            return
        line, last = collapse(text), pieces[-1] if pieces else None
        names, level = self._named_styles(element)
        name, every = names[0] if names else "", " ".join(names)
        heading = _HEADING.match(name)
        if heading or (level.isdigit() and int(level) < 6) or name == "title":
            number = int(heading[1]) if heading else int(level) + 1 if level.isdigit() else 1
            pieces.append(Piece("heading", line, level=number))
        elif _CODE.search(every):
            if last and last.kind == "code" and len(last.text) < _LONGEST_CODE:
                last.text += f"\n{text}"
            else:
                pieces.append(Piece("code", text))
        elif "definition term" in name:
            pieces.append(Piece("definition", items=[Item([], line)]))
        elif name.startswith("definition") and last and last.kind == "definition":
            last.items[-1].pieces.append(Piece("paragraph", line))
        elif "caption" in name:
            pieces.append(Piece("caption", line))
        elif mark := self._mark(element):
            _add_item(pieces, line, mark)
        elif _QUOTE.search(every):
            if last and last.kind == "quote":
                last.items[0].pieces.append(Piece("paragraph", line))
            else:
                pieces.append(Piece("quote", items=[Item([Piece("paragraph", line)])]))
        else:
            pieces.append(Piece("paragraph", line))

    def _named_styles(self, element: Any) -> tuple[list[str], str]:
        """Return the names of a paragraph's style and its bases, and its outline level."""
        style, level = _value(element, "pPr/pStyle"), _value(element, "pPr/outlineLvl")
        names: list[str] = [] if style in self._styles else [style.lower()]
        for _ in range(_BASES):
            if style not in self._styles:
                break
            known = self._styles[style]
            names.append(known.name)
            level, style = level or known.level, known.base
        return names, level

    def _mark(self, element: Any) -> _Mark | None:
        """Return the mark of a paragraph of a list; None for others."""
        number = _value(element, "pPr/numPr/numId")
        level = _value(element, "pPr/numPr/ilvl") or "0"
        found = self._marks.get((number, level))
        if not found or not level.isdigit():
            return None
        kind, sign = found
        return _Mark(int(level[:2]), kind not in ("bullet", "none", ""), bool(sign.strip()))

    def _table(self, element: Any) -> list[Piece]:
        rows: list[list[str]] = []
        cells = 0
        for row in _rows(element):
            line: list[str] = []
            for cell in row.iterfind(f"{_W}tc"):
                wide = _value(cell, "tcPr/gridSpan")
                merged = cell.find(f"{_W}tcPr/{_W}vMerge")
                text = collapse(clean(" ".join(map(_text, cell.iter(f"{_W}p")))))
                if merged is not None and merged.get(f"{_W}val", "continue") == "continue" and rows:
                    text = rows[-1][len(line)] if len(line) < len(rows[-1]) else text
                span = min(int(wide[:9]), _WIDEST_CELL) if wide.isdecimal() else 1
                line += [text, *[""] * (span - 1)]
            cells += len(line)
            if cells > _CELLS:
                raise Unsupported(f"{self._name}: has a table of over {_CELLS:,} cells")
            if any(line):
                rows.append(line)
        width = max(map(len, rows), default=0)
        if width * len(rows) > _CELLS:
            raise Unsupported(f"{self._name}: has a table of over {_CELLS:,} cells")
        if width <= 1:
            return [Piece("paragraph", text) for row in rows for text in row if text]
        return [Piece("table", rows=[[*row, *[""] * (width - len(row))] for row in rows], header=1)]


def _add_item(pieces: list[Piece], line: str, mark: _Mark) -> None:
    """Add an item at a depth to the list that ends the pieces; without a mark it continues the last item."""
    held = pieces
    for _ in range(mark.depth + (not mark.shown)):
        if not (held and held[-1].kind == "list"):
            break
        held = held[-1].items[-1].pieces
    item = Item([Piece("paragraph", line)])
    if not mark.shown and held is not pieces:
        held.append(item.pieces[0])
    elif held and held[-1].kind == "list" and held[-1].ordered == mark.ordered:
        held[-1].items.append(item)
    else:
        held.append(Piece("list", ordered=mark.ordered, items=[item]))


def _rows(table: Any) -> Iterator[Any]:
    """Yield the rows of a table, not those of tables in its cells."""
    for child in table:
        if child.tag == f"{_W}tr":
            yield child
        elif child.tag in (f"{_W}sdt", f"{_W}sdtContent"):
            yield from _rows(child)


def _value(element: Any, path: str) -> str:
    """Return the value of an element below this one; empty without it."""
    found = element.find("/".join(_W + step for step in path.split("/")))
    return (found.get(f"{_W}val") or "") if found is not None else ""


def _text(paragraph: Any) -> str:
    run = paragraph.iter(f"{_W}t", _MATH_TEXT, *_SIGNS)
    return "".join(_SIGNS.get(element.tag) or element.text or "" for element in run if not _is_hidden(element))


def _is_hidden(text: Any) -> bool:
    """Return whether a text is in a run that is hidden or smaller than five points."""
    run = text.getparent()
    size, hidden = _value(run, "rPr/sz"), run.find(f"{_W}rPr/{_W}vanish")
    return (size.isdecimal() and int(size[:9]) < 10) or (hidden is not None and hidden.get(f"{_W}val", "1") in _ON)


def _free(element: Any) -> None:
    """Release a parsed element, and those before it."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


@hookimpl
def leadline_parsers() -> Iterable[Offer[Any, WordParser]]:
    """Offer the parser."""
    yield Offer(lambda settings, context: WordParser(), PluginSettings, "Text of Word files (.docx)", free=True)
