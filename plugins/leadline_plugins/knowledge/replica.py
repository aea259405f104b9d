"""A collection in Postgres, with a copy on each machine that searches it.

Rows are the documents with their passages, facts about the collection, keys under which vectors may be stored, and
files. A change of documents or facts gives the collection another version. A machine whose copy has another one
compares the keys of all documents and takes over what differs, so that it does not matter what it missed.
"""

from __future__ import annotations

import asyncio
import atexit
import errno
import fcntl
import json
import os
import shutil
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from leadline.errors import Denied, Unavailable
from leadline.files import private_file
from leadline.records import Evidence
from leadline.settings import Settings
from leadline_plugins.documents.store import FILE, Entry
from leadline_plugins.knowledge.shelf import REMOVED, Shelf

_TABLE = """
CREATE TABLE IF NOT EXISTS leadline_documents (
    kind text, collection text, name text, key text NOT NULL, value bytea NOT NULL, source bytea NOT NULL,
    PRIMARY KEY (kind, collection, name)
)
"""
_OF = "FROM leadline_documents WHERE kind = %s AND collection = %s"
_PUT = (
    "INSERT INTO leadline_documents VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (kind, collection, name) "
    "DO UPDATE SET key = EXCLUDED.key, value = EXCLUDED.value, source = EXCLUDED.source"
)
# The versions of some documents, which are replaced or removed, become unused.
_UNUSE = f"INSERT INTO leadline_documents SELECT 'unused', collection, key, '', '', '' {_OF} AND name = ANY(%s) ON CONFLICT DO NOTHING"  # noqa: S608, E501
# A collection without documents leaves no trace.
_FORGET = f"DELETE {_OF} AND NOT EXISTS (SELECT FROM leadline_documents WHERE kind IN ('document', 'unused') AND collection = %s)"  # noqa: S608, E501
_DROP = f"DELETE {_OF} AND name = ANY(%s)"  # noqa: S608
# Documents that are copied at once.
_BATCH = 64
# Seconds: to connect, until a writer is taken for dead whose machine does not answer, and between attempts to lock.
_CONNECT, _DEAD, _PAUSE = 5, 15, 0.1
# Seconds for which a server is waited for that does not accept connections.
_PATIENCE = 10.0
# Seconds after which a copy that nobody changed may be of a user who was erased.
_IDLE = 3600.0


class Database:
    """Connections to a database by its URL, which come back after a restart of the server."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: list[psycopg.Connection] = []
        self._is_ready = False
        atexit.register(self._close)

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection]:
        """Provide a connection that nobody else has."""
        with self.translated():
            connection = self._living() or self.connect()
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
            self._idle.append(connection)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raise errors of the database as `Unavailable`."""
        try:
            yield
        except psycopg.Error as error:
            why = str(error).strip().splitlines() or [type(error).__name__]
            raise Unavailable(f"the database of the documents does not answer: {why[0]}") from error

    def connect(self) -> psycopg.Connection:
        """Open a connection, which the caller closes, after waiting for a server that restarts."""
        options: dict[str, Any] = {"connect_timeout": _CONNECT, "keepalives_idle": _DEAD, "client_encoding": "utf-8"}
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                connection = psycopg.connect(self._url, autocommit=True, **options)
                break
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(_PAUSE)
        # So that the server, too, notices that a machine is gone, and releases its locks.
        connection.execute(f"SET tcp_keepalives_idle = {_DEAD}; SET tcp_keepalives_interval = 5")
        if not self._is_ready:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(hashtext('leadline_documents'))")
                connection.execute(_TABLE)
            self._is_ready = True
        return connection

    def _living(self) -> psycopg.Connection | None:
        while self._idle:
            connection = self._idle.pop()
            with suppress(psycopg.OperationalError):
                connection.execute("SELECT")
                return connection
            connection.close()
        return None

    def _close(self) -> None:
        while self._idle:
            self._idle.pop().close()


@cache
def database_of(url: str) -> Database:
    """Return the database with a URL; all of the process share its connections."""
    return Database(url)


