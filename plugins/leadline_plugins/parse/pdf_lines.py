"""The lines of a PDF with their place and size of type, read by PDFium; values of forms stand beside their labels.

Raised and lowered figures are marked, accents are combined with their letters, and wide gaps separate cells.
"""

from __future__ import annotations

import ctypes
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import groupby, pairwise, repeat
from math import inf
from operator import floordiv, sub
from typing import Any

from leadline_plugins.parse.layout import lowered, raised
from leadline_plugins.parse.pdf_blocks import Cell, Line, Page, Pdf, Title, is_note_of

_PAGES = 5_000
# Characters of a page that are parsed.
_CHARACTERS = 200_000
_TITLES, _DEEPEST = 5_000, 6
# Characters of a line whose boxes are sampled.
_SAMPLES = 8
_MONOSPACED = re.compile(r"mono|courier|typewriter|cmtt|tt\d|consol|code", re.IGNORECASE)
# Multiple of the size of type from which a gap separates cells; the space of justified lines is narrower.
_GAP = 0.9
# Multiple of the size of type from which a gap beyond a letter's width separates words (kerning is at most .07 in the
# files measured, and spaces at least .2), and letters for each such gap at least, or the letters are set apart.
_WORD_GAP, _LETTERSPACED = 0.15, 4
_WORD = re.compile(r"[A-Za-zÀ-ɏ]{2}")
# What two letters leave empty of their own width at most, as a multiple of the size of type, but for these, which fill
# half of it.
_EMPTY, _WIDE = 0.4, re.compile("[\u2e80-\uffef]")
# Shares of the size of type: the height of raised and lowered figures at most, and how far they are from the line.
_SMALL, _RISE, _FALL = 0.62, 0.15, 0.08
# Multiple of the size of type within which a figure stands at a letter.
_NEAR = 0.3
# Characters that a page with a picture on half of it has at most if its text is in the picture.
_FEW = 40
_PRINTED, _FIGURES, _PART = re.compile(r"\S+"), re.compile(r"\d+"), re.compile(r"\S(?:[^\n]*[^\s])?")
# Accents that are glyphs of their own, with those that combine, and what stands in the place of one that is combined.
_SPACING = "`´ˆ˜¨¯˘˙˚˝ˇ¸˛^~"
_COMBINING = "\u0300\u0301\u0302\u0303\u0308\u0304\u0306\u0307\u030a\u030b\u030c\u0327\u0328\u0302\u0303"
_DOTLESS = {"ı": "i", "ȷ": "j"}
_ACCENT, _COMBINED = re.compile(f"[{_SPACING}]"), "\u2060"
# The beginning of a note, its number and its text; a number that goes on after a point.
_BODY = re.compile(r"\s*[^\W\d_]|\s*[\"'(\[\\“„«‘]")
_NUMBERED = re.compile(rf"^[^\S\n]*\[?(\d{{1,3}})[\].)]?(?={_BODY.pattern})", re.MULTILINE)
_DECIMAL = re.compile(r"(?<!\d)\d{1,2}[.,]$")
# Share of pages at the end of a file that may have the notes of all, as its divisor.
_END = 5
# The mark of a list item, which word processors set apart; some are letters of a font of symbols.
_MARK = re.compile(r"([•◦▪‣●○∙·o–—\uf000-\uf0ff]|\(?(?:\d{1,3}|[a-z])[.)])\s+(?=\S)")
# The space that PDFium adds between a raised or lowered figure and a sign.
_ADDED = re.compile(r" (?=[,.;:!?)])")
# Points by which the box of a field may overlap its label, and how boxes are written.
_TOUCH = 2.0
_BOXES = ("☐", "☒")
# The flag of monospaced fonts.
_FIXED_PITCH = 1


