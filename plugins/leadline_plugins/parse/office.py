"""The plugin `office`: spreadsheets, presentations, OpenDocument, EPUB, RTF and mail as Markdown with blocks.

Cells are shown as a reader sees them, a heading for each sheet and slide, notes after their block. What is left out
(hidden sheets and slides, formulas without a value, attachments) is named. Old formats are
refused with the way to convert them.
"""

from __future__ import annotations

import email.policy
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time
from email import message_from_bytes
from io import BytesIO
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

from leadline.contracts import Call, Parser
from leadline.errors import Unsupported
from leadline.parsing import parse_in_worker
from leadline.plugin import parser
from leadline.records import Blob, Document
from leadline_plugins.parse import html, opendocument, pdf, text, word
from leadline_plugins.parse.decode import clean, decode, document, plausible_title
from leadline_plugins.parse.html_blocks import pieces_of_markup
from leadline_plugins.parse.layout import Piece, collapse, lay_out, lowered, page_offsets, raised, tables
from leadline_plugins.parse.markdown_blocks import pieces_of
from leadline_plugins.parse.media import DOCX, ODP, ODS, ODT, OLD, PPTX, XLSX, bare_type, content_type, media_type
from leadline_plugins.parse.word import opened, unpacked

_NOTE, _BRACE = re.compile(r"\{(?:\\\*)?\\footnote\b"), re.compile(r"\\.|[{}]", re.DOTALL)
# Cells of a workbook, and files of a book, that are read.
_CELLS, _CHAPTERS = 100_000, 2_000
# A number format: what stands before the digits, the digits, an exponent, and what stands after.
_NUMBER = re.compile(
    r"(?P<before>[^#0?.,]*)(?P<whole>[#0?,]+)(?:\.(?P<places>[0#?]+))?(?P<power>E\+0+)?(?P<after>[^#0?]*)"
)
_CURRENCY = re.compile(r"\[\$([^\]-]*)[^\]]*\]")
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_OBJECTS = ".//a:graphicData[contains(@uri, '/chart') or contains(@uri, '/diagram')]"
_LITERAL = re.compile(r'"([^"]*)"|\\(.)|\[[^\]]*\]|_.|\*.')


@dataclass
class Parts:
    """What a reader found: the pieces, the title, the number of slides, and what was left out."""

    pieces: list[Piece] = field(default_factory=list)
    title: str = ""
    slides: int = 0
    left_out: list[str] = field(default_factory=list)


@parser("Spreadsheets, presentations, OpenDocument, EPUB, RTF and mail", work="local")
class OfficeParser:
    """Parses each kind with its library; those of the extra `office` are imported when a file needs them."""

    def accepts(self, media_type: str, /) -> bool:
        """Accept the kinds with a reader, and old ones, to say how they are converted."""
        return bare_type(media_type) in {*READERS, *OLD}

    async def parse(self, blob: Blob, call: Call, /) -> Document:
        """Return the document; raises `Unsupported` for a file that is broken, locked, or of an old kind."""
        return await parse_in_worker(parse, blob)


def parse(blob: Blob) -> Document:
    """Parse, blocking."""
    kind = content_type(blob.data) or bare_type(blob.media_type)  # a .doc may be RTF, an .xls of today's format
    if kind == DOCX:
        return word.parse(blob)
    if kind in OLD:
        raise Unsupported(f"{blob.name}: {OLD[kind]}")
    try:
        parts = READERS[kind](blob)
    except (Unsupported, MemoryError, RecursionError):
        raise
    except ImportError as error:
        raise Unsupported(f"{blob.name}: needs {error.name}: leadline plugins install 'leadline[office]'") from error
    except Exception as error:
        raise Unsupported(f"{blob.name}: not a readable file of its kind ({error})") from error
    layout = lay_out(parts.pieces)
    pages = page_offsets(layout, parts.slides) if parts.slides else ()
    return document(blob, layout, plausible_title(parts.title), pages=pages, incomplete="; ".join(parts.left_out))


