"""One SQLite file of a bounded size that runs and processes share; every method blocks, and belongs into one thread.

It is a cache: a damaged file is thrown away, a locked or full one is done without, and the log says so once.
"""

from __future__ import annotations

import logging
import math
import sqlite3
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from leadline.door.keys import digest
from leadline.journal.packing import packed

T = TypeVar("T")
COUNTED = 100
"""Writes after which the file's size is counted anew: other processes write too."""
NOTED = 1000
"""Looks that are noted at most before they are written down."""
_SPARE = 1 / 16
"""Share of the size that is freed beyond need, so that not every later write must free some."""
_DAMAGE = ("malformed", "not a database", "file is encrypted", "no such table", "no such column", "has no column")


def mark_of(key: str, body: bytes) -> str:
    """Return what tells that a body is whole, and the one of this key: a flipped bit may lead to another's."""
    return digest(f"{key}\n{digest(body)}".encode("utf-8", "surrogatepass"))


class Found(NamedTuple):
    """What was kept, and when it was known good (seconds since 1970)."""

    stored: float
    body: bytes


class CacheFile:
    """The file. `name` is what the log calls it, `wait` the seconds that another process is waited for."""

    def __init__(
        self,
        path: Path,
        size: int,
        *,
        table: str,
        name: str,
        log: logging.Logger,
        wait: float = 2.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = path
        self._size = size
        self._name = name
        self._log = log
        self._wait = wait
        self._clock = clock
        self._sql = {verb: text.format(table=table) for verb, text in _SQL.items()}
        self._db: sqlite3.Connection | None = None
        self._place = (0, 0)
        self._used: dict[str, float] = {}
        self._total = math.inf
        self._writes = 0
        self._told = False

    def get(self, key: str, seconds: float = math.inf) -> Found | None:
        """Return what was kept, unless it is as old as `seconds`."""
        found = self._do(partial(self._get, key, seconds))
        if len(self._used) > NOTED:
            self.put({})
        return found

    def put(self, bodies: Mapping[str, bytes | None]) -> None:
        """Keep bodies, all in one transaction; None renews what is kept. What is larger than the file is left out."""
        self._do(partial(self._put, bodies))

    def close(self) -> None:
        """Write down what was looked at, and close the file."""
        if self._db is not None and self._used:
            self.put({})
        self._leave()

    def _get(self, key: str, seconds: float, db: sqlite3.Connection) -> Found | None:
        row, now = db.execute(self._sql["get"], (key,)).fetchone(), self._clock()
        if row is None or not 0 <= now - row[0] < seconds:
            return None
        body = zlib.decompress(row[2])
        if mark_of(key, body) != row[1]:
            raise zlib.error(f"the mark of {key} does not fit")
        self._used[key] = now  # written with the next write, so that no look costs a transaction
        return Found(row[0], body)

    def _put(self, bodies: Mapping[str, bytes | None], db: sqlite3.Connection) -> None:
        now = self._clock()
        kept = [(key, mark_of(key, body), packed(body)) for key, body in bodies.items() if body is not None]
        rows = [(key, now, now, len(data), mark, data) for key, mark, data in kept if len(data) <= self._size]
        with db:
            db.executemany(self._sql["use"], [(at, key) for key, at in self._used.items()])
            db.executemany(self._sql["renew"], [(now, now, key) for key, body in bodies.items() if body is None])
            db.executemany(self._sql["put"], rows)
            self._make_room(db, sum(row[3] for row in rows))
        self._used.clear()

    def _make_room(self, db: sqlite3.Connection, added: int) -> None:
        # The sum goes over every row: it is taken where the running figure says that it is time, or may be far off.
        self._total += added
        self._writes += 1
        if self._total > self._size or self._writes > COUNTED:
            self._total = db.execute(self._sql["sum"]).fetchone()[0]
            self._writes = 0
        if self._total <= self._size:
            return
        gone = []
        for key, size in db.execute(self._sql["oldest"]):
            gone.append((key,))
            self._total -= size
            if self._total <= self._size * (1 - _SPARE):
                break
        db.executemany(self._sql["delete"], gone)

    # --- the file ----------------------------------------------------------------------------------------------------

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Do it; what is wrong with the file costs a call, and what is broken begins anew."""
        try:
            return work(self._open())
        except Exception as error:  # noqa: BLE001 - a flipped bit shows as almost anything, and a cache stops no run
            damaged = isinstance(error, zlib.error | TypeError | ValueError) or any(
                sign in str(error) for sign in _DAMAGE
            )
            self._tell(error, "it is thrown away" if damaged else "it is done without")
            self._leave()
            if damaged:
                self._throw_away()
            return None

    def _throw_away(self) -> None:
        with suppress(OSError):  # in a folder that can only be read it stays, and is done without
            for suffix in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    def _open(self) -> sqlite3.Connection:
        if self._db is not None and self._there() == self._place:
            return self._db
        self._leave()  # where another process has thrown the file away, or a person
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.touch(mode=0o600)
        self._place, self._total = self._there(), math.inf
        self._db = sqlite3.connect(self._path, timeout=self._wait)
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("pragma synchronous = off")  # what is lost with the power is asked again
        self._db.executescript(self._sql["layout"])
        return self._db

    def _there(self) -> tuple[int, int]:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return 0, 0
        return found.st_dev, found.st_ino

    def _leave(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            with suppress(sqlite3.Error):
                db.close()

    def _tell(self, error: Exception, what: str) -> None:
        log = self._log.debug if self._told else self._log.warning
        log("%s cannot be used (%s), %s: %s", self._name, error, what, self._path)
        self._told = True


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
