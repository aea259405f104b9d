"""The plugin `word`: Word files (.docx) as Markdown with blocks, read from their XML.

Headings are recognized by outline level, or by the name of a style or of its base, and keep their numbers. Lists are
the paragraphs with a numbering; one with an empty mark continues the item before it. A footnote or endnote is a
paragraph after the block with its mark. Deleted and hidden text, comments, headers and footers are left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from itertools import groupby
from typing import Any
from zipfile import ZipFile

from leadline.contracts import Call
from leadline.errors import Unsupported
from leadline.parsing import parse_in_worker
from leadline.plugin import parser
from leadline.records import Blob, Document
from leadline_plugins.parse.decode import clean, document, plausible_title
from leadline_plugins.parse.layout import Item, Piece, collapse, formula, lay_out, lowered, raised
from leadline_plugins.parse.media import DOCX, OLD_FORMAT, bare_type

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
# The namespaces of Strict Open XML, and what the other files call them.
_STRICT = {
    b"http://purl.oclc.org/ooxml/wordprocessingml/main": _W[1:-1].encode(),
    b"http://purl.oclc.org/ooxml/officeDocument/math": MATH[1:-1].encode(),
    b"http://purl.oclc.org/ooxml/officeDocument/relationships": (
        b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    ),
}
_RELATION = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_NO_TEXT = (
    *(f"{_W}{name}" for name in ("del", "moveFrom", "rt")),
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
)
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
# Unpacked bytes of a part of a file: a zip of a few kilobytes can fill the memory.
_UNPACKED = 40_000_000
_PARAGRAPHS, _CELLS, _WIDEST_CELL = 100_000, 20_000, 50
# Length of a chain of base styles, and characters of their names.
_BASES, _NAME = 10, 100
# Levels of a numbering.
_LEVELS = 9
_ROMAN = {100: "c", 90: "xc", 50: "l", 40: "xl", 10: "x", 9: "ix", 5: "v", 4: "iv", 1: "i"}
# Characters of a block of code; more lines are another one, because each is copied with those before it.
_LONGEST_CODE = 20_000
_HEADING = re.compile(r"(?:heading|überschrift|titre|título|titolo|标题|標題|見出し)\s*(\d)")
_CODE = re.compile(r"source ?code|\bcode\b|preformatted|verbatim|listing")
_QUOTE = re.compile(r"quote|block text|quotation")
# Values of a property that is on; it usually has none.
_ON = ("1", "true", "on")
_SIGNS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
# Letters of the font Symbol, whose codes are their own.
_SYMBOLS = str.maketrans("\uf0a3\uf0b0\uf0b1\uf0b3\uf0b4\uf0b8\uf0b9\uf0bb\uf06d", "≤°±≥×÷≠≈μ")
# Parts of structures of formulas, by their tags, and how they are written.
_FORMS = {
    "f": ("num den", "{}/{} "),
    "sSup": ("e sup", "{}^{}"),
    "sSub": ("e sub", "{}_{}"),
    "sSubSup": ("e sub sup", "{}_{}^{}"),
    "rad": ("deg e", "{}√{}"),
    "limLow": ("e lim", "{}_{}"),
    "limUpp": ("e lim", "{}^{}"),
}


@parser("Text of Word files (.docx)", work="local")
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
        with opened(blob) as archive:
            title, pieces = _Reader(archive, blob.name).read()
    except (Unsupported, MemoryError, RecursionError):
        raise
    except Exception as error:
        raise Unsupported(f"{blob.name}: not a readable Word file, or too large ({error})") from error
    return document(blob, lay_out(pieces), title)


def opened(blob: Blob) -> ZipFile:
    """Open a zipped file; raises `Unsupported` for one with a password or of an old format."""
    if blob.data.startswith(b"\xd0\xcf\x11\xe0"):
        locked = "EncryptedPackage".encode("utf-16-le") in blob.data
        raise Unsupported(f"{blob.name}: {'has a password; store a copy without one' if locked else OLD_FORMAT}")
    return ZipFile(BytesIO(blob.data))


def unpacked(archive: ZipFile, part: str, name: str) -> bytes:
    """Return a part of a zipped file; raises `Unsupported` for one that is too large."""
    with archive.open(part) as file:
        data = file.read(_UNPACKED + 1)
    if len(data) > _UNPACKED:
        raise Unsupported(f"{name}: {part} unpacks to over {_UNPACKED:,} bytes")
    return data


@dataclass(frozen=True)
class _Style:
    name: str
    base: str
    level: str
    # Its numbering and the level in it.
    number: tuple[str, str]
    hidden: bool


@dataclass(frozen=True)
class _Mark:
    """The mark of a list paragraph; without a visible mark it continues the item before it."""

    depth: int
    ordered: bool
    shown: bool


_NONE = _Style("", "", "", ("", ""), hidden=False)


class _Reader:
    """Reads one file."""

    def __init__(self, archive: ZipFile, name: str) -> None:
        self._archive = archive
        self._name = name
        # Some programs write names with backslashes.
        self._names = {name.replace("\\", "/").lstrip("/"): name for name in archive.namelist()}
        self._main = self._related("", "officeDocument", "word/document.xml")
        self._styles = self._read_styles()
        self._marks = self._read_marks()
        self._notes = {kind: self._read_notes(kind) for kind in ("footnote", "endnote")}
        # The notes of the last paragraphs, how many came before, and the numbers of headings by numbering and level.
        self._due: list[str] = []
        self._noted = 0
        self._counts: defaultdict[str, list[int]] = defaultdict(lambda: [0] * _LEVELS)

    def read(self) -> tuple[str, list[Piece]]:
        """Return the title and the pieces."""
        from lxml import etree  # type: ignore[import-untyped]

        pieces: list[Piece] = []
        self._paragraphs = tables = 0
        source = BytesIO(self._part(self._main))
        tags = (f"{_W}p", f"{_W}tbl")
        for event, element in etree.iterparse(
            source, events=("start", "end"), tag=tags, resolve_entities=False, no_network=True
        ):
            if element.tag == tags[1]:
                tables += 1 if event == "start" else -1
                if event == "end" and not tables:
                    self._add_notes(pieces)
                    pieces += self._table(element)
                    _free(element)
            elif event == "end":
                self._count()
                if not tables:
                    self._paragraph(element, pieces)
                    _free(element)
        self._add_notes(pieces)
        title = next((piece.text for piece in pieces if piece.kind == "heading"), "")
        return self._named() or title, pieces

    def _count(self) -> None:
        self._paragraphs += 1
        if self._paragraphs > _PARAGRAPHS:
            raise Unsupported(f"{self._name}: has over {_PARAGRAPHS:,} paragraphs")

    def _related(self, part: str, kind: str, usual: str) -> str:
        """Return the name of the part that another one (or the file) names as one of this kind, or the usual name."""
        folder, _, name = part.rpartition("/")
        for relation in self._tree(f"{folder}/_rels/{name}.rels".lstrip("/")).iter(_RELATION):
            if relation.get("Type", "").endswith(f"/{kind}"):
                target = relation.get("Target", "")
                return target.lstrip("/") if target.startswith("/") or not folder else f"{folder}/{target}"
        return usual

    def _part(self, name: str) -> bytes:
        data = unpacked(self._archive, self._names.get(name, name), self._name)
        for strict, usual in _STRICT.items():
            data = data.replace(strict, usual)
        return data

    def _tree(self, name: str) -> Any:
        from lxml import etree

        if name not in self._names:
            return etree.Element("none")
        return etree.fromstring(self._part(name), etree.XMLParser(resolve_entities=False, no_network=True))

    def _beside(self, kind: str) -> Any:
        """Return the part of a kind that belongs to the main one."""
        return self._tree(self._related(self._main, kind, f"word/{kind}.xml"))

    def _named(self) -> str:
        part = self._related("", "core-properties", "docProps/core.xml")
        return plausible_title(self._tree(part).findtext(_TITLE) or "")

    def _read_styles(self) -> dict[str, _Style]:
        return {
            style.get(f"{_W}styleId", ""): _Style(
                _value(style, "name").lower()[:_NAME],
                _value(style, "basedOn"),
                _value(style, "pPr/outlineLvl"),
                (_value(style, "pPr/numPr/numId"), _value(style, "pPr/numPr/ilvl")),
                _is_on(style, "rPr/vanish"),
            )
            for style in self._beside("styles").iter(f"{_W}style")
        }

    def _read_marks(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Return the format and the mark of each numbering and level."""
        tree = self._beside("numbering")
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

    def _read_notes(self, kind: str) -> dict[str, Any]:
        return {note.get(f"{_W}id", ""): note for note in self._beside(f"{kind}s").iter(f"{_W}{kind}")}

    def _add_notes(self, pieces: list[Piece]) -> None:
        pieces += [Piece("paragraph", note) for note in self._due]
        self._due = []

    def _note(self, mark: Any) -> str:
        """Return the mark of a footnote or endnote, whose text follows the block."""
        note = self._notes["footnote" if "foot" in mark.tag else "endnote"].get(mark.get(f"{_W}id"))
        if note is None:
            return ""
        self._noted += 1
        due, number = self._due, self._noted
        text = collapse(clean(" ".join(map(self._text, note.iter(f"{_W}p")))))
        self._due = [*due, f"[^{number}] {text}"]
        return f"[^{number}]"

    def _text(self, paragraph: Any) -> str:
        """Return the text of a paragraph as a reader sees it; the notes in it become due."""
        text = ""
        shown = (run for run in paragraph.iter(f"{_W}r", f"{MATH}oMath") if self._is_shown(run, paragraph))
        for (height, struck), runs in groupby(shown, key=_style_of):
            part = "".join(formula_text(run).strip() if run.tag == f"{MATH}oMath" else self._run(run) for run in runs)
            if height:
                part = raised(part, text) if height == "superscript" else lowered(part, text)
            text += f"~~{part.strip()}~~" if struck and part.strip() else part
        return text

    def _is_shown(self, run: Any, paragraph: Any) -> bool:
        if run.getparent() is not paragraph and _is_elsewhere(run, paragraph):
            return False
        if run.find(_path("rPr")) is None:
            return True
        style = self._styles.get(_value(run, "rPr/rStyle"))
        size = _value(run, "rPr/sz")
        return not (
            (size.isdecimal() and int(size[:9]) < 10)  # smaller than five points
            or _is_on(run, "rPr/vanish")
            or (style is not None and style.hidden and run.find(f"{_W}rPr/{_W}vanish") is None)
        )

    def _run(self, run: Any) -> str:
        parts = []
        for element in run.iterchildren():
            name = element.tag.removeprefix(_W) if isinstance(element.tag, str) else ""
            if name in ("footnoteReference", "endnoteReference"):
                parts.append(self._note(element))
            elif name == "fldChar":
                parts.append(_field(element))
            elif name == "sym":
                code = element.get(f"{_W}char", "")
                parts.append(chr(int(code, 16)).translate(_SYMBOLS) if re.fullmatch("[0-9A-Fa-f]{4}", code) else "")
            else:
                parts.append(_SIGNS.get(element.tag) or ((element.text or "") if name == "t" else ""))
        return "".join(parts)

    def _paragraph(self, element: Any, pieces: list[Piece]) -> None:
        if next(element.iterancestors(*_NO_TEXT), None) is not None:
            return
        due, self._due = self._due, []
        text = clean(self._text(element))
        due, self._due = self._due, due
        if self._styles.get(_value(element, "pPr/pStyle"), _NONE).hidden or not text.strip():
            return
        if not self._mark(element):
            self._add_notes(pieces)
        self._due += due
        line, last = collapse(text), pieces[-1] if pieces else None
        names, level = self._named_styles(element)
        name, every = names[0] if names else "", " ".join(names)
        heading = _HEADING.match(name)
        if heading or (level.isdigit() and int(level) < 6) or name == "title":
            depth = int(heading[1]) if heading else int(level) + 1 if level.isdigit() else 1
            pieces.append(Piece("heading", f"{self._number(element)} {line}".strip(), level=depth))
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

    def _numbering(self, element: Any) -> tuple[str, int, tuple[str, str]]:
        """Return the numbering of a paragraph, its level in it, and their format and mark; empty without one."""
        if element.find(_path("pPr")) is None:
            return "", 0, ("", "")
        number, level = _value(element, "pPr/numPr/numId"), _value(element, "pPr/numPr/ilvl")
        style = _value(element, "pPr/pStyle")
        for _ in range(_BASES):
            if style not in self._styles or number:
                break
            known = self._styles[style]
            number, level, style = number or known.number[0], level or known.number[1], known.base
        level = level if level.isdigit() and int(level[:9]) < _LEVELS else "0"
        return number, int(level), self._marks.get((number, level), ("", ""))

    def _number(self, element: Any) -> str:
        """Return the number of a heading, after counting it; empty without one."""
        number, level, (kind, sign) = self._numbering(element)
        if not kind or kind in ("bullet", "none"):
            return ""
        counts = self._counts[number]
        counts[level:] = [counts[level] + 1, *[0] * (_LEVELS - level - 1)]
        return re.sub(r"%(\d)", lambda match: _counted(max(1, counts[int(match[1]) - 1]), kind), sign[:_NAME]).strip()

    def _mark(self, element: Any) -> _Mark | None:
        """Return the mark of a paragraph of a list; None for others."""
        _, level, (kind, sign) = self._numbering(element)
        return _Mark(level, kind not in ("bullet", "none", ""), bool(sign.strip())) if kind or sign else None

    def _table(self, element: Any) -> list[Piece]:
        rows: list[list[str]] = []
        cells = 0
        for row in _rows(element):
            line: list[str] = []
            for cell in row.iterfind(f"{_W}tc"):
                wide = _value(cell, "tcPr/gridSpan")
                merged = cell.find(f"{_W}tcPr/{_W}vMerge")
                shown = (p for p in cell.iter(f"{_W}p") if next(p.iterancestors(*_NO_TEXT), None) is None)
                text = collapse(clean(" ".join(map(self._text, shown))))
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


