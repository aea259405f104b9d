"""Which files the index holds, in which state: SQLite beside the full-text index.

A file is noted as `pending` before the full-text index learns of it, and as done after that has committed: whoever is
killed in between leaves a pending row, and the next run indexes that file again, or takes it out.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from leadline_plugins.search.local.folders import File

_SCHEMA = """CREATE TABLE IF NOT EXISTS files (
    path BLOB PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    digest BLOB NOT NULL, seen_ns INTEGER NOT NULL, problem TEXT NOT NULL, pending INTEGER NOT NULL
) WITHOUT ROWID"""
_TICK_NS = 2_000_000_000
"""The coarsest clock of a file system (FAT): a file changed that shortly before it was read may change unseen."""


@dataclass(frozen=True)
class Problem:
    """A file that is not in the index, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class Entry:
    """A file as the index has it; `digest` of its bytes, empty where they were not read."""

    file: File
    digest: bytes
    problem: str = ""


@dataclass(frozen=True)
class Changes:
    """What a walk found to be done: files to read, with the digest last seen, and paths that are gone."""

    read: Sequence[tuple[File, bytes]]
    gone: Sequence[str]


class Row(NamedTuple):
    """What is known of a file; the digest of its bytes is empty where they were not read."""

    size: int
    mtime_ns: int
    digest: bytes
    seen_ns: int
    problem: str
    pending: int


class Manifest:
    """The table of files; to be used by the holder of the write lock, or to read problems."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, check_same_thread=False, timeout=30)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.execute(_SCHEMA)
        if (found := self._db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(found)

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def compare(self, found: dict[str, File]) -> Changes:
        """Compare a walk with what is known; raises `sqlite3.DatabaseError` where that makes no sense."""
        rows = self._db.execute("SELECT path, size, mtime_ns, digest, seen_ns, problem, pending FROM files")
        try:
            known = {os.fsdecode(path): Row(*row) for path, *row in rows}
            read = [(file, _digest(known.get(path))) for path, file in found.items() if _stale(file, known.get(path))]
        except TypeError as error:  # a flipped bit in a row's header makes a number of a text
            raise sqlite3.DatabaseError(f"a row is damaged: {error}") from error
        return Changes(read, [path for path in known if path not in found])

    def expect(self, files: Iterable[File]) -> None:
        """Note, before the full-text index is touched, that these files are being worked on."""
        with self._db:
            self._db.executemany(
                "INSERT INTO files VALUES (?, -1, -1, x'', 0, '', 1) ON CONFLICT DO UPDATE SET pending = 1",
                [(os.fsencode(file.path),) for file in files],
            )

    def done(self, entries: Iterable[Entry], seen_ns: int) -> None:
        """Note, after the full-text index has committed, what it holds now; `seen_ns` is when the walk began."""
        with self._db:
            self._db.executemany(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, 0)", [_row(entry, seen_ns) for entry in entries]
            )

    def forget(self, paths: Iterable[str]) -> None:
        """Drop files that the full-text index no longer holds."""
        with self._db:
            self._db.executemany("DELETE FROM files WHERE path = ?", [(os.fsencode(path),) for path in paths])

    def unfinished(self) -> bool:
        """Return whether an update was killed between its two commits."""
        return self._db.execute("SELECT 1 FROM files WHERE pending LIMIT 1").fetchone() is not None

    def problems(self) -> tuple[Problem, ...]:
        """Return the files that could not be read, in the order of their paths."""
        rows = self._db.execute("SELECT path, problem FROM files WHERE problem != '' ORDER BY path")
        return tuple(Problem(os.fsdecode(path), reason) for path, reason in rows)

    def count(self) -> int:
        """Return the number of files that are in the index, or on their way into it."""
        return int(self._db.execute("SELECT COUNT(*) FROM files WHERE problem = ''").fetchone()[0])


def digest(data: bytes) -> bytes:
    """Return what tells contents apart."""
    return blake2b(data, digest_size=16).digest()


def _digest(row: Row | None) -> bytes:
    return b"" if row is None or row.pending or row.problem else row.digest


def _stale(file: File, row: Row | None) -> bool:
    if row is None or row.pending or (row.size, row.mtime_ns) != (file.size, file.mtime_ns):
        return True
    if file.problem or (row.problem and not row.digest):  # not for its bytes: look whether that still holds
        return file.problem != row.problem
    return row.seen_ns - file.mtime_ns <= _TICK_NS


def _row(entry: Entry, seen_ns: int) -> tuple[object, ...]:
    file = entry.file
    return os.fsencode(file.path), file.size, file.mtime_ns, entry.digest, seen_ns, entry.problem
