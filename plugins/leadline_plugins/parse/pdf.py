"""The parser of PDF files: lines with place and size of type, read by PDFium, as Markdown with blocks and pages."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable
from threading import Lock
from typing import Any

from leadline.contracts import Call
from leadline.errors import Unsupported
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.parsing import parse_in_worker
from leadline.records import Blob, Document
from leadline_plugins.parse.decode import document, plausible_title
from leadline_plugins.parse.layout import Layout, lay_out
from leadline_plugins.parse.media import bare_type
from leadline_plugins.parse.pdf_blocks import Line, Page, Pdf, Title, pieces_of

_PAGES = 5_000
# Characters of a page that are parsed.
_CHARACTERS = 200_000
_TITLES, _DEEPEST = 5_000, 6
# Characters of a line whose boxes are sampled.
_SAMPLES = 8
_MONOSPACED = re.compile(r"mono|courier|typewriter|cmtt|tt\d|consol|code", re.IGNORECASE)
# The flag of monospaced fonts.
_FIXED_PITCH = 1
# PDFium allows one call at a time in a process.
_PDFIUM = Lock()


class PdfParser:
    """Parses with PDFium."""

    def accepts(self, media_type: str, /) -> bool:
        """Accept PDF."""
        return bare_type(media_type) in {"application/pdf", "application/x-pdf"}

    async def parse(self, blob: Blob, call: Call, /) -> Document:
        """Return the document and the offsets of its pages.

        Raises `Unsupported` for a file that is broken, encrypted or without text.
        """
        return await parse_in_worker(parse, blob)


def parse(blob: Blob) -> Document:
    """Parse, blocking."""
    pdf = _read(blob)
    pieces = pieces_of(pdf)
    layout = lay_out(pieces)
    if not layout.text.strip():
        raise Unsupported(f"{blob.name}: no text on its {len(pdf.pages)} pages (scanned pages need OCR first)")
    heading = next((piece.text for piece in pieces if piece.kind == "heading"), "")
    title, pages = plausible_title(pdf.title) or heading, _offsets(layout, len(pdf.pages))
    return document(blob, layout, title, pages=pages, incomplete=pdf.incomplete)


def _read(blob: Blob) -> Pdf:
    from pypdfium2 import PdfiumError  # type: ignore[import-untyped]

    with _PDFIUM:
        try:
            return read_pdf(blob.data)
        except PdfiumError as error:
            if "password" in str(error).lower():
                raise Unsupported(f"{blob.name}: encrypted; store a copy without password") from error
            raise Unsupported(f"{blob.name}: not a readable PDF ({error})") from error


def _offsets(layout: Layout, count: int) -> tuple[int, ...]:
    """Return where each page begins in the text; an empty page begins where the next one does."""
    starts = dict(reversed(layout.turns))
    for block in reversed(layout.blocks):
        page = block.page or 1
        starts[page] = min(block.start, starts.get(page, block.start))
    offsets, offset = [], len(layout.text)
    for page in range(count, 0, -1):
        offset = starts.get(page, offset)
        offsets.append(offset)
    return tuple(reversed(offsets))


def read_pdf(data: bytes) -> Pdf:
    """Read a PDF; raises `PdfiumError`."""
    from pypdfium2 import PdfDocument

    pdf = PdfDocument(data)
    try:
        pages = []
        for number in range(min(len(pdf), _PAGES)):
            page = pdf[number]
            try:
                pages.append(Page(_lines(page, number), page.get_height()))
            finally:
                page.close()
        incomplete = f"only the first {_PAGES:,} of {len(pdf):,} pages were read" if len(pdf) > _PAGES else ""
        return Pdf(pdf.get_metadata_dict().get("Title", ""), pages, _outline(pdf), incomplete)
    finally:
        pdf.close()


def _outline(pdf: Any) -> list[Title]:
    found: list[Title] = []
    for entry in pdf.get_toc(max_depth=_DEEPEST):
        target = entry.get_dest()
        page = target.get_index() if target else None
        if page is not None and (text := entry.get_title().strip()):
            found.append(Title(text, entry.level, page))
        if len(found) >= _TITLES:
            break
    return found


def _lines(page: Any, number: int) -> list[Line]:
    text_page = page.get_textpage()
    try:
        count = min(text_page.count_chars(), _CHARACTERS)
        text = text_page.get_text_range(0, count) if count > 0 else ""
        found, start = [], 0
        for part in text.split("\n"):
            if part.strip():
                first = start + len(part) - len(part.lstrip())
                found.append(_line(text_page.raw, text, number, first, start + len(part.rstrip()) - 1))
            start += len(part) + 1
        return found
    finally:
        text_page.close()


def _line(raw: Any, text: str, page: int, first: int, last: int) -> Line:
    """Return the line of the characters from `first` to `last`, both inclusive."""
    from pypdfium2 import raw as pdfium

    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    boxes = []
    for place in {*range(first, last + 1, max(1, (last - first) // _SAMPLES)), last}:
        if pdfium.FPDFText_GetCharBox(raw, place, left, right, bottom, top) and right.value > left.value:
            boxes.append((left.value, right.value, bottom.value, top.value))
    middle, quarter = (first + last) // 2, (last - first) // 4
    fixed, sizes = True, []
    name, flags = ctypes.create_string_buffer(128), ctypes.c_int()
    for place in {first, first + quarter, middle, last - quarter, last}:
        shown = place if text[place].strip() else place + 1 if place < last else place - 1
        pdfium.FPDFText_GetFontInfo(raw, shown, name, len(name), flags)
        fixed = fixed and bool(flags.value & _FIXED_PITCH or _MONOSPACED.search(name.value.decode("latin-1")))
        sizes.append(pdfium.FPDFText_GetFontSize(raw, shown))
    x, baseline = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(raw, middle, x, baseline)
    return Line(
        text=text[first : last + 1],
        page=page,
        baseline=baseline.value,
        left=min((box[0] for box in boxes), default=0.0),
        right=max((box[1] for box in boxes), default=0.0),
        bottom=min((box[2] for box in boxes), default=0.0),
        top=max((box[3] for box in boxes), default=0.0),
        size=round(sorted(sizes)[len(sizes) // 2], 1),
        code=fixed,
    )


@hookimpl
def leadline_parsers() -> Iterable[Offer[Any, PdfParser]]:
    """Offer the parser."""
    yield Offer(lambda settings, context: PdfParser(), PluginSettings, "Text of PDF files", free=True)