@cache
def _path(path: str) -> str:
    return "/".join(_W + step for step in path.split("/"))


def _value(element: Any, path: str) -> str:
    """Return the value of an element below this one; empty without it."""
    child = element.find(_path(path))
    return (child.get(f"{_W}val") or "") if child is not None else ""


def _is_elsewhere(run: Any, paragraph: Any) -> bool:
    """Return whether a run belongs to a text box, a formula, deleted text, or what a form shows before its use."""
    return (
        next(run.iterancestors(f"{_W}p"), paragraph) is not paragraph
        or next(run.iterancestors(*_NO_TEXT, f"{MATH}oMath"), None) is not None
        or any(box.find(f"{_W}sdtPr/{_W}showingPlcHdr") is not None for box in run.iterancestors(f"{_W}sdt"))
    )


def _is_on(element: Any, path: str) -> bool:
    """Return whether a property below an element is on."""
    child = element.find(_path(path))
    return child is not None and child.get(f"{_W}val", "1") in _ON


def _style_of(run: Any) -> tuple[str, bool]:
    """Return whether a run is raised or lowered, and whether it is struck out."""
    if run.find(_path("rPr")) is None:
        return "", False
    height, offset = _value(run, "rPr/vertAlign"), _value(run, "rPr/position")
    if not height and offset.lstrip("-").isdecimal() and int(offset[:9]):
        height = "subscript" if offset.startswith("-") else "superscript"
    noted = run.find(f"{_W}footnoteReference") is not None or run.find(f"{_W}endnoteReference") is not None
    return "" if noted or height == "baseline" else height, _is_on(run, "rPr/strike") or _is_on(run, "rPr/dstrike")


