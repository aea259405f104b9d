"""A collection in Postgres, with a copy on each machine that searches it.

Rows are documents with their passages, facts about the collection, keys under which vectors may be stored, and files. A
change of documents or facts gives the collection another version. A machine whose copy has another one compares the
keys of all documents and takes over what differs, so that it does not matter what it missed.
"""

from __future__ import annotations

import asyncio
import atexit
import errno
import fcntl
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from pydantic import TypeAdapter

from leadline.errors import Denied, Unavailable
from leadline.files import private_file
from leadline.settings import Settings
from leadline_plugins.documents.store import FILE, Entry
from leadline_plugins.knowledge.shelf import REMOVED, Shelf

# One process at a time makes the table, which is one transaction.
_TABLE = """
SELECT pg_advisory_xact_lock(hashtext('leadline_documents'));
CREATE TABLE IF NOT EXISTS leadline_documents (
    kind text, collection text, name text, key text NOT NULL, value bytea NOT NULL, source bytea NOT NULL,
    PRIMARY KEY (kind, collection, name)
)
"""
_LOCK = "SELECT pg_try_advisory_lock(hashtext('leadline_documents'), hashtext(%s))"
_OF = "FROM leadline_documents WHERE kind = %s AND collection = %s"
_PUT = (
    "INSERT INTO leadline_documents VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (kind, collection, name) "
    "DO UPDATE SET key = EXCLUDED.key, value = EXCLUDED.value, source = EXCLUDED.source"
)
_DROP = f"DELETE {_OF} AND name = ANY(%s)"
# The versions of some documents, which are replaced or removed, become unused.
_UNUSE = (
    f"INSERT INTO leadline_documents SELECT 'unused', collection, key, '', '', '' {_OF} AND name = ANY(%s) "
    "ON CONFLICT DO NOTHING"
)
# Files of no document, also those that a killed writer left: a key ends with the beginning of the digest.
_DROP_FILES = f"DELETE {_OF} AND name LIKE 'files/%%' AND substr(name, 10, 12) NOT IN (SELECT right(key, 12) {_OF})"
# A collection without documents leaves no trace.
_FORGET = f"DELETE {_OF} AND NOT EXISTS (SELECT {_OF}) AND NOT EXISTS (SELECT {_OF})"
_ENTRIES = TypeAdapter(Entry)
# Documents that are copied at once.
_BATCH = 64
# Seconds for which a server is waited for that does not accept connections, and between two attempts.
_PATIENCE, _PAUSE = 10.0, 0.1
# Connections that are kept for the next search.
_SPARE = 2
# So that the server notices within half a minute that a machine is gone, and releases its locks.
_ALIVE = {"connect_timeout": 5, "options": "-c tcp_keepalives_idle=15 -c tcp_keepalives_interval=5"}
# Seconds after which a copy that nobody changed may be of a user who was erased.
_IDLE = 3600.0


