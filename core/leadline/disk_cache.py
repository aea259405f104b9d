"""A cache on disk: one SQLite file of bounded size that runs and processes share.

A damaged file is deleted; the process continues without a locked or full one. The log reports the first problem as a
warning.
"""

from __future__ import annotations

import asyncio
import logging
import math
import sqlite3
import time
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from leadline.encoding import digest
from leadline.files import private_file

T = TypeVar("T")
# Seconds for which a write may wait for others, to share a transaction with them: lost if the process is killed.
WRITE_DELAY = 0.25
# Bytes that may wait.
_MAX_PENDING = 8 * 2**20
# Reads whose times are remembered until the next write.
_MAX_UNWRITTEN_READS = 1000
# Share of the size that is freed beyond need, so that not every later write has to free some.
_FREED_BEYOND_NEED = 1 / 16
_DAMAGE = ("malformed", "not a database", "file is encrypted", "no such table", "no such column", "has no column")


class Found(NamedTuple):
    """A cached body, and the time (seconds since 1970) when it was stored or last confirmed."""

    stored: float
    body: bytes


class DiskCache:
    """The cache as seen from the event loop; SQLite runs on one thread. `wait`: seconds to wait for other processes."""

    def __init__(
        self,
        path: Path,
        size: int,
        *,
        table: str,
        log: logging.Logger,
        wait: float = 2.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._file = CacheFile(path, size, table=table, log=log, wait=wait, clock=clock)
        self._thread = ThreadPoolExecutor(1, "leadline-cache")
        self._pending: dict[str, bytes | None] = {}
        self._pending_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    async def get(self, key: str, max_age: float = math.inf) -> Found | None:
        """Return a body, unless it is `max_age` seconds old; earlier writes are found."""
        if self._closed:
            return None
        self._flush()
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._file.get, key, max_age)

    def put_soon(self, key: str, body: bytes) -> None:
        """Queue a body to be stored."""
        self._pending_bytes += len(body)
        self._queue(key, body)

    def renew_soon(self, key: str) -> None:
        """Queue the note that a stored body is still valid."""
        self._queue(key, self._pending.get(key))

    async def close(self) -> None:
        """Write the queue and close the file; a second time does nothing."""
        if self._closed:
            return
        self._closed = True
        self._flush()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._file.close)
        self._thread.shutdown(wait=False)

    def _queue(self, key: str, body: bytes | None) -> None:
        if self._closed:
            return
        self._pending[key] = body
        if self._pending_bytes > _MAX_PENDING:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WRITE_DELAY, self._flush)

    def _flush(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._pending:
            pending, self._pending, self._pending_bytes = self._pending, {}, 0
            self._thread.submit(self._file.put, pending)


class CacheFile:
    """The file; every method blocks, and is called from one thread."""

    def __init__(
        self,
        path: Path,
        size: int,
        *,
        table: str,
        log: logging.Logger,
        wait: float,
        clock: Callable[[], float],
    ) -> None:
        self._path = path
        self._size = size
        self._table = table
        self._log = log
        self._wait = wait
        self._clock = clock
        self._sql = {verb: text.format(table=table) for verb, text in _SQL.items()}
        self._db: sqlite3.Connection | None = None
        self._inode = (0, 0)
        self._used: dict[str, float] = {}
        self._warned = False

    def get(self, key: str, max_age: float = math.inf) -> Found | None:
        """Return a body, unless it is `max_age` seconds old."""
        entry = self._with_file(partial(self._get, key, max_age))
        if len(self._used) > _MAX_UNWRITTEN_READS:
            self.put({})
        return entry

    def put(self, bodies: Mapping[str, bytes | None]) -> None:
        """Store bodies in one transaction; None renews a stored one. Bodies larger than the file are left out."""
        self._with_file(partial(self._put, bodies))

    def close(self) -> None:
        """Write the times of reads and close the file."""
        if self._db is not None and self._used:
            self.put({})
        self._disconnect()

    def _get(self, key: str, max_age: float, db: sqlite3.Connection) -> Found | None:
        row, now = db.execute(self._sql["get"], (key,)).fetchone(), self._clock()
        if row is None or not 0 <= now - row[0] < max_age:
            return None
        body = zlib.decompress(row[2])
        if checksum(key, body) != row[1]:
            raise zlib.error(f"wrong checksum of {key}")
        self._used[key] = now  # written with the next write, so that no read costs a transaction
        return Found(row[0], body)

    def _put(self, bodies: Mapping[str, bytes | None], db: sqlite3.Connection) -> None:
        now = self._clock()
        new = [(key, checksum(key, body), zlib.compress(body, 1)) for key, body in bodies.items() if body is not None]
        rows = [(key, now, now, len(data), mark, data) for key, mark, data in new if len(data) <= self._size]
        with db:
            db.executemany(self._sql["use"], [(at, key) for key, at in self._used.items()])
            db.executemany(self._sql["renew"], [(now, now, key) for key, body in bodies.items() if body is None])
            db.executemany(self._sql["put"], rows)
            self._make_room(db)
        self._used.clear()

    def _make_room(self, db: sqlite3.Connection) -> None:
        total = db.execute(self._sql["sum"]).fetchone()[0]
        if total <= self._size:
            return
        removed = []
        for key, size in db.execute(self._sql["oldest"]):
            removed.append((key,))
            total -= size
            if total <= self._size * (1 - _FREED_BEYOND_NEED):
                break
        db.executemany(self._sql["delete"], removed)

    def _with_file(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Return the result of work on the file; None if the file cannot be used. A damaged file is deleted."""
        try:
            return work(self._connect())
        except Exception as error:  # noqa: BLE001 - a flipped bit raises almost anything, and a cache stops no run
            damaged = isinstance(error, zlib.error | TypeError | ValueError) or any(
                sign in str(error) for sign in _DAMAGE
            )
            log = self._log.debug if self._warned else self._log.warning
            remedy = "deleting it" if damaged else "continuing without it"
            log("cannot use the cache of %s (%s), %s: %s", self._table, error, remedy, self._path)
            self._warned = True
            self._disconnect()
            if damaged:
                self._delete()
            return None

    def _delete(self) -> None:
        with suppress(OSError):  # a file in a read-only folder stays, unused
            for suffix in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    def _connect(self) -> sqlite3.Connection:
        if self._db is not None and self._current_inode() == self._inode:
            return self._db
        self._disconnect()  # the file was deleted, by another process or by a person
        private_file(self._path)
        self._inode = self._current_inode()
        self._db = sqlite3.connect(self._path, timeout=self._wait)
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("pragma synchronous = off")  # a power loss costs only cached bodies
        self._db.executescript(self._sql["layout"])
        return self._db

    def _current_inode(self) -> tuple[int, int]:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return 0, 0
        return status.st_dev, status.st_ino

    def _disconnect(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            with suppress(sqlite3.Error):
                db.close()


def checksum(key: str, body: bytes) -> str:
    """Return the checksum of a body under its key: a flipped bit may also lead to the body of another key."""
    return digest(f"{key}\n{digest(body)}".encode("utf-8", "surrogatepass"))


_SQL = {
    "layout": "create table if not exists {table} (key text primary key, stored real, used real, size int, mark text, "
    "body blob); create index if not exists by_use on {table} (used, size);",
    "get": "select stored, mark, body from {table} where key = ?",
    "put": "insert or replace into {table} (key, stored, used, size, mark, body) values (?, ?, ?, ?, ?, ?)",
    "use": "update {table} set used = ? where key = ?",
    "renew": "update {table} set stored = ?, used = ? where key = ?",
    "sum": "select coalesce(sum(size), 0) from {table}",
    "oldest": "select key, size from {table} order by used, size desc",
    "delete": "delete from {table} where key = ?",
}