def _field(begin: Any) -> str:
    """Return what is checked or chosen in a form field; the text of others follows in runs."""
    box, choices = begin.find(f".//{_W}checkBox"), begin.find(f".//{_W}ddList")
    if box is not None:
        checked = _is_on(box, "checked") if box.find(f"{_W}checked") is not None else _is_on(box, "default")
        return "☒ " if checked else "☐ "
    if choices is None:
        return ""
    entries = [entry.get(f"{_W}val", "") for entry in choices.iter(f"{_W}listEntry")]
    chosen = _value(choices, "result") or _value(choices, "default") or "0"
    return entries[int(chosen)] if chosen.isdecimal() and int(chosen[:9]) < len(entries) else ""


def formula_text(element: Any) -> str:
    """Return a formula as text, with all of its parts."""
    name = element.tag.removeprefix(MATH) if isinstance(element.tag, str) else ""
    parts = {child.tag.removeprefix(MATH): child for child in element if isinstance(child.tag, str)}
    if name == "t":
        return element.text or ""
    if name in _FORMS:
        names, form = _FORMS[name]
        return formula(form, *(formula_text(parts[part]) if part in parts else "" for part in names.split()))
    sign = element.find(f"{MATH}{name}Pr/{MATH}chr")
    if name == "nary":
        written = formula_text(parts["e"]) if "e" in parts else ""
        limits = [formula_text(parts[part]) if part in parts else "" for part in ("sub", "sup")]
        return formula("{}_{}^{}", sign.get(f"{MATH}val", "") if sign is not None else "∫", *limits) + f" {written}"
    inner = "".join(formula_text(child) for child in element if child.tag != f"{MATH}{name}Pr")
    if name in ("mr", "m", "eqArr"):
        return "; ".join(formula_text(child) for child in element if child.tag != f"{MATH}{name}Pr")
    return f"({inner})" if name == "d" else inner


def _counted(number: int, kind: str) -> str:
    """Return a number as Word writes it in headings."""
    if kind in ("lowerLetter", "upperLetter"):
        letter = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letter.upper() if kind == "upperLetter" else letter
    if kind in ("lowerRoman", "upperRoman"):
        roman = ""
        for value, sign in _ROMAN.items():
            roman += sign * (number // value)
            number %= value
        return roman.upper() if kind == "upperRoman" else roman
    return str(number)


def _free(element: Any) -> None:
    """Release a parsed element, and those before it."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]
