"""Answers kept across runs and processes, in one SQLite file of a bounded size.

Asked on a miss of the journal; a hit is copied into the run's journal, so that a run never depends on this file again.
It is a cache: a damaged file is thrown away, a locked or full one is done without, and the log says so once. What was
asked is kept as a digest only; answers under different keys of an account, or other middleware, are kept apart.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from leadline.keys import digest

T = TypeVar("T")
LOG = logging.getLogger("leadline.cache")
_LAYOUT = """
create table if not exists answers (key text primary key, stored real, used real, size int, mark text, body blob);
create index if not exists by_use on answers (used, size);
"""
_WAIT = 2.0
"""Seconds that another process is waited for."""
_DAMAGE = ("malformed", "not a database", "file is encrypted", "no such table", "no such column", "has no column")


class Answers:
    """The file. `scope` is what else answers depend on: they are found again under the same one only.

    One thread of its own does all the work; every method is called on the event loop.
    """

    def __init__(self, path: Path, size: int, scope: str = "", clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._size = size
        self._scope = scope
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, "leadline-cache")
        self._db: sqlite3.Connection | None = None
        self._told = False

    async def get(self, key: str, account: str, ttl: float) -> bytes | None:
        """Return the answer to a call, unless it is older than `ttl` seconds."""
        name = self._name(key, account)
        return await self._submit(lambda db: self._get(db, name, ttl))

    def put_soon(self, key: str, account: str, body: bytes) -> None:
        """Keep the answer to a call; nobody waits for it."""
        name = self._name(key, account)
        self._thread.submit(self._do, lambda db: self._put(db, name, body))

    async def close(self) -> None:
        """Write what is queued, and close the file."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._leave)
        self._thread.shutdown(wait=False)

    # --- on the thread -----------------------------------------------------------------------------------------------

    def _get(self, db: sqlite3.Connection, name: str, ttl: float) -> bytes | None:
        found = db.execute("select stored, mark, body from answers where key = ?", (name,)).fetchone()
        if found is None or not 0 <= self._clock() - found[0] < ttl:
            return None
        body = zlib.decompress(found[2])
        if digest(body) != found[1]:
            raise zlib.error(f"the mark of {name} does not fit")
        db.execute("update answers set used = ? where key = ?", (self._clock(), name))
        return body

    def _put(self, db: sqlite3.Connection, name: str, body: bytes) -> None:
        packed, now = zlib.compress(body, 1), self._clock()
        values = (name, now, now, len(packed), digest(body), packed)
        db.execute("insert or replace into answers values (?, ?, ?, ?, ?, ?)", values)
        total = db.execute("select sum(size) from answers").fetchone()[0]
        while total > self._size:
            oldest, size = db.execute("select key, size from answers order by used limit 1").fetchone()
            db.execute("delete from answers where key = ?", (oldest,))
            total -= size

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Do it in one transaction; what is wrong with the file costs a call, and what is broken begins anew."""
        try:
            db = self._open()
            with db:
                return work(db)
        except (sqlite3.Error, zlib.error, OSError) as error:
            damaged = isinstance(error, zlib.error) or any(sign in str(error) for sign in _DAMAGE)
            self._tell(error, "it is thrown away" if damaged else "it is done without")
            self._leave()
            if damaged:
                for suffix in ("", "-wal", "-shm"):
                    self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
            return None

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
            self._db = sqlite3.connect(self._path, timeout=_WAIT)
            self._db.execute("pragma journal_mode = wal")
            self._db.execute("pragma synchronous = off")  # what is lost with the power is asked again
            self._db.executescript(_LAYOUT)
        return self._db

    def _leave(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _tell(self, error: Exception, what: str) -> None:
        log = LOG.debug if self._told else LOG.warning
        log("the cache across runs %s cannot be used (%s): %s", self._path, error, what)
        self._told = True

    # --- helpers -----------------------------------------------------------------------------------------------------

    async def _submit(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._do, work)

    def _name(self, key: str, account: str) -> str:
        return digest(f"{key}\n{account}\n{self._scope}".encode())


def account_of(secrets: Iterable[str]) -> str:
    """Return what tells accounts apart and says nothing about their keys: an HMAC under the keys themselves."""
    key = "\n".join(secrets).encode("utf-8", "surrogatepass")
    return hmac.digest(key, b"leadline: answers of this account", "sha256").hex() if key else ""
