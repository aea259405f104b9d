"""Pages kept across runs and processes, in one SQLite file of a bounded size.

It is a cache: where the file is damaged or the disk full, pages are fetched as if there were none, and the log says so.
"""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from logging import Logger
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
_SCHEMA = """
create table if not exists pages (
    key text primary key, url text, media_type text, etag text, modified text, stored real, used real, size int,
    body blob
);
create index if not exists by_use on pages (used, size);
"""
_FIELDS = "url, media_type, etag, modified, stored, body"
_WAIT = 5.0
"""Seconds that another process is waited for."""


@dataclass(frozen=True)
class Kept:
    """A page as it was: `url` is where redirects led to, `stored` the time (seconds since 1970) it was known good."""

    url: str
    media_type: str
    data: bytes
    etag: str = ""
    modified: str = ""
    stored: float = 0.0


class Cache:
    """The file; every method blocks, and belongs into a thread. A size of 0 keeps nothing."""

    def __init__(self, folder: Path, size: int, log: Logger, clock: Callable[[], float] = time.time) -> None:
        self._path = folder / "pages.sqlite"
        self._size = size
        self._log = log
        self._clock = clock

    def get(self, key: str) -> Kept | None:
        """Return the page kept for an address."""

        def read(db: sqlite3.Connection) -> Kept | None:
            row = db.execute(f"select {_FIELDS} from pages where key = ?", (key,)).fetchone()  # noqa: S608 - constants
            if row is None:
                return None
            db.execute("update pages set used = ? where key = ?", (self._clock(), key))
            url, media_type, etag, modified, stored, body = row
            return Kept(url, media_type, zlib.decompress(body), etag, modified, stored)

        return self._do(read)

    def put(self, key: str, page: Kept) -> None:
        """Keep a page, and let those go that were not used the longest."""

        def write(db: sqlite3.Connection) -> None:
            body, now = zlib.compress(page.data, 1), self._clock()
            values = (key, page.url, page.media_type, page.etag, page.modified, now, now, len(body), body)
            db.execute("insert or replace into pages values (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
            self._make_room(db)

        self._do(write)

    def confirm(self, key: str) -> None:
        """Note that a page has not changed."""
        now = self._clock()
        self._do(lambda db: db.execute("update pages set stored = ?, used = ? where key = ?", (now, now, key)))

    def fresh(self, page: Kept, seconds: float) -> bool:
        """Tell whether a page may be used unasked."""
        return 0 <= self._clock() - page.stored < seconds

    def _make_room(self, db: sqlite3.Connection) -> None:
        total = db.execute("select sum(size) from pages").fetchone()[0] or 0
        while total > self._size:
            key, size = db.execute("select key, size from pages order by used, size desc limit 1").fetchone()
            db.execute("delete from pages where key = ?", (key,))
            total -= size

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Do it in one transaction; what is wrong with the file costs a fetch, and what is broken begins anew."""
        if not self._size:
            return None
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=_WAIT)) as db, db:
                db.execute("pragma journal_mode = wal")
                db.execute("pragma synchronous = off")  # a page lost with the power is fetched again
                db.executescript(_SCHEMA)
                return work(db)
        except (sqlite3.Error, zlib.error, OSError) as error:
            self._log.warning("kept pages cannot be used (%s): %s", error, self._path)
            if isinstance(error, sqlite3.DatabaseError | zlib.error) and not isinstance(
                error, sqlite3.OperationalError
            ):
                self._path.unlink(missing_ok=True)
            return None
