"""The file of a journal: locked and made room for where it is written, copied where it is only read."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Literal

from leadline.errors import JournalError
from leadline.journal.storage_errors import explain
from leadline.runs.lock import FolderLock

Mode = Literal["write", "read"]
ROOM = 8 * 2**20
"""Bytes that must be free on the disk at the start."""
VERSION = 1
"""Of the file's layout."""
# Blobs have row ids, so that a new one goes to the end of the file; in a tree by digest each would tear another page.
_LAYOUT = """
create table entries (space text, name text, value text, mark text, primary key (space, name)) without rowid;
create table blobs (digest text primary key, data blob);
"""


class JournalFile:
    """One SQLite file; opened and closed on the thread that uses it. With `mode` "read" its folder is left alone."""

    def __init__(self, path: Path, mode: Mode) -> None:
        self.path = path
        self.mode = mode
        self.connection: sqlite3.Connection | None = None
        """None while it is not open."""
        self._lock: FolderLock | None = None
        self._copy: tempfile.TemporaryDirectory[str] | None = None

    def open(self) -> None:
        """Lock, check and open it. Raises JournalError, JournalBusy where another process is at it."""
        try:
            path = self._prepare() if self.mode == "write" else self._copied()
            self.connection = sqlite3.connect(path, isolation_level=None)
            # A flipped bit may leave text that is no UTF-8: that is for the marks to notice, row by row.
            self.connection.text_factory = lambda data: data.decode("utf-8", "replace")
            self._layout(self.connection)
        except (sqlite3.Error, OSError) as error:
            raise explain(error, self.path) from error

    def close(self) -> None:
        """Close it, and let others have it; a second time does nothing."""
        try:
            if self.connection:
                self.connection.close()
        finally:
            self.connection = None
            if self._lock:
                self._lock.release()
            if self._copy:
                self._copy.cleanup()

    def _prepare(self) -> Path:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FolderLock(self.path.with_name(self.path.name + ".lock"))
        stats = os.statvfs(self.path.parent)
        free = stats.f_bavail * stats.f_frsize
        if free < ROOM:
            raise JournalError(
                f"the disk of {self.path.parent} is full: {free / 2**20:.1f} MB free, {ROOM / 2**20:.0f} MB needed to "
                "begin; make room, or choose another folder with --set runs.folder=DIR"
            )
        return self.path

    def _copied(self) -> Path:
        # A reader of a WAL makes files beside it, so it reads a copy. The main file is written only when its owner
        # closes it (no checkpoints in between): the main file first, then the WAL, is a consistent state.
        if not self.path.exists():
            raise JournalError(f"no journal at {self.path}; `leadline runs list` shows the runs")
        self._copy = tempfile.TemporaryDirectory(prefix="leadline-")
        target = Path(self._copy.name) / self.path.name
        while True:
            before = self.path.stat()
            shutil.copyfile(self.path, target)
            wal = self.path.with_name(self.path.name + "-wal")
            if wal.exists():
                shutil.copyfile(wal, target.with_name(wal.name))
            after = self.path.stat()
            if (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size):
                return target

    def _layout(self, connection: sqlite3.Connection) -> None:
        connection.execute("pragma journal_mode=wal")
        connection.execute("pragma wal_autocheckpoint=0")  # see `_copied`
        version = connection.execute("pragma user_version").fetchone()[0]
        if version > VERSION:
            raise JournalError(f"{self.path} was written by a newer Leadline (layout {version}); update leadline")
        if version == 0:
            connection.executescript(f"begin; {_LAYOUT} pragma user_version={VERSION}; commit;")
