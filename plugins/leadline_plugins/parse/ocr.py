"""Reading of pictures, and of pages that are pictures, by the program tesseract, if it is installed."""

from __future__ import annotations

import os
import resource
from itertools import groupby
from statistics import mean, median
from subprocess import DEVNULL, PIPE, Popen, run
from typing import Any, NamedTuple

from leadline.errors import Unsupported
from leadline_plugins.parse.media import PICTURES, content_type
from leadline_plugins.parse.pdf_blocks import Cell, Line, Page, Pdf

# Pixels per point: 300 a inch. A page has at most as many pixels as A3 has.
_SCALE, _MOST_PIXELS = 300 / 72, 18_000_000
# Seconds of processor time for a page.
_SECONDS = 30
# Pages of a TIFF that are counted, and the height that a page of a picture is taken to have, in points.
_PAGES, _HEIGHT = 5_000, 842.0
# Mean confidence, of 100, below which a page is no text: a photograph, a hand.
_CONFIDENT = 50
# Multiple of the height of a line from which a gap separates cells.
_GAP = 1.2
# Names of models that recognize no text.
_NO_TEXT = {"osd", "equ"}


class _Word(NamedTuple):
    """A word, and its box in pixels from the upper left corner."""

    line: tuple[str, ...]
    left: int
    top: int
    right: int
    bottom: int
    confidence: float
    text: str


def pages_of(name: str, data: bytes) -> Pdf:
    """Return the pages of a picture, which are not read yet. Raises `Unsupported` for other data."""
    # What is no picture, tesseract takes for a list of files to read.
    if content_type(data) not in PICTURES:
        raise Unsupported(f"{name}: not a readable picture")
    pages = range(_count(data))
    return Pdf("", [Page([], _HEIGHT) for _ in pages], [], pages)


def _count(data: bytes) -> int:
    """Return the number of pages of a picture; only a TIFF has more than one."""
    if content_type(data) != "image/tiff":
        return 1

    def number(offset: int, size: int) -> int:
        return int.from_bytes(data[offset : offset + size], "little" if data.startswith(b"II") else "big")

    # A directory for each page: how many entries it has, these, and the offset of the next one.
    count, offset = 0, number(4, 4)
    while 0 < offset < len(data) and count < _PAGES:
        count, offset = count + 1, number(offset + 2 + 12 * number(offset, 2), 4)
    return max(1, count)


def recognized_picture(data: bytes, number: int, program: str) -> list[Line]:
    """Return the lines of a page of a picture; none if it shows no text. Raises OSError if no program runs."""
    return _lines(program, data, number, _HEIGHT, index=number)


def recognized(page: Any, number: int, program: str) -> list[Line]:
    """Return the lines of a rendered page of PDFium; none if it shows no text. Raises OSError if no program runs."""
    width, height = page.get_size()
    scale = min(_SCALE, (_MOST_PIXELS / max(1, width * height)) ** 0.5)
    bitmap = page.render(scale=scale, grayscale=True)
    picture = b"P5 %d %d 255\n" % (bitmap.stride, bitmap.height) + bytes(bitmap.buffer)
    return _lines(program, picture, number, height)


def _lines(program: str, picture: bytes, number: int, height: float, index: int = 0) -> list[Line]:
    """Return the lines of a page of a file; `height` is its height in points, `index` its number in the picture."""
    rows = _table(program, picture, index)
    words = [_word(row) for row in rows if row[0] == "5" and row[-1].strip()]
    if not words or mean(word.confidence for word in words) < _CONFIDENT:
        return []
    scale = int(rows[0][9]) / height
    lines = [list(line) for _, line in groupby(words, lambda word: word.line)]
    heights = [max(word.bottom for word in line) - min(word.top for word in line) for line in lines]
    return [_line(line, number, height, scale, round(median(heights) / scale, 1)) for line in lines]


def _table(program: str, picture: bytes, number: int) -> list[list[str]]:
    """Return what tesseract reads on a page of a picture, in all languages that are installed for it."""
    listed = run([program, "--list-langs"], stdout=PIPE, check=False).stdout.decode()  # noqa: S603 - of the user's PATH
    languages = "+".join(name for name in listed.splitlines()[1:] if name not in _NO_TEXT) or "eng"
    command = [program, "stdin", "stdout", "-l", languages, "-c", f"tessedit_page_number={number}", "tsv"]
    # One thread: the limit of processor time counts all. The limit of memory is that of the worker.
    environment = os.environ | {"OMP_THREAD_LIMIT": "1"}
    with Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment) as process:  # noqa: S603
        if hasattr(resource, "prlimit"):
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
        table = process.communicate(picture)[0].decode("utf-8", "replace")
    return [row for line in table.splitlines()[1:] if len(row := line.split("\t")) == 12]


def _word(row: list[str]) -> _Word:
    _, _, *line, _, left, top, width, height, confidence, text = row
    x, y = int(left), int(top)
    return _Word(tuple(line), x, y, x + int(width), y + int(height), float(confidence), text.strip())


def _line(row: list[_Word], page: int, height: float, scale: float, size: float) -> Line:
    cells = [[row[0]]]
    for word in row[1:]:
        if word.left - cells[-1][-1].right > _GAP * size * scale:
            cells.append([])
        cells[-1].append(word)
    parts = [Cell(" ".join(word.text for word in cell), cell[0].left / scale, cell[-1].right / scale) for cell in cells]
    bottom = height - max(word.bottom for word in row) / scale
    return Line(
        text=" ".join(word.text for word in row),
        page=page,
        baseline=bottom,
        left=row[0].left / scale,
        right=row[-1].right / scale,
        bottom=bottom,
        top=height - min(word.top for word in row) / scale,
        size=size,
        code=False,
        cells=tuple(parts) if len(parts) > 1 else (),
    )
