"""Read the lines of a PDF with PDFium: text, place, size of type, and the outline.

PDFium allows one call at a time in a process: callers hold a lock.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from typing import Any

_PAGES = 5_000
_CHARACTERS = 200_000
"""Characters of a page that are read."""
_TITLES, _DEEPEST = 5_000, 6
_SAMPLES = 8
"""Characters of a line whose boxes are looked at."""
_MONOSPACED = re.compile(r"mono|courier|typewriter|cmtt|tt\d|consol|code", re.IGNORECASE)
_FIXED_PITCH = 1
"""The flag of a font in which all characters are equally wide."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page. Coordinates are points from the lower left corner of the page."""

    text: str
    page: int
    """From 0."""
    baseline: float
    left: float
    right: float
    bottom: float
    top: float
    size: float
    code: bool
    """Whether all sampled characters are monospaced."""


@dataclass(frozen=True, slots=True)
class Title:
    """An entry of the outline. `level` and `page` count from 0."""

    text: str
    level: int
    page: int


@dataclass(frozen=True, slots=True)
class Page:
    """The lines of a page in the order of its content."""

    lines: list[Line]
    height: float


@dataclass(frozen=True, slots=True)
class Pdf:
    """What was read of a file."""

    title: str
    pages: list[Page]
    outline: list[Title]


def read_pdf(data: bytes) -> Pdf:
    """Read a PDF; raises `PdfiumError`."""
    from pypdfium2 import PdfDocument  # type: ignore[import-untyped]

    pdf = PdfDocument(data)
    try:
        pages = []
        for number in range(min(len(pdf), _PAGES)):
            page = pdf[number]
            try:
                pages.append(Page(_lines(page, number), page.get_height()))
            finally:
                page.close()
        return Pdf(pdf.get_metadata_dict().get("Title", ""), pages, _outline(pdf))
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
