"""Output of the command line: results to standard output, everything else to standard error.

A reader that goes away (`| head -1`), a closed stream and a full disk change neither the run nor its exit code.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, TextIO

from leadline.display import one_line, visible
from leadline.display import plural as plural
from leadline.errors import LeadlineError

# The exit code after a signal.
INTERRUPTED = 130
_lost_output = False


def prepare() -> None:
    """Open closed streams on the null device, and allow any text: characters outside the encoding become `?`.

    A closed one must be opened before anything else is: the next file, such as a journal, would take its number.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            with suppress(OSError):  # so that children have the stream, too
                _put_null(number)
            mode = "w" if number else "r"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - until the end
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def keep_warnings_visible() -> None:
    """Show warnings on one line and without control characters: names of files and pages may contain them."""
    import logging

    class SafeFormatter(logging.Formatter):
        def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the method of the base class
            whose = f"{record.name}: " if record.name.startswith("leadline.plugins.") else ""
            return one_line(f"{whose}{super().formatMessage(record)}")

        def format(self, record: logging.LogRecord) -> str:
            return visible(super().format(record))

    if logging.lastResort:  # the handler of warnings where the program sets up none
        logging.lastResort.setFormatter(SafeFormatter())
        if debugging():
            logging.lastResort.setLevel(logging.INFO)
            logging.getLogger("leadline.plugins").setLevel(logging.INFO)


def lost_output() -> bool:
    """Return whether results could not be written, as on a full disk."""
    return _lost_output


def write(text: str) -> None:
    """Print to standard output."""
    _put(sys.stdout, text)


def say(text: str) -> None:
    """Print to standard error."""
    _put(sys.stderr, text)


def write_json(data: Any) -> None:
    """Print data as JSON."""
    write(json.dumps(data, ensure_ascii=False, indent=1, default=str))


def finish() -> None:
    """Flush; for a reader that has gone away, prevent another attempt at interpreter exit."""
    for stream in (sys.stdout, sys.stderr):
        _flush(stream)


def _put(stream: TextIO, text: str) -> None:
    try:
        print(visible(text), file=stream)
    except OSError as error:
        _silence(stream, error)
    _flush(stream)


def _flush(stream: TextIO) -> None:
    try:
        stream.flush()
    except OSError as error:
        _silence(stream, error)


def _silence(stream: TextIO, error: OSError) -> None:
    """Drop this and all further output; report it unless the reader has gone away."""
    global _lost_output
    _put_null(stream.fileno())
    if stream is sys.stdout and not isinstance(error, BrokenPipeError):
        _lost_output = True
        say(f"leadline: cannot write to standard output: {error.strerror or error}")


def _put_null(number: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    if null == number:
        os.set_inheritable(number, True)  # for worker processes
    else:
        os.dup2(null, number)
        os.close(null)


# Minimum width of a last column.
_NARROWEST = 10

# --- in columns ------------------------------------------------------------------------------------------------------


def table(rows: Iterable[Sequence[object]], headers: Sequence[str] = (), *, indent: str = "") -> str:
    """Return rows in aligned columns. On a terminal, the last column is cut at its edge."""
    from rich.cells import cell_len, set_cell_size

    lines = [[one_line(cell) for cell in row] for row in ([headers, *rows] if headers else rows)]
    widths = [max(map(cell_len, column)) + 2 for column in zip(*lines, strict=True)][:-1]
    room = columns() - len(indent) - sum(widths) if sys.stdout.isatty() else None

    def joined(line: list[str]) -> str:
        begin = "".join(set_cell_size(cell, width) for cell, width in zip(line, widths, strict=False))
        return (indent + begin + (line[-1] if room is None else cut(line[-1], max(_NARROWEST, room)))).rstrip()

    return "\n".join(map(joined, lines))


def cut(text: str, cells: int) -> str:
    """Shorten text to a number of terminal cells, with `…` at the end."""
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= cells else set_cell_size(text, cells - 1).rstrip() + "…"


def columns() -> int:
    """Return the width of the terminal in cells."""
    return shutil.get_terminal_size().columns


# Chinese and Japanese characters, between which a line may break. Korean uses spaces.
_EAST = (
    "\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff60\uffe0-\uffe6"
    "\U00020000-\U0003fffd"
)
_OPENS = "（【「『《〈〔［｛“‘(\\["
_CLOSES = "、。，．：；！？）】」』》〉〕］｝”’…‥—～ー々・ぁぃぅぇぉっゃゅょァィゥェォッャュョ％),.;:!?%\\]"
_PIECE = re.compile(
    rf"(?P<space>\s*)(?P<piece>[{_OPENS}]{{0,4}}(?:(?![{_CLOSES}])[{_EAST}]|[^\s{_EAST}]+)[{_CLOSES}]*|[{_EAST}])"
)


def wrapped(text: str, cells: int) -> list[str]:
    """Wrap a text to lines of at most `cells` terminal cells; long addresses stay whole. Returns at least one line.

    Lines break at spaces and between Chinese or Japanese characters, but not before closing or after opening marks.
    """
    from rich.cells import cell_len, chop_cells

    lines, width = [""], 0
    for match in _PIECE.finditer(text):
        piece = match["piece"]
        space = " " if match["space"] and lines[-1] else ""
        parts = [piece] if piece.isascii() or cell_len(piece) <= cells else chop_cells(piece, cells)
        if lines[-1] and width + len(space) + cell_len(parts[0]) > cells:
            lines.append("")
            space, width = "", 0
        lines[-1] += space + parts[0]
        width += len(space) + cell_len(parts[0])
        for part in parts[1:]:
            lines.append(part)
            width = cell_len(part)
    return lines


def debugging() -> bool:
    """Return whether tracebacks are requested, in the environment or in `.env`."""
    from pathlib import Path

    from leadline._settings.layers import DEBUG_VARIABLE
    from leadline._settings.sources import read_dotenv

    if DEBUG_VARIABLE in os.environ:
        return bool(os.environ[DEBUG_VARIABLE])
    try:
        return bool(read_dotenv(Path(".env")).get(DEBUG_VARIABLE))
    except LeadlineError:  # the unreadable file was already reported, or is not needed
        return False