# --- spreadsheets and presentations ----------------------------------------------------------------------------------


def _workbook(blob: Blob) -> Parts:
    from openpyxl import load_workbook  # type: ignore[import-untyped]

    opened(blob).close()
    values, formulas = (load_workbook(BytesIO(blob.data), read_only=True, data_only=only) for only in (True, False))
    parts, empty, cells = Parts(title=values.properties.title or ""), 0, 0
    for sheet, source in zip(values.worksheets, formulas.worksheets, strict=True):
        if sheet.sheet_state != "visible":
            parts.left_out.append(f"the hidden sheet '{sheet.title}' was not read")
            continue
        rows: list[list[str]] = []
        for view in (sheet, source):
            view.reset_dimensions()  # those that a program wrote may be wrong
        for row, written in zip(sheet.iter_rows(), source.iter_rows(), strict=False):
            cells += len(row)
            if cells > _CELLS:
                break
            rows.append([displayed(cell.value, cell.number_format) if cell.value is not None else "" for cell in row])
            empty += sum(cell.value is None and raw.data_type == "f" for cell, raw in zip(row, written, strict=False))
        parts.pieces += [Piece("heading", sheet.title, level=1), *tables(rows)]
    if cells > _CELLS:
        parts.left_out.append(f"only the first {_CELLS:,} cells were read")
    if empty:
        parts.left_out.append(f"{empty} formulas have no stored value: open and save the file in its program")
    return parts


def displayed(value: Any, form: str) -> str:
    """Return a value as its number format shows it; dates and times as ISO 8601."""
    if isinstance(value, datetime):
        return str(value.date() if value.time() == time() else value.replace(microsecond=0))
    if isinstance(value, date | time) or not isinstance(value, int | float) or isinstance(value, bool):
        return str(value).upper() if isinstance(value, bool) else str(value)
    sections = form.split(";")
    form = sections[1] if value < 0 and len(sections) > 1 else sections[0]
    form = _LITERAL.sub(lambda match: match[1] or match[2] or "", _CURRENCY.sub(r'"\1"', form))
    match = _NUMBER.fullmatch(form)
    if not match or form == "General":
        return format(value, ".15g")
    if value < 0 and len(sections) > 1:
        value = -value
    value *= 100 if "%" in form else 1
    places = len(match["places"] or "")
    least = (match["places"] or "").count("0")
    style = f".{places}E" if match["power"] else f"{',' if ',' in match['whole'].rstrip(',') else ''}.{places}f"
    shown = format(value / 1000 ** (len(match["whole"]) - len(match["whole"].rstrip(","))), style)
    if not match["whole"].strip("0") and not match["power"]:
        shown = shown.zfill(len(match["whole"]) + (places + 1 if places else 0))
    if places > least and not match["power"]:
        shown = shown[: len(shown) - places + least] + shown[len(shown) - places + least :].rstrip("0")
    return f"{match['before']}{shown.rstrip('.')}{match['after']}".strip()


def _slides(blob: Blob) -> Parts:
    from pptx import Presentation

    opened(blob).close()
    deck = Presentation(BytesIO(blob.data))
    parts, hidden, objects = Parts(title=deck.core_properties.title or "", slides=len(deck.slides)), [], 0
    for number, slide in enumerate(deck.slides, 1):
        if slide._element.get("show") == "0":
            hidden.append(str(number))
            continue
        title = slide.shapes.title
        named = collapse(clean(title.text_frame.text)) if title is not None else ""
        parts.pieces.append(Piece("heading", named or f"Slide {number}", level=2, page=number))
        head = None if title is None else title._element
        parts.pieces += _shown(slide._element, head, number)
        objects += len(slide._element.xpath(_OBJECTS))
        if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None:
            notes = [line for paragraph in frame.paragraphs if (line := _line(paragraph._p))]
            parts.pieces += [Piece("paragraph", f"Notes: {note}", page=number) for note in notes]
    if hidden:
        parts.left_out.append(f"hidden slides were not read: {', '.join(hidden)}")
    if objects:
        parts.left_out.append(f"{objects} charts or diagrams were not read")
    return parts


