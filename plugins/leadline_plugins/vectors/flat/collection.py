"""One collection of vectors: a matrix of bytes in a file, and an SQLite table of the rows of each document.

Rows are only appended. A document is replaced by new rows and one transaction, which also excludes other writers; a
crash before it leaves rows that nothing names and the next writer overwrites. If most rows are unused, the others are
copied to a new file; searches go on in the old one.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from leadline.errors import Denied, Unsupported
from leadline.files import check_database, has_layout, private_file

_SCHEMA = """
CREATE TABLE IF NOT EXISTS state (version INTEGER NOT NULL, file INTEGER NOT NULL, rows INTEGER NOT NULL,
    size INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS documents (document TEXT PRIMARY KEY, start INTEGER NOT NULL, count INTEGER NOT NULL)
    WITHOUT ROWID;
INSERT INTO state SELECT 0, 0, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM state);
"""
# The largest number of a signed byte.
_LARGEST = 127
# Unused rows from which it is worth to copy the others.
_UNUSED = 1_000
# Bytes to copy at a time.
_CHUNK = 1 << 22


def as_bytes(vector: Sequence[float]) -> bytes:
    """Return a vector with one signed byte a number; its length is lost, its direction is kept."""
    largest = max(map(abs, vector), default=0.0)
    factor = _LARGEST / largest if largest else 0.0
    return array("b", [round(number * factor) if number else 0 for number in vector]).tobytes()


@dataclass(frozen=True)
class _State:
    version: int
    # The number in the name of the file.
    file: int
    rows: int
    size: int


@dataclass(frozen=True)
class _Snapshot:
    """The matrix as of one version; `starts` are the first rows of the documents, ascending."""

    state: _State
    matrix: mmap
    starts: Sequence[int]
    counts: Sequence[int]
    documents: Sequence[str]

    def nearest(self, vector: Sequence[float], limit: int) -> list[tuple[str, int, float]]:
        import simsimd

        size = self.state.size
        asked = as_bytes(vector)
        if not any(asked):
            return []
        with (
            memoryview(self.matrix) as flat,
            flat[: self.state.rows * size].cast("b", shape=[self.state.rows, size]) as rows,
            memoryview(asked).cast("b", shape=[1, size]) as query,
        ):
            computed: Any = simsimd.cdist(query, rows, metric="cosine")
            distances = memoryview(computed).cast("B").cast("d")
        live = chain.from_iterable(
            range(start, start + count) for start, count in zip(self.starts, self.counts, strict=True)
        )
        return [self._match(row, 1 - distances[row]) for row in nsmallest(limit, live, key=distances.__getitem__)]

    def _match(self, row: int, score: float) -> tuple[str, int, float]:
        index = bisect_right(self.starts, row) - 1
        return self.documents[index], row - self.starts[index], score


class Collection:
    """Reads and writes one collection; safe in any thread."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder
        self._snapshot: _Snapshot | None = None
        self._loading = threading.Lock()

    def put(self, documents: Mapping[str, Sequence[Sequence[float]]]) -> int:
        """Store the vectors of documents, and return their number."""
        sizes = {len(vector) for vectors in documents.values() for vector in vectors}
        if len(sizes) > 1 or 0 in sizes:
            raise Unsupported(f"the vectors have different sizes: {sorted(sizes)}")
        data = {document: b"".join(map(as_bytes, vectors)) for document, vectors in documents.items()}
        size = next(iter(sizes), 0)
        with self._writing() as (db, state):
            self._check(state.size, size)
            size = state.size or size
            end = state.rows
            # Without a document that has passages there is no file yet.
            with private_file(self._file(state)).open("r+b") as file:
                file.seek(end * size)
                for document, rows in data.items():
                    file.write(rows)
                    count = len(rows) // size if size else 0
                    db.execute("INSERT OR REPLACE INTO documents VALUES (?, ?, ?)", (document, end, count))
                    end += count
                file.flush()
                os.fsync(file.fileno())
            self._set(db, _State(state.version + 1, state.file, end, size))
        return end - state.rows

    def remove(self, documents: Sequence[str] | None) -> int:
        """Remove documents, or all, and return the number of their passages."""
        if not self._exists():
            return 0
        with self._writing() as (db, state):
            before = _live_rows(db)
            if documents is None:
                db.execute("DELETE FROM documents")
                state = _State(state.version, state.file + 1, 0, 0)
            else:
                db.executemany("DELETE FROM documents WHERE document = ?", [(document,) for document in documents])
            self._set(db, _State(state.version + 1, state.file, state.rows, state.size))
            return before - _live_rows(db)

    def contents(self) -> tuple[dict[str, int], int]:
        """Return the number of passages by document, and the size of the vectors."""
        if not self._exists():
            return {}, 0
        with self._connection() as db:
            documents = dict(db.execute("SELECT document, count FROM documents ORDER BY document"))
            return documents, _state(db).size

    def nearest(self, vector: Sequence[float], limit: int) -> list[tuple[str, int, float]]:
        """Return document, place and cosine of the nearest passages, best first."""
        snapshot = self._current()
        if snapshot is None:
            return []
        self._check(snapshot.state.size, len(vector))
        return snapshot.nearest(vector, limit)

    def _check(self, known: int, size: int) -> None:
        if known and size and known != size:
            raise Unsupported(
                f"the vectors of this collection have {known} numbers, not {size}: another model made them"
            )

    # --- files -------------------------------------------------------------------------------------------------------

    def _exists(self) -> bool:
        return (self._folder / "rows.sqlite").is_file()

    def _file(self, state: _State) -> Path:
        return self._folder / f"vectors-{state.file}.i8"

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        path = self._folder / "rows.sqlite"
        check_database(path)
        private_file(path)
        with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as db:
            if db.execute("PRAGMA user_version").fetchone()[0] == 0:
                db.execute("PRAGMA journal_mode=WAL")
                db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = 1; COMMIT;")
            if not has_layout(db, _SCHEMA):
                raise sqlite3.DatabaseError(f"{path} has tables that Leadline does not make")
            yield db

    @contextmanager
    def _writing(self) -> Iterator[tuple[sqlite3.Connection, _State]]:
        """Provide a transaction, which excludes other writers, and the state before it."""
        with self._connection() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db, (before := _state(db))
                self._compact(db)
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")
            if _state(db).file != before.file:
                self._file(before).unlink(missing_ok=True)

    def _set(self, db: sqlite3.Connection, state: _State) -> None:
        db.execute(
            "UPDATE state SET version = ?, file = ?, rows = ?, size = ?",
            (state.version, state.file, state.rows, state.size),
        )

    def _compact(self, db: sqlite3.Connection) -> None:
        """Copy the live rows to a new file if most rows are unused."""
        state, live = _state(db), _live_rows(db)
        if state.rows - live < max(_UNUSED, live):
            return
        after = _State(state.version, state.file + 1, live, state.size)
        end = 0
        with self._file(state).open("rb") as old, private_file(self._file(after)).open("wb") as new:
            for document, start, count in db.execute("SELECT * FROM documents ORDER BY start").fetchall():
                old.seek(start * state.size)
                left = count * state.size
                while left and (chunk := old.read(min(left, _CHUNK))):
                    new.write(chunk)
                    left -= len(chunk)
                db.execute("UPDATE documents SET start = ? WHERE document = ?", (end, document))
                end += count
            new.flush()
            os.fsync(new.fileno())
        self._set(db, after)

    def _current(self) -> _Snapshot | None:
        """Return the matrix as of now; None without vectors."""
        if not self._exists():
            return None
        with self._connection() as db, self._loading:
            db.execute("BEGIN")
            state = _state(db)
            if self._snapshot is None or self._snapshot.state != state:
                self._snapshot = self._load(db, state) if state.rows else None
            return self._snapshot

    def _load(self, db: sqlite3.Connection, state: _State) -> _Snapshot:
        rows = db.execute("SELECT start, count, document FROM documents WHERE count > 0 ORDER BY start").fetchall()
        with self._file(state).open("rb") as file:
            if os.fstat(file.fileno()).st_size < state.rows * state.size:
                raise Denied(f"{self._file(state)} is damaged: its end is missing")
            matrix = mmap(file.fileno(), 0, access=ACCESS_READ)
        return _Snapshot(state, matrix, *([row[index] for row in rows] for index in range(3)))


def _state(db: sqlite3.Connection) -> _State:
    return _State(*db.execute("SELECT version, file, rows, size FROM state").fetchone())


def _live_rows(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT COALESCE(SUM(count), 0) FROM documents").fetchone()[0])