def read_pdf(data: bytes) -> Pdf:
    """Read a PDF; raises `PdfiumError`."""
    from pypdfium2 import PdfDocument  # type: ignore[import-untyped]

    pdf = PdfDocument(data)
    try:
        pdf.init_forms()
        pages, pictures, count = [], [], min(len(pdf), _PAGES)
        file = _File(pdf, count)
        for number in range(count):
            page = pdf[number]
            try:
                pages.append(Page(_with_fields(page, number, _lines(file, page, number)), page.get_height()))
                if _is_picture(page, pages[-1].lines):
                    pictures.append(number)
            finally:
                page.close()
        unread = f"only the first {_PAGES:,} of {len(pdf):,} pages were read" if len(pdf) > _PAGES else ""
        return Pdf(pdf.get_metadata_dict().get("Title", ""), pages, _outline(pdf), pictures, unread)
    finally:
        pdf.close()


def _is_picture(page: Any, lines: list[Line]) -> bool:
    """Return whether a page has hardly any text, but a picture on half of it."""
    from pypdfium2 import raw as pdfium

    if sum(len(line.text) for line in lines) > _FEW:
        return False
    area, (width, height) = 0.0, page.get_size()
    for picture in page.get_objects(filter=(pdfium.FPDF_PAGEOBJ_IMAGE,), max_depth=3):
        left, bottom, right, top = picture.get_bounds()
        area += (right - left) * (top - bottom)
    return area > (width * height / 2 if lines else 0)


def _outline(pdf: Any) -> list[Title]:
    titles: list[Title] = []
    for entry in pdf.get_toc(max_depth=_DEEPEST):
        target = entry.get_dest()
        page = target.get_index() if target else None
        if page is not None and (text := entry.get_title().strip()):
            titles.append(Title(text, entry.level, page))
        if len(titles) >= _TITLES:
            break
    return titles


def _text(text_page: Any) -> str:
    """Return the text of a page, in which each character stands where PDFium counts it."""
    from pypdfium2 import raw as pdfium

    count = min(text_page.count_chars(), _CHARACTERS)
    text: str = text_page.get_text_range(0, count) if count > 0 else ""
    if len(text) == count:
        return text
    # PDFium counts the halves of characters, and those without Unicode, which it leaves out of texts.
    return "".join(chr(pdfium.FPDFText_GetUnicode(text_page.raw, at)) for at in range(count))


