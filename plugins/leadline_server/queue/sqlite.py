"""A database in a SQLite file."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from leadline.files import private_file
from leadline_server.queue.database import Cursor
from leadline_server.queue.records import unavailable

T = TypeVar("T")
# Seconds that a transaction waits for another one.
_PATIENCE = 10.0
# Seconds between two looks for a commit of somebody else.
_INTERVAL = 0.05


class _Transaction:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __call__(self, statement: str, *values: Any) -> int:
        return self._connection.execute(statement, values).rowcount

    def rows(self, statement: str, *values: Any) -> list[Sequence[Any]]:
        return self._connection.execute(statement, values).fetchall()


class SqliteDatabase:
    """A file: a connection that writes, one that reads without waiting for writers, and one that watches."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writing, self._reading, self._watching = threading.Lock(), threading.Lock(), threading.Lock()
        self._lasting = False
        self._closed = threading.Event()
        try:
            private_file(path)
            self._writer, self._reader, self._watcher = _connect(path), _connect(path), _connect(path)
        except (OSError, sqlite3.Error) as error:
            raise unavailable(path, error) from error
        self._version = self._changes = -1

    def write(self, work: Callable[[Cursor], T], *, lasting: bool = False, silent: bool = False) -> T:
        with self._writing:
            try:
                if lasting != self._lasting:
                    self._writer.execute(f"PRAGMA synchronous = {'FULL' if lasting else 'NORMAL'}")
                    self._lasting = lasting
                self._writer.execute("BEGIN IMMEDIATE")
                try:
                    result = work(_Transaction(self._writer))
                    if not silent:
                        self._writer.execute("UPDATE leadline_queue SET changes = changes + 1")
                    self._writer.execute("COMMIT")
                except BaseException:
                    self._writer.rollback()
                    raise
            except sqlite3.Error as error:
                raise unavailable(self._path, error) from error
            return result

    def read(self, statement: str, *values: Any) -> list[Sequence[Any]]:
        with self._reading:
            try:
                return self._reader.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise unavailable(self._path, error) from error

    def now(self) -> float:
        """Return the time of this machine, which all its processes share."""
        return time.time()

    def wait(self, seconds: float) -> None:
        """Look for a commit until there is one."""
        end = time.monotonic() + seconds
        with self._watching:
            while not self._closed.is_set():
                version, changes = self._state()
                if changes != self._changes:
                    self._changes = changes
                    return
                self._version = version
                left = end - time.monotonic()
                if left <= 0:
                    return
                self._closed.wait(min(_INTERVAL, left))

    def _state(self) -> tuple[int, int]:
        """Return a number that changes with every commit, and the number of those that were not silent."""
        try:
            version = int(self._watcher.execute("PRAGMA data_version").fetchone()[0])
            if version == self._version:
                return version, self._changes
            rows = self._watcher.execute("SELECT changes FROM leadline_queue").fetchall()
            return version, int(rows[0][0]) if rows else 0
        except sqlite3.Error as error:
            raise unavailable(self._path, error) from error

    def close(self) -> None:
        """Close the connections; a thread that waits returns."""
        self._closed.set()
        with self._watching, self._reading, self._writing:
            for connection in (self._watcher, self._reader, self._writer):
                connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA secure_delete = ON")  # what an erased user leaves
    return connection