class Replica(Shelf):
    """A collection in a database, and its copy in a folder of this machine. Only a holder of the lock changes it."""

    def __init__(self, folder: Path, owner: str, database: Database) -> None:
        super().__init__(folder, owner)
        self._database = database
        self._collection = self.folder.relative_to(folder).as_posix()
        self._is_new = True
        # The connection of the writer of this process, which has the lock.
        self._writer: psycopg.Connection | None = None

    # --- the copy ----------------------------------------------------------------------------------------------------

    def pull(self) -> None:
        """Bring the copy up to date: one query if it is."""
        with self._database.connected() as db:
            if self._facts(db, "version") != self._facts_here("version"):
                with _held(self.folder / "copy.lock"), db.transaction():
                    db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                    if self._facts(db, "version") != self._facts_here("version"):
                        self._copy(db)
            if self._is_new and self.shared:
                self._delete_erased(db)
            self._is_new = False

    def _facts(self, db: psycopg.Connection, name: str = "%") -> dict[str, str]:
        rows = db.execute(f"SELECT name, value {_OF} AND name LIKE %s", ("fact", self._collection, name))  # noqa: S608
        return {name: value.decode() for name, value in rows}

    def _facts_here(self, name: str) -> dict[str, str]:
        return {known: value for known, value in self.about().items() if known == name}

    def _copy(self, db: psycopg.Connection) -> None:
        """Take over what differs. If the process is killed meanwhile, the version before has it done again."""
        there: dict[str, str] = dict(db.execute(f"SELECT name, key {_OF}", ("document", self._collection)).fetchall())  # noqa: S608
        here = {name: state.key for name, state in self.states().items()}
        super().remove(here.keys() - there.keys())
        changed = [name for name, key in there.items() if here.get(name) != key]
        for start in range(0, len(changed), _BATCH):
            select = f"SELECT name, key, value, source {_OF} AND name = ANY(%s)"  # noqa: S608
            names = changed[start : start + _BATCH]
            entries = [_unpacked(*row) for row in db.execute(select, ("document", self._collection, names))]
            super().expect(entry.key for entry in entries)
            super().add_texts(entries)
            super().replace(entries)
        super().drop(super().unused())
        with self._change() as table:
            table.execute("DELETE FROM about")
            table.executemany("INSERT INTO about VALUES (?, ?)", self._facts(db).items())

    def _delete_erased(self, db: psycopg.Connection) -> None:
        """Delete the copies of collections that are gone."""
        copies = [path.parent for path in self.folder.parent.glob(f"users/*/{FILE}") if _is_idle(path)]
        known = {name for (name,) in db.execute("SELECT DISTINCT collection FROM leadline_documents WHERE kind = 'fact'")}
        for folder in copies:
            if f"users/{folder.name}" not in known:
                shutil.rmtree(folder, ignore_errors=True)

    def check_store(self, settings: Settings) -> None:
        """Raise `Denied` if the vectors are in a folder of this machine."""
        store = settings.knowledge.store
        section = dict(settings.plugins).get(store)
        if hasattr(section, "folder") and not getattr(section, "url", ""):
            way_out = 'set knowledge.store = "qdrant", and plugins.qdrant.url'
            raise Denied(f"knowledge.store is {store}, whose vectors no other machine has: {way_out}")

    # --- changes -----------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def lock(self, in_thread: Callable[..., Awaitable[Any]]) -> AsyncIterator[None]:
        """Hold the lock of writers over all machines; the server releases it with the connection."""
        async with super().lock(in_thread):
            connection = await in_thread(self._locking)
            try:
                while not await in_thread(self._is_acquired, connection):  # noqa: ASYNC110 - it is elsewhere
                    await asyncio.sleep(_PAUSE)
                self._writer = connection
                await in_thread(self.pull)
                yield
            finally:
                self._writer = None
                connection.close()

    def _locking(self) -> psycopg.Connection:
        with self._database.translated():
            return self._database.connect()

    def _is_acquired(self, connection: psycopg.Connection) -> bool:
        with self._database.translated():
            acquire = "SELECT pg_try_advisory_lock(hashtext('leadline_documents'), hashtext(%s))"
            row = connection.execute(acquire, (self._collection,)).fetchone()
            return bool(row and row[0])

    @contextmanager
    def _transaction(self, *, new_version: bool = True) -> Iterator[psycopg.Cursor]:
        """Provide a transaction on the connection that has the lock, and bring the copy up to date."""
        assert self._writer is not None, "a writer holds the lock"
        with self._database.translated(), self._writer.transaction(), self._writer.cursor() as cursor:
            if new_version:
                cursor.execute(_PUT, self._row("fact", "version", uuid4().hex.encode()))
            yield cursor
        self.pull()

    def _row(self, kind: str, name: str, value: bytes = b"", key: str = "", source: bytes = b"") -> Sequence[Any]:
        return kind, self._collection, name, key, value, source

    def expect(self, keys: Iterable[str]) -> None:
        """Note keys before vectors are stored under them."""
        with self._transaction(new_version=False) as cursor:
            cursor.executemany(_PUT, [self._row("unused", key) for key in keys])

    def add_texts(self, entries: Iterable[Entry]) -> None:
        """Do nothing: the texts are copied, as on every machine."""

    def replace(self, entries: Sequence[Entry]) -> None:
        """Make versions count."""
        with self._transaction() as cursor:
            cursor.execute(_UNUSE, ("document", self._collection, [entry.id for entry in entries]))
            cursor.execute(_DROP, ("unused", self._collection, [entry.key for entry in entries]))
            rows = (self._row("document", it.id, _packed(it), it.key, it.source) for it in entries)
            cursor.executemany(_PUT, rows)

    def remove(self, ids: Iterable[str]) -> None:
        """Remove documents; their versions become unused."""
        names = [*ids]
        with self._transaction() as cursor:
            for statement in (_UNUSE, _DROP):
                cursor.execute(statement, ("document", self._collection, names))

    def unused(self) -> list[str]:
        """Return the keys under which nothing that counts is stored."""
        with self._database.connected() as db:
            return [name for (name,) in db.execute(f"SELECT name {_OF}", ("unused", self._collection))]  # noqa: S608

    def drop(self, keys: Sequence[str]) -> None:
        """Forget unused keys, whose vectors are deleted."""
        with self._transaction(new_version=False) as cursor:
            cursor.execute(_DROP, ("unused", self._collection, [*keys]))
            cursor.execute(_FORGET, ("fact", self._collection, self._collection))

    def set_about(self, facts: Mapping[str, str]) -> None:
        """Set facts about the collection."""
        with self._transaction() as cursor:
            cursor.executemany(_PUT, [self._row("fact", name, value.encode()) for name, value in facts.items()])

    # --- files -------------------------------------------------------------------------------------------------------

    def _keep(self, name: str, data: bytes) -> None:
        with self._database.connected() as db:
            db.execute(_PUT, self._row("file", name, data))

    def _kept(self, name: str) -> bytes:
        with self._database.connected() as db:
            row = db.execute(f"SELECT value {_OF} AND name = %s", ("file", self._collection, name)).fetchone()  # noqa: S608
        if row is None:
            raise FileNotFoundError(errno.ENOENT, "there is no such file", name)
        return bytes(row[0])

    def _discard(self, names: Iterable[str]) -> None:
        with self._database.connected() as db:
            db.execute(_DROP, ("file", self._collection, [*names]))

    def _aside(self) -> Iterator[tuple[str, bytes]]:
        select = f"SELECT name, value {_OF} AND name LIKE %s"  # noqa: S608
        with self._database.connected() as db:
            rows = db.execute(select, ("file", self._collection, f"{REMOVED}/%.json")).fetchall()
        return ((name.removeprefix(f"{REMOVED}/"), bytes(value)) for name, value in rows)


def _packed(entry: Entry) -> bytes:
    """Return a version with its passages, but not what has columns of its own."""
    passages = [passage.model_dump(mode="json", exclude_defaults=True) for passage in entry.passages]
    state = [entry.digest, entry.title, entry.size, entry.mtime_ns, entry.seen_ns, entry.problem, entry.about.decode()]
    return zlib.compress(json.dumps([*state, passages]).encode())


def _unpacked(name: str, key: str, value: bytes, source: bytes) -> Entry:
    *state, about, passages = json.loads(zlib.decompress(value))
    return Entry(name, key, *state, about.encode(), source, [*map(Evidence.model_validate, passages)])


def _is_idle(path: Path) -> bool:
    return path.stat().st_mtime < time.time() - _IDLE


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold the lock of a copy, over all processes of this machine."""
    with private_file(path).open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)