def _shown(slide: Any, title: Any, number: int) -> Iterator[Piece]:
    """Yield the tables and paragraphs of a slide without its title, those in groups and in newer shapes too."""
    for element in slide.iter(f"{_A}tbl", f"{_A}p"):
        outer = {*element.iterancestors()}
        if element.tag == f"{_A}tbl":
            rows = [
                [" ".join(map(_line, cell.iter(f"{_A}p"))) for cell in row.iter(f"{_A}tc")]
                for row in element.iter(f"{_A}tr")
            ]
            yield Piece("table", rows=rows, header=1, page=number)
        elif (
            title not in outer
            and not any(ancestor.tag in (f"{_A}tbl", _FALLBACK) for ancestor in outer)
            and (line := _line(element))
        ):
            yield Piece("paragraph", line, page=number)


def _line(paragraph: Any) -> str:
    line = ""
    for run in paragraph.iter(f"{_A}r", f"{_A}fld", f"{_A}br", f"{word.MATH}oMath"):
        if run.tag == f"{word.MATH}oMath":
            line += word.formula_text(run)
            continue
        properties, text = run.find(f"{_A}rPr"), run.findtext(f"{_A}t") or " " * (run.tag == f"{_A}br")
        height = int(properties.get("baseline") or 0) if properties is not None else 0
        text = raised(text, line) if height > 0 else lowered(text, line) if height < 0 else text
        struck = properties is not None and properties.get("strike", "noStrike") != "noStrike" and text.strip()
        line += f"~~{text}~~" if struck else text
    return collapse(clean(line))


# --- texts -----------------------------------------------------------------------------------------------------------


def _rich_text(blob: Blob) -> Parts:
    from striprtf.striprtf import rtf_to_text

    def read(part: str) -> str:
        part = re.sub(r"\s*\\super(?:\\\w+)* ?(-?\d+)", r"^\1", part)
        part = re.sub(r"\\par\b(\s*\}?\s*)\\cell\b", r"\1\\cell", part)  # no line of its own for each cell
        return clean(str(rtf_to_text(part, errors="replace")))  # type: ignore[no-untyped-call]

    source, notes = _without_notes(blob.data.decode("latin-1"))
    parts = Parts()
    for is_row, lines in groupby(read(source).split("\n"), lambda line: line.rstrip().endswith("|")):
        if is_row:
            parts.pieces += tables([line.rstrip().removesuffix("|").split("|") for line in lines])
        else:
            parts.pieces += pieces_of("\n\n".join(lines), plain=True)
    parts.pieces += [Piece("paragraph", f"[^{n}] {collapse(read(note))}") for n, note in enumerate(notes, 1)]
    return parts


def _without_notes(source: str) -> tuple[str, list[str]]:
    """Return RTF with a mark in place of each note, and the notes, which striprtf leaves out."""
    parts, notes, offset = [], [], 0
    for start in _NOTE.finditer(source):
        if start.start() < offset:
            continue
        depth, end = 0, len(source)
        for brace in _BRACE.finditer(source, start.start()):
            depth += {"{": 1, "}": -1}.get(brace[0], 0)
            if not depth:
                end = brace.end()
                break
        notes.append("{\\rtf1 " + source[start.end() : end])
        parts.append(f"{source[offset : start.start()]}[^{len(notes)}]")
        offset = end
    return "".join(parts) + source[offset:], notes


