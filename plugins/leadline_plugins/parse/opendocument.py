"""OpenDocument files (.odt, .ods, .odp) as pieces, read from their XML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from zipfile import ZipFile

from leadline.errors import Unsupported
from leadline_plugins.parse.decode import clean
from leadline_plugins.parse.html_blocks import pieces_of_markup
from leadline_plugins.parse.layout import Item, Piece, collapse, lowered, raised, tables
from leadline_plugins.parse.word import unpacked

_NAMES = {"draw": "drawing"} | {name: name for name in ("office", "text", "table", "style", "presentation")}
_NS = {prefix: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0" for prefix, name in _NAMES.items()}
_NS |= {"xlink": "http://www.w3.org/1999/xlink", "dc": "http://purl.org/dc/elements/1.1/"}
# Columns, repeated rows and cells of a sheet that are read.
_WIDEST, _REPEATED, _CELLS = 200, 50, 100_000
_SKIPPED = {
    "office:annotation",
    "text:table-of-content",
    "text:tracked-changes",
    "text:hidden-text",
    "text:alphabetical-index",
}


def read(archive: ZipFile, name: str, media_type: str) -> tuple[list[Piece], str, int, list[str]]:
    """Return the pieces, the title, the number of slides, and what was left out."""
    reader = _Reader(archive, name)
    if reader.manifest_is_encrypted:
        raise Unsupported(f"{name}: has a password; store a copy without one")
    pieces = reader.blocks(reader.body)
    return pieces, reader.title, reader.slides, reader.left_out


def _q(name: str) -> str:
    prefix, _, local = name.partition(":")
    return f"{{{_NS[prefix]}}}{local}"


_PREFIXES = {uri: prefix for prefix, uri in _NS.items()}


def _tag(element: Any) -> str:
    uri, _, local = element.tag[1:].partition("}") if isinstance(element.tag, str) else ("", "", "")
    return f"{_PREFIXES.get(uri, '')}:{local}"


class _Reader:
    def __init__(self, archive: ZipFile, name: str) -> None:
        from lxml import etree  # type: ignore[import-untyped]

        self._archive, self._name = archive, name
        parser = etree.XMLParser(resolve_entities=False, no_network=True)

        def tree(part: str) -> Any:
            known = part in archive.namelist()
            return etree.fromstring(unpacked(archive, part, name), parser) if known else etree.Element("none")

        self.manifest_is_encrypted = tree("META-INF/manifest.xml").find(".//{*}encryption-data") is not None
        content = etree.Element("none") if self.manifest_is_encrypted else tree("content.xml")
        self.body = content.find(f".//{_q('office:body')}")
        styles = tree("styles.xml")
        self.title = tree("meta.xml").findtext(f".//{_q('dc:title')}") or ""
        self.slides, self.left_out = 0, list[str]()
        self._due, self._noted = list[str](), 0
        self._numbered = {
            style.get(_q("style:name"))
            for root in (styles, content)
            for style in root.iter(_q("text:list-style"))
            if style.find(f"{_q('text:list-level-style-number')}[@{_q('text:level')}='1']") is not None
        }
        # How a style raises, lowers, strikes out or hides.
        self._looks = {
            style.get(_q("style:name")): look
            for root in (styles, content)
            for style in root.iter(_q("style:style"))
            if (look := _look(style))
        }

    def blocks(self, parent: Any) -> list[Piece]:
        """Return the pieces of the blocks in an element."""
        pieces: list[Piece] = []
        for element in parent if parent is not None else ():
            tag = _tag(element)
            if tag in _SKIPPED:
                continue
            if tag in ("text:p", "text:h"):
                line = collapse(clean(self._inline(element)))
                level = int(element.get(_q("text:outline-level")) or 1)
                pieces += [Piece("heading" if tag == "text:h" else "paragraph", line, level=level)] if line else []
                pieces += [piece for box in element.iter(_q("draw:text-box")) for piece in self.blocks(box)]
                pieces += [Piece("paragraph", note) for note in self._due]
                self._due = []
            elif tag == "text:list":
                items = [Item(inner) for child in element if (inner := self.blocks(child))]
                ordered = element.get(_q("text:style-name")) in self._numbered
                pieces += [Piece("list", items=items, ordered=ordered)] if items else []
            elif tag == "table:table":
                pieces += self._table(element)
            elif tag == "draw:page":
                pieces += self._slide(element)
            else:
                pieces += self.blocks(element)
        return pieces

    def _inline(self, element: Any, line: str = "") -> str:
        """Return a line with the text of an element after it."""
        line += element.text or ""
        for child in element:
            tag = _tag(child)
            if tag == "text:span":
                look, text = self._looks.get(child.get(_q("text:style-name")), ""), self._inline(child)
                marks = {"super": raised(text, line), "sub": lowered(text, line), "struck": f"~~{text}~~", "hidden": ""}
                line += marks.get(look, text)
            elif tag in ("text:s", "text:tab", "text:line-break"):
                line += " "
            elif tag == "text:note":
                self._noted += 1
                mark = f"[^{self._noted}]"
                note = " ".join(self._inline(p) for p in child.find(_q("text:note-body")).iter(_q("text:p")))
                self._due.append(f"{mark} {collapse(clean(note))}")
                line += mark
            elif tag == "draw:object":
                line += self._formula(child)
            elif tag not in _SKIPPED and tag != "draw:text-box":
                line = self._inline(child, line)
            line += child.tail or ""
        return line

    def _formula(self, element: Any) -> str:
        part = f"{element.get(_q('xlink:href'), '').removeprefix('./').strip('/')}/content.xml"
        if part not in self._archive.namelist():
            return ""
        markup = clean(unpacked(self._archive, part, self._name).decode("utf-8", "replace"))
        if "<math" not in markup and ":math" not in markup:
            self.left_out.append("a chart or another embedded object was not read")
            return ""
        return " ".join(piece.text for piece in pieces_of_markup(markup) if piece.kind == "paragraph")

    def _table(self, table: Any) -> list[Piece]:
        named = table.get(_q("table:name"), "") if _tag(table.getparent()) == "office:spreadsheet" else ""
        if self._looks.get(table.get(_q("table:style-name"))) == "hidden":
            self.left_out.append(f"the hidden sheet '{named}' was not read")
            return []
        rows, cells = [], 0
        for row in table.iter(_q("table:table-row")):
            if next(row.iterancestors(_q("table:table"))) is not table:
                continue
            line: list[str] = []
            for cell in row:
                text = " ".join(piece.text for piece in self.blocks(cell) if piece.text)
                line += [text] * min(_count(cell, "table:number-columns-repeated"), _WIDEST - len(line))
            cells += len(line)
            if cells > _CELLS:
                self.left_out.append(f"only the first {_CELLS:,} cells of a table were read")
                break
            rows += [line] * (min(_count(row, "table:number-rows-repeated"), _REPEATED) if any(line) else 1)
        return [*([Piece("heading", named)] if named else []), *tables(rows)]

    def _slide(self, page: Any) -> Iterator[Piece]:
        self.slides += 1
        frames = [frame for frame in page if _tag(frame) not in ("presentation:notes", "office:forms")]
        title = next((frame for frame in frames if frame.get(_q("presentation:class")) == "title"), None)
        named = " ".join(piece.text for piece in self.blocks(title)) if title is not None else ""
        notes = [piece for note in page.iter(_q("presentation:notes")) for piece in self.blocks(note) if piece.text]
        for piece in notes:
            piece.text = f"Notes: {piece.text}"
        head = Piece("heading", named or f"Slide {self.slides}", level=2)
        for piece in (head, *(inner for frame in frames if frame is not title for inner in self.blocks(frame)), *notes):
            piece.page = self.slides
            yield piece


def _look(style: Any) -> str:
    properties = style.find(_q("style:text-properties"))
    table = style.find(_q("style:table-properties"))
    if table is not None and table.get(_q("table:display")) == "false":
        return "hidden"
    if properties is None:
        return ""
    height = (properties.get(_q("style:text-position")) or "").split(" ")[0]
    if height.removesuffix("%").lstrip("-").isdecimal():
        height = "sub" if height.startswith("-") else "super" if height.strip("0%") else ""
    if properties.get(_q("text:display")) == "none":
        return "hidden"
    line = properties.get(_q("style:text-line-through-style")) or properties.get(_q("style:text-line-through-type"))
    return height or ("struck" if line and line != "none" else "")


def _count(element: Any, name: str) -> int:
    value = element.get(_q(name), "1")
    return int(value[:9]) if value.isdecimal() else 1
