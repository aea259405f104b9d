"""The plugin `pdf`: PDF files as Markdown with blocks, each with its page (`pdf_lines`, `pdf_blocks`)."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import Any

from leadline.contracts import Call, Context
from leadline.errors import BadReply, Unsupported
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Blob, Document
from leadline_plugins.parse.clean import document
from leadline_plugins.parse.layout import Layout, lay_out
from leadline_plugins.parse.media import bare
from leadline_plugins.parse.pdf_blocks import pieces_of
from leadline_plugins.parse.pdf_lines import Pdf, read_pdf

_PDFIUM = Lock()
"""PDFium allows one call at a time in a process."""


class PdfParser:
    """Parses with PDFium."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def accepts(self, media_type: str, /) -> bool:
        """Accept PDF."""
        return bare(media_type) in {"application/pdf", "application/x-pdf"}

    async def parse(self, blob: Blob, call: Call, /) -> Document:
        """Return the document and the offsets of its pages.

        Raises `BadReply` for a broken file, `Unsupported` for an encrypted one and for one without text.
        """
        return await self._context.in_thread(parse, blob)


def parse(blob: Blob) -> Document:
    """Parse, blocking."""
    pdf = _read(blob)
    layout = lay_out(pieces_of(pdf))
    if not layout.text.strip():
        raise Unsupported(f"{blob.name}: holds no text on its {len(pdf.pages)} pages (scanned pages need OCR first)")
    return document(blob, layout, pdf.title, pages=_offsets(layout, len(pdf.pages)))


def _read(blob: Blob) -> Pdf:
    from pypdfium2 import PdfiumError  # type: ignore[import-untyped]

    with _PDFIUM:
        try:
            return read_pdf(blob.data)
        except PdfiumError as error:
            if "password" in str(error).lower():
                raise Unsupported(f"{blob.name}: is encrypted; store a copy without password") from error
            raise BadReply(f"{blob.name}: is no readable PDF ({error})") from error


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


@hookimpl
def leadline_parsers() -> Iterable[Offer[Any, PdfParser]]:
    """Offer the parser."""
    yield Offer(lambda _, context: PdfParser(context), PluginSettings, "Text of PDF files", free=True)