def _book(blob: Blob) -> Parts:
    from lxml import etree  # type: ignore[import-untyped]

    def tree(name: str) -> Any:
        parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
        return etree.fromstring(unpacked(archive, name, blob.name), parser)

    with opened(blob) as archive:
        if "META-INF/rights.xml" in archive.namelist():
            raise Unsupported(f"{blob.name}: is protected against copying")
        package = tree("META-INF/container.xml").find(".//{*}rootfile").get("full-path")
        root = tree(package)
        files = {item.get("id"): item for item in root.iter("{*}item") if item.get("properties") != "nav"}
        spine = [files[element.get("idref")] for element in root.iter("{*}itemref") if element.get("idref") in files]
        parts = Parts(title=root.findtext(".//{http://purl.org/dc/elements/1.1/}title") or "")
        for item in spine[:_CHAPTERS]:
            name = str(PurePosixPath(package).parent / item.get("href", ""))
            parts.pieces += pieces_of_markup(decode(unpacked(archive, name, blob.name)))
        return parts


def _open_document(blob: Blob) -> Parts:
    with opened(blob) as archive:
        return Parts(*opendocument.read(archive, blob.name, blob.media_type))


# --- mail ------------------------------------------------------------------------------------------------------------


def _mail(blob: Blob) -> Parts:
    message = message_from_bytes(blob.data, policy=email.policy.default)
    body = message.get_body(("plain", "html"))
    content = body.get_content() if body else ""
    pieces = pieces_of_markup(content) if body and body.get_content_subtype() == "html" else _quoted(content)
    about = {name: str(message[name] or "") for name in ("From", "To", "Date")}
    files = []
    for part in message.iter_attachments():
        data = part.get_content()
        data = data.encode() if isinstance(data, str) else data if isinstance(data, bytes) else b""
        files.append((part.get_filename() or "", data))
    return _letter(str(message["Subject"] or ""), about, pieces, files)


def _outlook_mail(blob: Blob) -> Parts:
    from oxmsg import Message

    message = Message.load(BytesIO(blob.data))
    about = {"From": message.sender or "", "Date": str(message.sent_date or "")}
    files = [(attachment.file_name or "", attachment.file_bytes or b"") for attachment in message.attachments]
    return _letter(message.subject, about, _quoted(message.body or ""), files)


def _letter(subject: str, about: dict[str, str], pieces: list[Piece], files: Iterable[tuple[str, bytes]]) -> Parts:
    """Return a mail with its attachments, each under a heading; those that cannot be read are named."""
    heads = [f"{name}: {collapse(value)}" for name, value in about.items() if value]
    parts = Parts(
        [Piece("heading", collapse(subject) or "Mail"), Piece("paragraph", "; ".join(heads)), *pieces], subject
    )
    for name, data in files:
        blob = Blob(name=name or "without a name", media_type=media_type(name), data=data)
        module = next((module for module, parser in _ATTACHED if parser.accepts(blob.media_type)), None)
        try:
            if module is None or blob.media_type.startswith("image/"):
                raise Unsupported(f"no parser reads {blob.media_type}")
            inner = module.parse(blob)
        except Unsupported as error:
            parts.left_out.append(f"the attachment {blob.name} was not read ({error})")
            continue
        parts.pieces += [Piece("heading", f"Attachment {blob.name}", level=2), *pieces_of(inner.text)]
    return parts


def _quoted(content: str) -> list[Piece]:
    """Return the paragraphs of a mail; the lines after `>` are quotations."""
    return pieces_of(clean(content))


READERS: dict[str, Callable[[Blob], Parts]] = {
    XLSX: _workbook,
    PPTX: _slides,
    **dict.fromkeys((ODT, ODS, ODP), _open_document),
    "application/epub+zip": _book,
    "application/rtf": _rich_text,
    "text/rtf": _rich_text,
    "message/rfc822": _mail,
    "application/vnd.ms-outlook": _outlook_mail,
}
_ATTACHED: tuple[tuple[Any, Parser], ...] = (
    *((text, text.TextParser()), (html, html.HtmlParser()), (pdf, pdf.PdfParser()), (word, word.WordParser())),
    (sys.modules[__name__], OfficeParser()),
)