class Database:
    """Connections to a database, which come back after a restart of the server."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: list[psycopg.Connection] = []
        atexit.register(lambda: [*map(psycopg.Connection.close, self._idle)])

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection]:
        """Provide a connection that nobody else has. Raises `Unavailable`, also for what is done with it."""
        try:
            known = self._living()
            connection = known or self._connect()
            try:
                if not known:
                    connection.execute(_TABLE)
                yield connection
            except BaseException:
                connection.close()
                raise
            if len(self._idle) < _SPARE:
                self._idle.append(connection)
            else:
                connection.close()
        except psycopg.Error as error:
            why = str(error).strip().splitlines() or [type(error).__name__]
            reason = f"the database of the documents (plugins.knowledge.database) does not answer: {why[0]}"
            raise Unavailable(f"{reason}; repair or start it and try again") from error

    def _living(self) -> psycopg.Connection | None:
        with suppress(IndexError):  # another thread may have taken the last one
            while connection := self._idle.pop():
                with suppress(psycopg.OperationalError):
                    connection.execute("SELECT")
                    return connection
                connection.close()
        return None

    def _connect(self) -> psycopg.Connection:
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                return psycopg.connect(self._url, autocommit=True, **_ALIVE)  # type: ignore[arg-type]
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(_PAUSE)


database_of = cache(Database)


class Replica(Shelf):
    """A collection in a database, and its copy in a folder of this machine. Only a holder of the lock changes it."""

    def __init__(self, folder: Path, owner: str, url: str, collection: str = "") -> None:
        super().__init__(folder, owner, collection)
        self._database = database_of(url)
        self._collection = self.folder.relative_to(folder).as_posix()
        self._next_look = 0.0
        # The connection that has the lock, while this process writes.
        self._writer: psycopg.Connection | None = None

    def check_vectors(self, settings: Settings, probe: Sequence[float]) -> None:
        store = settings.knowledge.store
        section = dict(settings.plugins).get(store)
        if hasattr(section, "folder") and not getattr(section, "url", ""):
            way_out = 'set knowledge.store = "qdrant" and plugins.qdrant.url'
            raise Denied(f"knowledge.store is {store}, whose vectors no other machine has: {way_out}")
        super().check_vectors(settings, probe)

    # --- the copy ----------------------------------------------------------------------------------------------------

    def pull(self) -> None:
        with self._database.connected() as db:
            if not self._is_current(db):
                with _held(self.folder / "copy.lock"), db.transaction():
                    db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                    if not self._is_current(db):
                        self._copy(db)
            if self.shared and time.monotonic() > self._next_look:
                self._delete_erased(db)
                self._next_look = time.monotonic() + _IDLE

    def _is_current(self, db: psycopg.Connection) -> bool:
        version = db.execute(f"SELECT value {_OF} AND name = 'version'", ("fact", self._collection)).fetchone()
        return (version[0].decode() if version else None) == self.about().get("version")

    def _copy(self, db: psycopg.Connection) -> None:
        """Take over what differs. If the process is killed meanwhile, the version before has it done again."""
        here = {name: state.key for name, state in self.states().items()}
        there = dict[str, str](db.execute(f"SELECT name, key {_OF}", ("document", self._collection)).fetchall())
        super().remove(here.keys() - there.keys())
        for part in ("files", REMOVED):  # of a backup
            shutil.rmtree(self.folder / part, ignore_errors=True)
        changed = [name for name, key in there.items() if here.get(name) != key]
        for start in range(0, len(changed), _BATCH):
            names, select = changed[start : start + _BATCH], f"SELECT value, source {_OF} AND name = ANY(%s)"
            rows = db.execute(select, ("document", self._collection, names))
            entries = [replace(_ENTRIES.validate_json(value), source=source) for value, source in rows]
            super().expect(entry.key for entry in entries)
            super().add_texts(entries)
            super().replace(entries)
        super().drop(super().unused())
        facts = db.execute(f"SELECT name, convert_from(value, 'UTF8') {_OF}", ("fact", self._collection)).fetchall()
        with self._change() as table:
            table.execute("DELETE FROM about")
            table.executemany("INSERT INTO about VALUES (?, ?)", facts)

    def _delete_erased(self, db: psycopg.Connection) -> None:
        """Delete the copies of collections that are gone."""
        copies = [*self.folder.parent.glob(f"users/*/{FILE}")]
        known = {name for (name,) in db.execute("SELECT collection FROM leadline_documents WHERE kind = 'fact'")}
        for path in copies:
            if f"users/{path.parent.name}" not in known and path.stat().st_mtime < time.time() - _IDLE:
                shutil.rmtree(path.parent, ignore_errors=True)

    # --- changes -----------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def lock(self, in_thread: Callable[..., Awaitable[Any]]) -> AsyncIterator[None]:
        """Hold the lock of writers over all machines; the server releases it with the connection."""
        async with super().lock(in_thread):
            with ExitStack() as stack:
                connection = await in_thread(stack.enter_context, self._database.connected())
                stack.callback(connection.close)
                acquire = partial(in_thread, connection.execute, _LOCK, (self._collection,))
                while not (await acquire()).fetchone()[0]:  # noqa: ASYNC110 - another machine cannot set an event here
                    await asyncio.sleep(_PAUSE)
                self._writer = connection
                stack.callback(setattr, self, "_writer", None)
                await in_thread(self.pull)
                await in_thread(self.drop_files, ())
                yield

    @contextmanager
    def _change_rows(self, *, new_version: bool = True) -> Iterator[psycopg.Cursor]:
        """Provide a transaction on the connection that has the lock, and bring the copy up to date."""
        assert self._writer is not None, "a writer holds the lock"
        with self._writer.transaction(), self._writer.cursor() as cursor:
            if new_version:
                cursor.execute(_PUT, self._row("fact", "version", uuid4().hex.encode()))
            yield cursor
        self.pull()

    def _row(self, kind: str, name: str, value: bytes = b"", key: str = "", source: bytes = b"") -> Sequence[Any]:
        return kind, self._collection, name, key, value, source

    def expect(self, keys: Iterable[str]) -> None:
        with self._change_rows(new_version=False) as cursor:
            cursor.executemany(_PUT, [self._row("unused", key) for key in keys])

    def add_texts(self, entries: Iterable[Entry]) -> None:
        """Do nothing: the texts are copied from the rows, as on every machine."""

    def replace(self, entries: Sequence[Entry]) -> None:
        with self._change_rows() as cursor:
            cursor.execute(_UNUSE, ("document", self._collection, [entry.id for entry in entries]))
            cursor.execute(_DROP, ("unused", self._collection, [entry.key for entry in entries]))
            for entry in entries:
                value = _ENTRIES.dump_json(replace(entry, source=b""), exclude_defaults=True)
                cursor.execute(_PUT, self._row("document", entry.id, value, entry.key, entry.source))

    def remove(self, ids: Iterable[str]) -> None:
        of = "document", self._collection, [*ids]
        with self._change_rows() as cursor:
            cursor.execute(_UNUSE, of)
            cursor.execute(_DROP, of)

    def unused(self) -> list[str]:
        return [name for (name,) in self._rows(f"SELECT name {_OF}", "unused", self._collection)]

    def drop(self, keys: Sequence[str]) -> None:
        kinds = ("fact", "document", "unused")
        with self._change_rows(new_version=False) as cursor:
            cursor.execute(_DROP, ("unused", self._collection, [*keys]))
            cursor.execute(_FORGET, [value for kind in kinds for value in (kind, self._collection)])

    def set_about(self, facts: Mapping[str, str]) -> None:
        with self._change_rows() as cursor:
            cursor.executemany(_PUT, [self._row("fact", name, value.encode()) for name, value in facts.items()])

    def drop_files(self, digests: Sequence[str]) -> None:
        with self._change_rows(new_version=False) as cursor:
            cursor.execute(_DROP_FILES, ("file", self._collection, "document", self._collection))

    # --- from a machine that had no database, and back ----------------------------------------------------------------

    async def take_over(self, folder: Path) -> int:
        """Bring documents with their files from this collection in a folder; return the number of new ones."""
        async with self.lock(asyncio.to_thread):
            return await asyncio.to_thread(self._take_over, Shelf(folder, collection=self._collection))

    def _take_over(self, other: Shelf) -> int:
        known = self.states()
        new = {name: state.digest for name, state in other.states().items() if name not in known}
        for path in (path for part in ("files", REMOVED) for path in (other.folder / part).rglob("*")):
            if path.is_file() and (path.parent.name == REMOVED or path.name in new.values()):
                self._keep(path.relative_to(other.folder).as_posix(), path.read_bytes())
        if "probe" not in self.about():
            self.set_about({name: value for name, value in other.about().items() if name != "version"})
        names = [*new]
        for start in range(0, len(names), _BATCH):
            self.replace(other.entries(names[start : start + _BATCH]))
        return len(new)

    def write_files(self) -> None:
        self.pull()
        for name, data in self._rows(f"SELECT name, value {_OF}", "file", self._collection):
            super()._keep(name, data)

    # --- files -------------------------------------------------------------------------------------------------------

    def _rows(self, statement: str, *values: Any) -> Sequence[Any]:
        with self._database.connected() as db:
            rows = db.execute(statement.encode(), values)
            return rows.fetchall() if rows.description else ()

    def _keep(self, name: str, data: bytes) -> None:
        self._rows(_PUT, *self._row("file", name, data))

    def _kept(self, name: str) -> bytes:
        for (data,) in self._rows(f"SELECT value {_OF} AND name = %s", "file", self._collection, name):
            return bytes(data)
        raise FileNotFoundError(errno.ENOENT, "there is no such file", name)

    def _discard(self, names: Iterable[str]) -> None:
        self._rows(_DROP, "file", self._collection, [*names])

    def _aside(self) -> Iterator[tuple[str, bytes]]:
        select = f"SELECT substr(name, %s), value {_OF} AND name LIKE %s"
        yield from self._rows(select, len(REMOVED) + 2, "file", self._collection, f"{REMOVED}/%.json")


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold the lock of a copy, over all processes of this machine."""
    with private_file(path).open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


def replicas(copies: Path, url: str, folder: Path | None = None) -> list[Replica]:
    """Return the collections of all principals that are in a folder, by default those that are in the database."""
    if folder:
        paths = [*folder.glob(f"shared/{FILE}"), *folder.glob(f"users/*/{FILE}")]
        names = {path.parent.relative_to(folder).as_posix() for path in paths}
    else:
        with database_of(url).connected() as db:
            names = {name for (name,) in db.execute("SELECT collection FROM leadline_documents")}
    return [Replica(copies, "", url, name) for name in sorted(names)]
