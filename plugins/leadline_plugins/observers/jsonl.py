"""Observer `jsonl`: writes the events of a run to `events.jsonl` in its folder, one JSON object per line.

Streamed deltas are omitted, because the whole reply follows and they would be most of the file. A text of more than
10 KB goes to the files `segment_001.md`, … beside the log; the event keeps its beginning and the list of its segments.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from weakref import finalize

from pydantic_core import PydanticSerializationError

from leadline.files import private_file
from leadline.plugin import observer
from leadline.records import Event

EVENTS = "events.jsonl"
# Bytes of UTF-8 in a segment; a longer text is split.
SEGMENT = 10 * 1024
# Characters of a split text that stay in its event.
BEGINNING = 200
# Seconds for which lines are collected before they are written.
GATHERED = 0.05
_BLOCK = 64 * 1024


@observer("Writes every event of a run to events.jsonl")
class JsonLines:
    """Keeps the file of each run open from its start to its end; a replay is not written."""

    deltas = False

    def __init__(self) -> None:
        self._logs: dict[str, Log] = {}

    async def observe(self, event: Event, /) -> None:
        """Append an event; events before `run.started` have no folder yet and are not written."""
        if event.kind == "run.started" and not event.data.get("replay"):
            self._logs[event.run_id] = Log(Path(str(event.data["folder"])))
        log = self._logs.get(event.run_id)
        if log is None:
            return
        try:
            log.append(event)
            if event.kind == "run.finished":
                log.write()
        except OSError:
            # A full disk is reported once and leaves no open file; the next session removes the incomplete line.
            with suppress(OSError):
                log.write()  # earlier lines may still fit
            self._logs.pop(event.run_id).close()
            raise
        if event.kind == "run.finished":
            self._logs.pop(event.run_id).close()


class Log:
    """The log of one run, open for appending after its last complete line.

    Events within a twentieth of a second are one unbuffered write, so that a kill loses no more than these. Every write
    releases the interpreter lock, which many runs compete for. If a program ends before its run, the rest is written at
    its exit.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._segments = sum(1 for _ in folder.glob("segment_*.md"))
        path = folder / EVENTS
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
        os.ftruncate(self._file, end_of_last_line(self._file))
        self._waiting: list[bytes] = []
        self._failed: OSError | None = None
        self._end = finalize(self, _end, self._file, self._waiting, os.getpid())

    def append(self, event: Event) -> None:
        """Add a line, with long texts as segments. Raises the error of an earlier write that failed."""
        if self._failed:
            raise self._failed
        if not self._waiting:
            asyncio.get_running_loop().call_later(GATHERED, self._write_soon)
        self._waiting.append(_short_line(event) or self._line(event))

    def write(self) -> None:
        """Write the lines that were added."""
        lines = b"".join(self._waiting)
        self._waiting.clear()
        _write(self._file, lines)

    def _write_soon(self) -> None:
        try:
            self.write()
        except OSError as error:
            self._failed = error

    def _line(self, event: Event) -> bytes:
        data = event.model_dump(mode="json")
        data["data"] = self._short(data["data"])
        return (json.dumps(data, ensure_ascii=False) + "\n").encode("utf-8", "replace")

    def close(self) -> None:
        """Close the file and drop unwritten lines."""
        self._waiting.clear()
        self._end()

    def _short(self, value: Any) -> Any:
        """Return JSON data whose long texts are replaced by their beginning and the list of their segments."""
        if isinstance(value, dict):
            return {key: self._short(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._short(item) for item in value]
        if not isinstance(value, str) or len(value) * 4 <= SEGMENT or len(data := _bytes(value)) <= SEGMENT:
            return value
        return {"beginning": value[:BEGINNING], "segments": [self._segment(part) for part in split(data)]}

    def _segment(self, part: bytes) -> dict[str, Any]:
        self._segments += 1
        name = f"segment_{self._segments:03}.md"
        private_file(self._folder / name).write_bytes(part)
        return {"file": name, "sha256": sha256(part).hexdigest(), "bytes": len(part)}


def _write(file: int, lines: bytes) -> None:
    while lines:
        lines = lines[os.write(file, lines) :]


def _end(file: int, waiting: Sequence[bytes], owner: int) -> None:
    """Write the waiting lines and close the file; in a forked child only the parent writes."""
    with suppress(OSError):
        _write(file, b"".join(waiting) if os.getpid() == owner else b"")
    os.close(file)


def _short_line(event: Event) -> bytes | None:
    """Return the line of an event without long text, as most are, in a sixth of the time."""
    try:
        line = event.model_dump_json().encode()
    except (PydanticSerializationError, UnicodeEncodeError):  # a lone surrogate
        return None
    return line + b"\n" if len(line) <= SEGMENT else None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def split(data: bytes) -> Iterator[bytes]:
    """Yield UTF-8 in parts of at most `SEGMENT` bytes, split after a line that ends in the second half."""
    while len(data) > SEGMENT:
        cut = data.rfind(b"\n", SEGMENT // 2, SEGMENT) + 1 or _character(data, SEGMENT)
        yield data[:cut]
        data = data[cut:]
    yield data


def _character(data: bytes, cut: int) -> int:
    """Return the last position up to `cut` where a character begins."""
    while data[cut] & 0xC0 == 0x80:
        cut -= 1
    return cut


def end_of_last_line(file: int) -> int:
    """Return the end of the last complete line of an open file; a crash may leave an incomplete one after it."""
    end = os.fstat(file).st_size
    while end:
        start = max(0, end - _BLOCK)
        os.lseek(file, start, os.SEEK_SET)
        newline = os.read(file, end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
