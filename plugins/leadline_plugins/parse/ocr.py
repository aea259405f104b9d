"""Reading of pages that are pictures, by the program tesseract, if it is installed."""

from __future__ import annotations

import os
import resource
from itertools import groupby
from statistics import mean, median
from subprocess import PIPE, Popen, run
from typing import Any, NamedTuple

from leadline_plugins.parse.pdf_blocks import Cell, Line

PROGRAM = "tesseract"
# Pixels per point: 300 a inch. A page has at most as many pixels as A3 has.
_SCALE, _MOST_PIXELS = 300 / 72, 18_000_000
# Seconds of processor time for a page.
_SECONDS = 30
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


def recognized(page: Any, number: int, program: str) -> list[Line]:
    """Return the lines of a rendered page of PDFium; none if it shows no text. Raises OSError if no program runs."""
    width, height = page.get_size()
    scale = min(_SCALE, (_MOST_PIXELS / max(1, width * height)) ** 0.5)
    bitmap = page.render(scale=scale, grayscale=True)
    words = _words(program, b"P5 %d %d 255\n" % (bitmap.stride, bitmap.height) + bytes(bitmap.buffer))
    if not words or mean(word.confidence for word in words) < _CONFIDENT:
        return []
    rows = [list(row) for _, row in groupby(words, lambda word: word.line)]
    size = round(median(max(word.bottom for word in row) - min(word.top for word in row) for row in rows) / scale, 1)
    return [_line(row, number, height, scale, size) for row in rows]


def _words(program: str, picture: bytes) -> list[_Word]:
    """Return what tesseract reads in a picture, in all languages that are installed for it."""
    listed = run([program, "--list-langs"], stdout=PIPE, check=False).stdout.decode()  # noqa: S603 - of the user's PATH
    languages = [name for name in listed.splitlines()[1:] if name not in _NO_TEXT]
    command = [program, "stdin", "stdout", "-l", "+".join(languages) or "eng", "tsv"]
    # One thread: the limit of processor time counts all. The limit of memory is that of the worker.
    with Popen(command, stdin=PIPE, stdout=PIPE, env=os.environ | {"OMP_THREAD_LIMIT": "1"}) as process:  # noqa: S603
        if hasattr(resource, "prlimit"):
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
        table = process.communicate(picture)[0].decode("utf-8", "replace")
    rows = [row for line in table.splitlines() if len(row := line.split("\t")) == 12 and row[0] == "5"]
    words = []
    for _, _, *line, _, left, top, width, height, confidence, text in rows:
        if text.strip():
            x, y = int(left), int(top)
            words.append(_Word(tuple(line), x, y, x + int(width), y + int(height), float(confidence), text.strip()))
    return words


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