class _File:
    """The functions of PDFium about letters, and what the pages of a file share."""

    def __init__(self, pdf: Any, count: int) -> None:
        from pypdfium2 import raw as pdfium

        self._last_pages = (pdf[number] for number in range(count - -(-count // _END), count))
        # Words without gaps inside, each with its width in points, by the size of type.
        self.whole: defaultdict[float, set[tuple[str, float]]] = defaultdict(set)
        self.char_box, self.loose_box = _quick(pdfium.FPDFText_GetCharBox), _quick(pdfium.FPDFText_GetLooseCharBox)
        self.origin, self._font_info = _quick(pdfium.FPDFText_GetCharOrigin), _quick(pdfium.FPDFText_GetFontInfo)
        self._name, self._flags = ctypes.create_string_buffer(128), ctypes.c_int()
        self._monospaced: dict[bytes, bool] = {}
        self.font_size = _quick(pdfium.FPDFText_GetFontSize, ctypes.c_double)
        self.count_objects = _quick(pdfium.FPDFText_CountRects)

    def is_monospaced(self, page: Any, at: int) -> bool:
        """Return whether a letter of a page is of a monospaced font, by its flags or name, or has none."""
        if not self._font_info(page, at, self._name, ctypes.c_ulong(len(self._name)), ctypes.byref(self._flags)):
            return True
        name, flags = self._name.value, self._flags.value
        if name not in self._monospaced:
            self._monospaced[name] = _MONOSPACED.search(name.decode("latin-1")) is not None
        return bool(flags & _FIXED_PITCH) or self._monospaced[name]

    @cached_property
    def end_notes(self) -> set[str]:
        """Return the numbers with which lines of the last pages begin."""
        notes: set[str] = set()
        for page in self._last_pages:
            text_page = page.get_textpage()
            try:
                notes.update(_NUMBERED.findall(_text(text_page)))
            finally:
                text_page.close()
                page.close()
        return notes


def _quick(function: Any, result: Any = ctypes.c_int) -> Any:
    """Return a function of PDFium without checks of its arguments, which take half the time of calls about each letter.

    Wrong arguments crash the process: pass the page as `c_void_p`, integers, and references to buffers that live on.
    """
    return ctypes.PYFUNCTYPE(result)(ctypes.cast(function, ctypes.c_void_p).value or 0)


def _lines(file: _File, page: Any, number: int) -> list[Line]:
    text_page = page.get_textpage()
    try:
        lines = _Lines(file, page, text_page.raw, _text(text_page))
        spans: list[tuple[int, int]] = []
        for part in _PART.finditer(lines.text):
            first, last = part.start(), part.end() - 1
            if spans and lines.goes_on(*spans[-1], first):
                first = spans.pop()[0]
            spans.append((first, last))
        read: list[Line] = []
        for first, last in spans:
            line = lines.line(number, first, last)
            if read and read[-1].text.isdecimal() and is_note_of(read[-1], line):
                line = replace(line, text=f"[^{read.pop().text}] {line.text}")
            read.append(line)
        return read
    finally:
        text_page.close()


def _turning(page: Any) -> Callable[[float, float], tuple[float, float]]:
    """Return a function that turns a point of a page with it; width and height are those that a reader sees."""
    width, height = page.get_size()
    return {
        0: lambda x, y: (x, y),
        90: lambda x, y: (y, height - x),
        180: lambda x, y: (width - x, height - y),
        270: lambda x, y: (width - y, x),
    }[page.get_rotation()]


class _Lines:
    """Reads the lines of a page, each by its first and last character, both inclusive."""

    def __init__(self, file: _File, page: Any, raw: Any, text: str) -> None:
        self.text, self._file, self._page = text, file, ctypes.cast(raw, ctypes.c_void_p)
        self._turned, self._is_turned = _turning(page), bool(page.get_rotation())
        self._sides, self._loose = (ctypes.c_double * 4)(), (ctypes.c_float * 4)()
        self._side_references = [ctypes.byref(self._sides, 8 * side) for side in range(4)]
        self._combine()
        spans = [word.span() for word in _PRINTED.finditer(self.text)]
        self._starts, self._lasts = [start for start, _ in spans], [end - 1 for _, end in spans]
        lefts = [left for left, _ in self._advances(self._starts)]
        rights = [right for _, right in self._advances(self._lasts)]
        # Not by `int`: a hostile file has infinite widths.
        widths = map(floordiv, map(sub, rights, lefts), repeat(1.0))
        self._keys = list(zip(_PRINTED.findall(self.text), widths, strict=False))
        self._spaces = [inf] * len(spans)
        if not self._is_turned and not _WIDE.search(self.text):
            self._spaces[1:] = map(sub, lefts[1:], rights)

    def _advances(self, characters: Iterable[int]) -> list[tuple[float, float]]:
        """Return where characters begin, and where the next ones would."""
        box = self._loose
        boxes = map(self._file.loose_box, repeat(self._page), characters, repeat(ctypes.byref(box)))
        return [(box[0], box[2]) for _ in boxes]

    def _words(self, first: int, last: int) -> range:
        """Return the words between two characters, by their number on the page."""
        return range(bisect_left(self._starts, first), bisect_right(self._starts, last))

    def _combine(self) -> None:
        """Combine accents that are glyphs of their own with the letters that they stand over."""
        for accent in _ACCENT.finditer(self.text):
            at = accent.start()
            over = self._box(at)
            for letter in (at + 1, at - 1, at + 2, at - 2):
                sign = self.text[letter : letter + 1] if letter >= 0 else ""
                under = self._box(letter) if sign.isalpha() else None
                if not over or not under or not under[0] <= (over[0] + over[1]) / 2 <= under[1]:
                    continue
                both = unicodedata.normalize("NFC", _DOTLESS.get(sign, sign) + _COMBINING[_SPACING.index(accent[0])])
                if len(both) == 1:
                    first, last = sorted((at, letter))
                    blank = _COMBINED * (last - first)
                    middle = both + blank if letter < at else blank + both
                    self.text = self.text[:first] + middle + self.text[last + 1 :]
                    break

    def goes_on(self, first: int, last: int, start: int) -> bool:
        """Return whether PDFium has broken a line at a raised or lowered figure."""
        if not (self.text[start].isdecimal() or self.text[last].isdecimal()):
            return False
        before, after = self._box(last), self._box(start)
        letter = next((at for at in range(last, first - 1, -1) if self.text[at].isalpha()), None)
        if letter is None or not before or not after:
            return False
        size, baseline = self._size(letter), self._origin(letter)[1]
        gap, rise = after[0] - before[1], abs(self._origin(start)[1] - baseline)
        if self.text[start].isdecimal() and self._shift(start, size, baseline):
            return abs(gap) < _NEAR * size and rise < size
        return self.text[last].isdecimal() and 0 < gap < size and rise < _FALL * size

    def _size(self, at: int) -> float:
        return float(self._file.font_size(self._page, at))

    def line(self, page: int, first: int, last: int) -> Line:
        samples = {*range(first, last + 1, max(1, (last - first) // _SAMPLES)), last}
        boxes = [box for box in self._boxes(samples) if box[1] > box[0]] or [(0.0, 0.0, 0.0, 0.0)]
        lefts, rights, bottoms, tops = zip(*boxes, strict=True)
        middle, quarter = (first + last) // 2, (last - first) // 4
        fixed, sizes = True, []
        several = self._file.count_objects(self._page, first, last + 1 - first) > 1
        for at in {first, first + quarter, middle, last - quarter, last} if several else {middle}:
            shown = at if self.text[at].strip() else at + 1 if at < last else at - 1
            fixed = fixed and self._file.is_monospaced(self._page, shown)
            sizes.append(self._size(shown))
        size, baseline = sorted(sizes)[len(sizes) // 2], self._origin(middle)[1]
        mark = None if fixed else self._mark(first, last, size)
        begin, lead = (mark.end(), f"{mark[1] if mark[1][-1] in '.)' else '•'} ") if mark else (first, "")
        cells = () if fixed else tuple(self._cells(begin, last, size))
        return Line(
            text=lead + (" ".join(cell.text for cell in cells) or self._marked(begin, last, size)),
            page=page,
            baseline=baseline,
            left=min(lefts),
            right=max(rights),
            bottom=min(bottoms),
            top=max(tops),
            size=round(size, 1),
            code=fixed,
            cells=cells,
        )

    def _box(self, at: int) -> tuple[float, float, float, float] | None:
        """Return left, right, bottom and top of a character."""
        return next(iter(self._boxes((at,))), None)

    def _boxes(self, characters: Collection[int]) -> list[tuple[float, float, float, float]]:
        """Return the boxes of the characters that have any. `map` is lazy: each is copied before the next call."""
        sides, references = self._sides, map(repeat, self._side_references)
        has_box = map(self._file.char_box, repeat(self._page), characters, *references)
        boxes = [(sides[0], sides[1], sides[2], sides[3]) for is_filled in has_box if is_filled]
        return [self._seen(*box) for box in boxes] if self._is_turned else boxes

    def _seen(self, left: float, right: float, bottom: float, top: float) -> tuple[float, float, float, float]:
        (x, y), (other_x, other_y) = self._turned(left, bottom), self._turned(right, top)
        return min(x, other_x), max(x, other_x), min(y, other_y), max(y, other_y)

    def _origin(self, at: int) -> tuple[float, float]:
        x, y = ctypes.c_double(), ctypes.c_double()
        self._file.origin(self._page, at, ctypes.byref(x), ctypes.byref(y))
        return self._turned(x.value, y.value)

    def _mark(self, first: int, last: int, size: float) -> re.Match[str] | None:
        """Return the mark of a list item at the beginning of a line, if a wide gap follows it."""
        mark = _MARK.match(self.text, first, last + 1)
        before, after = (self._box(mark.end(1) - 1), self._box(mark.end())) if mark else (None, None)
        return mark if before and after and after[0] - before[1] > _GAP * size else None

    def _cells(self, first: int, last: int, size: float) -> Iterator[Cell]:
        """Yield the parts of a line between wide gaps, if there are any."""
        parts, start = [], first
        words, least = self._words(first, last)[1:], (_GAP - _EMPTY) * size
        if max(self._spaces[words.start : words.stop], default=0.0) <= least:
            return
        for word in (word for word in words if self._spaces[word] > least):
            before, after = self._box(self._lasts[word - 1]), self._box(self._starts[word])
            if before and after and after[0] - before[1] > _GAP * size:
                parts.append((start, self._lasts[word - 1]))
                start = self._starts[word]
        if not parts:
            return
        for begin, end in (*parts, (start, last)):
            left, right = self._box(begin), self._box(end)
            yield Cell(self._marked(begin, end, size), left[0] if left else 0.0, right[1] if right else 0.0)

    def _marked(self, first: int, last: int, size: float) -> str:
        """Return the text of characters, with the marks of raised and lowered figures."""
        text, start, gaps = "", first, self._gaps(first, last, size)
        for figures in _FIGURES.finditer(self.text, first, last + 1):
            before, after = range(figures.start() - 1, first - 1, -1), range(figures.end(), last + 1)
            # Spaces that PDFium adds have no place.
            beside = next((at for near in (before, after) for at in near[:3] if self.text[at].strip()), None)
            baseline = None if beside is None else self._origin(beside)[1]
            shifts = (self._shift(at, size, baseline) for at in range(*figures.span()))
            for shift, group in groupby(zip(shifts, figures.group(), strict=True), lambda pair: pair[0]):
                shown = "".join(figure for _, figure in group)
                text += self._spaced(start, figures.start(), gaps)
                if shift and self._stands_at(beside, figures.start(), size):
                    text = text.rstrip()
                start = figures.end()
                text += self._figures(shown, shift, text, _BODY.match(self.text, start, last + 1) is not None)
                start += bool(shift and _ADDED.match(self.text, start, last + 1))
        text += self._spaced(start, last + 1, gaps)
        if text.isascii():
            return text
        return text.replace(_COMBINED, "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _gaps(self, first: int, last: int, size: float) -> list[int]:
        """Return the letters of words that stand apart from the letter before them."""
        gaps: list[int] = []
        if self._is_turned:
            return gaps
        words, whole = self._words(first, last), self._file.whole[size]
        if whole.issuperset(self._keys[words.start : words.stop]):
            return gaps
        for word in (word for word in words if self._keys[word] not in whole):
            advances = self._advances(range(self._starts[word], self._lasts[word] + 1))
            edges = enumerate(pairwise(advances), self._starts[word] + 1)
            wide = [at for at, ((_, before), (after, _)) in edges if after - before > _WORD_GAP * size]
            wide = [at for at in wide if _WORD.match(self.text, at - 1)]
            if wide:
                gaps += wide
            else:
                whole.add(self._keys[word])
        return gaps

    def _spaced(self, start: int, end: int, gaps: list[int]) -> str:
        """Return the text of characters with a space at each gap, which PDFium takes for kerning."""
        inside = [at for at in gaps if start < at < end]
        if len(inside) * _LETTERSPACED > end - start:
            return self.text[start:end]
        return " ".join(self.text[first:last] for first, last in pairwise([start, *inside, end]))

    def _figures(self, figures: str, shift: int, before: str, begins: bool) -> str:
        """Return figures with their mark; `begins` says whether a text follows, as it does after the mark of a note."""
        if not shift or (_DECIMAL.search(before) and not self._has_note(figures)):
            return figures
        if shift < 0:
            return lowered(figures, before)
        if not before.strip():
            return f"[^{figures}] " if begins else figures
        mark = raised(figures, before)
        return mark if not mark.startswith("[") or self._has_note(figures) else f"^{figures}"

    @cached_property
    def _notes(self) -> set[str]:
        return set(_NUMBERED.findall(self.text))

    def _has_note(self, figures: str) -> bool:
        return figures in self._notes or figures in self._file.end_notes

    def _stands_at(self, letter: int | None, figure: int, size: float) -> bool:
        if letter is None or letter > figure:
            return False
        before, after = self._box(letter), self._box(figure)
        return bool(before and after and after[0] - before[1] < _NEAR * size)

    def _shift(self, at: int, size: float, baseline: float | None) -> int:
        """Return 1 for a raised character, -1 for a lowered one, else 0."""
        box = self._box(at)
        if not box or baseline is None or box[3] - box[2] > _SMALL * size:
            return 0
        return 1 if box[2] - baseline > _RISE * size else -1 if box[2] - baseline < -_FALL * size else 0


def _with_fields(page: Any, number: int, lines: list[Line]) -> list[Line]:
    """Return the lines of a page with the values of its form beside their labels, and with its typed annotations."""
    from pypdfium2 import raw as pdfium

    turned = _turning(page)
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), _TITLES)):
        annotation, box = pdfium.FPDFPage_GetAnnot(page, index), pdfium.FS_RECTF()
        try:
            pdfium.FPDFAnnot_GetRect(annotation, box)
            name, value = _entry(page, annotation)
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)
        if not value:
            continue
        x, y = zip(turned(box.left, box.bottom), turned(box.right, box.top), strict=True)
        beside = [line for line in lines if abs(line.top + line.bottom - sum(y)) < max(2 * line.size, abs(y[1] - y[0]))]
        before = [line for line in beside if line.right <= min(x) + _TOUCH]
        after = [line for line in beside if line.left >= max(x) - _TOUCH] if value in _BOXES else []
        label = min(after, key=lambda line: line.left, default=None) or max(
            before, key=lambda line: line.right, default=None
        )
        if label:
            text = f"{value} {label.text}" if after else f"{label.text} {value}"
            lines[lines.index(label)] = replace(label, text=text, cells=())
        elif value != _BOXES[0]:
            size = lines[0].size if lines else 10.0
            below = next((at for at, line in enumerate(lines) if line.baseline < min(y)), len(lines))
            text = f"{name}: {value}" if name else value
            lines.insert(below, Line(text, number, min(y), min(x), max(x), min(y), max(y), size, code=False))
    return lines


def _entry(page: Any, annotation: Any) -> tuple[str, str]:
    """Return the name and the value of a field of a form; of a typed annotation its text. Empty for others."""
    from pypdfium2 import raw as pdfium

    kind = pdfium.FPDFAnnot_GetSubtype(annotation)
    if kind == pdfium.FPDF_ANNOT_FREETEXT:
        return "", _string(pdfium.FPDFAnnot_GetStringValue, annotation, b"Contents")
    if kind != pdfium.FPDF_ANNOT_WIDGET or page.formenv is None:
        return "", ""
    form = page.formenv.raw
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    name = _string(pdfium.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
    name = name or _string(pdfium.FPDFAnnot_GetFormFieldName, form, annotation)
    if kind in (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON):
        return name, _BOXES[bool(pdfium.FPDFAnnot_IsChecked(form, annotation))]
    if kind in (pdfium.FPDF_FORMFIELD_TEXTFIELD, pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX):
        return name, _string(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation)
    return "", ""


def _string(function: Callable[..., int], *of: Any) -> str:
    """Return the text that a function of PDFium writes into a buffer, in one line."""
    from pypdfium2 import raw as pdfium

    length = min(function(*of, None, 0), _CHARACTERS)
    buffer = ctypes.create_string_buffer(length)
    function(*of, ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), length)
    return " ".join(buffer.raw.decode("utf-16-le", "replace").replace("\0", " ").split())
