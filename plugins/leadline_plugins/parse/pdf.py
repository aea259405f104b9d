"""The parser of PDF files: lines with place and size of type, read by PDFium, as Markdown with blocks and pages.

Values of forms and typed annotations are lines beside their labels. Pages that are pictures are read by machine if
tesseract is installed; they are named in any case.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from shutil import which
from threading import Lock

from leadline.contracts import Call
from leadline.errors import Unsupported
from leadline.parsing import bounded, within_limits
from leadline.records import Blob, Document
from leadline_plugins.parse import ocr
from leadline_plugins.parse.decode import document, plausible_title
from leadline_plugins.parse.layout import lay_out, page_offsets
from leadline_plugins.parse.media import OCR, PICTURES, bare_type
from leadline_plugins.parse.pdf_blocks import Line, Pdf, pieces_of
from leadline_plugins.parse.pdf_lines import read_pdf

# Pages that are pictures and read by machine: at about 2 s of processor time each.
_MOST_PICTURES = 50
# PDFium allows one call at a time in a process.
_PDFIUM = Lock()
# What PDFium returns for a glyph whose font does not name it; "\x02" is a hyphen.
_UNNAMED = re.compile(r"[\0\x01\x03-\x08\x0b\x0c\x0e-\x1f]")


class PdfParser:
    """Parses with PDFium."""

    def accepts(self, media_type: str, /) -> bool:
        """Accept PDF, and pictures if tesseract is installed."""
        kind = bare_type(media_type)
        return kind in {"application/pdf", "application/x-pdf"} or (kind in PICTURES and which(OCR) is not None)

    async def parse(self, blob: Blob, call: Call, /) -> Document:
        """Return the document and the offsets of its pages.

        Raises `Unsupported` for a file that is broken, encrypted or without text.
        """
        outcome, pictures = await within_limits(blob.name, len(blob.data), _parsed, blob)
        if pictures and (program := which(OCR)):
            pages = [_recognized(blob, number, program) for number in pictures[:_MOST_PICTURES]]
            read = dict(zip(pictures, await asyncio.gather(*pages), strict=False))
            lines = {number: page for number, page in read.items() if isinstance(page, list)}
            if not lines and _is_of_pictures(blob):  # no page was read within the limits
                raise next(error for error in read.values() if isinstance(error, Unsupported))
            outcome, _ = await within_limits(blob.name, len(blob.data), _parsed, blob, lines)
        return _raised(outcome)


async def _recognized(blob: Blob, number: int, program: str) -> list[Line] | Unsupported:
    """Return the lines of a page that is a picture, or why it cannot be read within the limits."""
    try:
        return await within_limits(blob.name, len(blob.data), _recognize, blob, number, program)
    except Unsupported as error:
        return error
    except OSError as error:
        return Unsupported(f"{blob.name}: {OCR} does not run: {error}")


def _recognize(blob: Blob, number: int, program: str) -> list[Line]:
    if _is_of_pictures(blob):
        return ocr.recognized_picture(blob.data, number, program)
    from pypdfium2 import PdfDocument  # type: ignore[import-untyped]

    pdf = PdfDocument(blob.data)
    try:
        return ocr.recognized(pdf[number], number, program)
    finally:
        pdf.close()


def parse(blob: Blob) -> Document:
    """Parse without reading pictures, blocking."""
    return _raised(_parsed(blob)[0])


def _raised(outcome: Document | Unsupported) -> Document:
    if isinstance(outcome, Unsupported):
        raise outcome
    return outcome


def _parsed(
    blob: Blob, recognized: Mapping[int, list[Line]] | None = None
) -> tuple[Document | Unsupported, Sequence[int]]:
    """Return the document, or why there is none, and the pages that are pictures; lines of some are known."""
    pdf = _read(blob)
    count, incomplete, known = len(pdf.pages), [pdf.incomplete], recognized or {}
    by_machine = [number for number in pdf.pictures if known.get(number)]
    if by_machine:
        sizes = Counter(line.size for page in pdf.pages for line in page.lines).most_common(1)
        for number in by_machine:
            # A size of its own would make a heading of each line.
            size = sizes[0][0] if sizes else known[by_machine[0]][0].size
            pdf.pages[number].lines[:] = [replace(line, size=size) for line in known[number]]
        incomplete.append(f"{_pictures(by_machine, count)} and read by machine ({OCR}), perhaps not all rightly")
    if unread := [number for number in pdf.pictures if number not in by_machine]:
        need = "" if recognized else f" (OCR needs {OCR})"
        incomplete.append(f"{_pictures(unread, count)}, whose text was not read{need}")
    lost: set[int] = set()
    pieces = pieces_of(pdf, lost)
    layout = lay_out(pieces)
    heading = next((piece.text for piece in pieces if piece.kind == "heading"), "")
    if sum(entry.level == 0 for entry in pdf.outline) > 1:
        heading = ""  # a chapter
    title, pages = plausible_title(pdf.title) or heading, page_offsets(layout, count)
    if lost:
        incomplete.append(f"tables on {_named(sorted(lost), count)} may be misread (columns, or words that are cut)")
    if unnamed := [at + 1 for at, page in enumerate(pdf.pages) if any(_UNNAMED.search(one.text) for one in page.lines)]:
        incomplete.append(f"letters or signs on {_named(unnamed, count)} that their fonts do not name are left out")
    if not layout.text.strip():
        pages_of = "1 page" if count == 1 else f"{count} pages"
        need = "" if recognized else f" (OCR of scanned pages needs {OCR})"
        reason = f"{blob.name}: no text on its {pages_of}{need}"
        return Unsupported(reason), pdf.pictures
    whole = document(blob, layout, title, pages=pages, incomplete="; ".join(filter(None, incomplete)))
    return bounded(whole), pdf.pictures


def _is_of_pictures(blob: Blob) -> bool:
    return bare_type(blob.media_type) in PICTURES


def _read(blob: Blob) -> Pdf:
    if _is_of_pictures(blob):
        return ocr.pages_of(blob.name, blob.data)
    from pypdfium2 import PdfiumError

    with _PDFIUM:
        try:
            return read_pdf(blob.data)
        except PdfiumError as error:
            if "password" in str(error).lower():
                raise Unsupported(f"{blob.name}: encrypted; store a copy without password") from error
            raise Unsupported(f"{blob.name}: not a readable PDF ({error})") from error


def _pictures(pages: list[int], count: int) -> str:
    return f"{_named([page + 1 for page in pages], count)} {'are pictures' if len(pages) > 1 else 'is a picture'}"


def _named(numbers: list[int], count: int) -> str:
    """Return the pages with these numbers: `page 2 of 9`, `pages 2, 4-6 of 9`."""
    runs = [list(run) for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    ranges = [f"{run[0][1]}-{run[-1][1]}" if len(run) > 1 else str(run[0][1]) for run in runs]
    return f"page{'s' if len(numbers) > 1 else ''} {', '.join(ranges)} of {count}"
