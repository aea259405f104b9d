"""The plugin `pdf`: the text of PDF files, page by page.

A PDF knows lines, not paragraphs; lines that fill the column are joined again, so that a quoted sentence is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from threading import Lock
from typing import Any

from leadline.contracts import Call, Context
from leadline.errors import BadReply, Unsupported
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Blob, Document
from leadline_plugins.parse.clean import clean, document
from leadline_plugins.parse.media import bare

_PDFIUM = Lock()
"""PDFium allows one call at a time in a process."""
_FULL = 0.75
"""Share of the column's width, in characters, from which a line is taken to go on in the next."""
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef\u3000-\u303f]")
_BROKEN_WORD = re.compile("[\x02\ufffe](?:\r?\n)?")
"""PDFium's mark for a hyphen that only the end of the line asked for."""


class PdfParser:
    """Reads with PDFium."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def accepts(self, media_type: str, /) -> bool:
        """Accept PDF."""
        return bare(media_type) in {"application/pdf", "application/x-pdf"}

    async def parse(self, blob: Blob, call: Call, /) -> Document:
        """Return text and page offsets.

        Raises `BadReply` for a broken file, `Unsupported` for an encrypted one and for one without text.
        """
        return await self._context.in_thread(parse, blob)


def parse(blob: Blob) -> Document:
    """Parse, blocking."""
    title, raw = _read(blob)
    pages = [reflow(clean(_BROKEN_WORD.sub("", page))) for page in raw]
    offsets, offset = [], 0
    for page in pages:
        offsets.append(offset)
        offset += len(page) + 2
    if not any(pages):
        raise Unsupported(f"{blob.name}: holds no text on its {len(pages)} pages (scanned pages need OCR first)")
    return document(blob, "\n\n".join(pages), title, pages=tuple(offsets))


def _read(blob: Blob) -> tuple[str, list[str]]:
    from pypdfium2 import PdfDocument, PdfiumError  # type: ignore[import-untyped]

    with _PDFIUM:
        try:
            pdf = PdfDocument(blob.data)
            try:
                return pdf.get_metadata_dict().get("Title", ""), [_page_text(page) for page in pdf]
            finally:
                pdf.close()
        except PdfiumError as error:
            if "password" in str(error).lower():
                raise Unsupported(f"{blob.name}: is encrypted; store a copy without password") from error
            raise BadReply(f"{blob.name}: is no readable PDF ({error})") from error


def _page_text(page: Any) -> str:
    textpage = page.get_textpage()
    try:
        return str(textpage.get_text_range())
    finally:
        textpage.close()
        page.close()


def reflow(text: str) -> str:
    """Join the lines of paragraphs; a line short of the column's width ends one."""
    lines = [line.strip() for line in text.split("\n")]
    widths = sorted(len(line) for line in lines if line)
    if not widths:
        return ""
    full = widths[len(widths) * 9 // 10] * _FULL
    joined = lines[0]
    for before, line in pairwise(lines):
        joined += (_glue(before, line) if len(before) >= full and line else "\n") + line
    return clean(joined)


def _glue(before: str, after: str) -> str:
    return "" if _CJK.match(before[-1:]) and _CJK.match(after[:1]) else " "


@hookimpl
def leadline_parsers() -> Iterable[Offer[Any, PdfParser]]:
    """Offer the parser."""
    yield Offer(lambda _, context: PdfParser(context), PluginSettings, "Text of PDF files", free=True)
