"""The runs of several machines in Postgres, and their copies in the folder of runs of this machine."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex

import psycopg
from psycopg.types.json import Jsonb

from leadline.errors import JournalBusy, LeadlineError
from leadline.events import use_clock
from leadline.files import private_folder
from leadline.runs import METADATA, PRINCIPALS
from leadline.settings import Runs
from leadline.stores import Mode, kept_files
from leadline_server.fleet.events import EventFeed, StoredEvents, StoredLog, StoredMailbox
from leadline_server.fleet.files import RunFiles, files_at
from leadline_server.fleet.journals import LIFETIME, PostgresJournal
from leadline_server.queue.connections import Connections

_TABLES = """
SELECT pg_advisory_xact_lock(1818584164);
CREATE TABLE IF NOT EXISTS leadline_runs (
    path TEXT PRIMARY KEY, session INTEGER NOT NULL DEFAULT 0, holder TEXT NOT NULL DEFAULT '',
    touched TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(), live TEXT NOT NULL DEFAULT '', metadata BYTEA,
    files JSONB NOT NULL DEFAULT '{}', deleted BOOLEAN NOT NULL DEFAULT false,
    changed XID8 NOT NULL DEFAULT pg_current_xact_id());
CREATE INDEX IF NOT EXISTS leadline_runs_changed ON leadline_runs (changed);
CREATE TABLE IF NOT EXISTS leadline_entries (
    path TEXT, space TEXT, name TEXT, value TEXT NOT NULL, mark TEXT NOT NULL,
    first_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (path, space, name));
CREATE TABLE IF NOT EXISTS leadline_blobs (path TEXT, digest TEXT, data BYTEA NOT NULL, PRIMARY KEY (path, digest));
CREATE TABLE IF NOT EXISTS leadline_events (path TEXT, seq BIGINT, data BYTEA NOT NULL, PRIMARY KEY (path, seq));
CREATE TABLE IF NOT EXISTS leadline_messages (
    path TEXT, name TEXT, body BYTEA NOT NULL, reply BYTEA, sent TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (path, name));
CREATE TABLE IF NOT EXISTS leadline_files (path TEXT, digest TEXT, data BYTEA NOT NULL, PRIMARY KEY (path, digest));
"""
_PARTS = ("entries", "blobs", "events", "messages")
# Seconds between two signs of this process. One for a run whose row is locked at the moment is left out, for it would
# hold up those of others.
_TOUCH = 1.0
# Seconds by which this machine's clock may differ from that of the database without being corrected.
_APART = 0.5
# In the place of the journal: the folder is that of a run.
_JOURNAL, _MARKER = "journal.sqlite", b"The journal of this run is in the database that runs.database names.\n"
_ACTIVE = f"holder <> '' AND touched > clock_timestamp() - interval '{LIFETIME} s'"
_RUN = "SELECT changed::text, metadata, files, deleted FROM leadline_runs WHERE path = %s AND changed::text <> %s"
_EMPTY = blake2b(digest_size=16).hexdigest()
Known = dict[str, tuple[tuple[int, int], str]]


def open_runs(runs: Runs) -> PostgresRuns:
    """Return the runs that the settings name. Raises `QueueUnavailable`, or `UsageError` for wrong settings."""
    return PostgresRuns(runs.database.get_secret_value(), runs.folder, files_at(runs.files), runs.live)


class PostgresRuns:
    """Implements `leadline.stores.RunStore`. `folder` holds the copies; `live` is HOST or HOST:ADVERTISED."""

    def __init__(self, url: str, folder: Path, files: RunFiles, live: str = "") -> None:
        self.connections = Connections(url)
        self.holder = f"{socket.gethostname()}.{os.getpid()}.{token_hex(4)}"
        self._root, self._files = private_folder(folder.absolute()), files
        bound, _, advertised = (live or "127.0.0.1").partition(":")
        self._host = bound, advertised or bound
        # Of each folder of runs, the transaction from which on changes are unknown; of each run, the version of its
        # copy, and whether that has the files.
        self._since: dict[str, str] = {}
        self._copies: dict[str, tuple[str, bool]] = {}
        self._pulling = threading.RLock()
        # The runs on which sessions of this process work: their folders are ahead of the store. Of these, the time and
        # size of each file as it was last stored, with its digest.
        self._working: dict[str, Known] = {}
        self._live: dict[str, str] = {}
        self._feed = EventFeed(self.connections)
        self._closed = threading.Event()
        with self.connections.transaction("SELECT 1") as (connection, _):
            connection.execute(_TABLES)
        self._set_clock()
        threading.Thread(target=self._touch, name="runs", daemon=True).start()

    def close(self) -> None:
        """End the threads and close the connections."""
        self._closed.set()
        self._feed.close()
        self.connections.close()

    def path(self, folder: Path) -> str:
        """Return the name of a run, or of a folder of runs, in the store; empty for the folder of all."""
        path = folder.absolute().relative_to(self._root).as_posix()
        return "" if path == "." else path

    def _touch(self) -> None:
        while not self._closed.wait(_TOUCH):
            with suppress(LeadlineError):
                self._set_clock()
                if self._working:
                    statement = "UPDATE leadline_runs SET touched = clock_timestamp() WHERE path IN (SELECT path "
                    statement += "FROM leadline_runs WHERE path = ANY(%s) AND holder = %s FOR UPDATE SKIP LOCKED)"
                    self.connections.rows(statement, [*self._working], self.holder)

    def _set_clock(self) -> None:
        """Take times from the clock of the database: those of machines may be apart."""
        sent = time.time()
        [(now,)] = self.connections.rows("SELECT extract(epoch FROM clock_timestamp())::float8")
        ahead = now - (sent + time.time()) / 2
        use_clock(ahead if abs(ahead) > _APART else 0.0)

    # --- copies ------------------------------------------------------------------------------------------------------

    def pull(self, folder: Path, *, files: bool = False) -> None:
        """Bring the copy of a run, or those in a folder of runs, up to date."""
        path = self.path(folder)
        with self._pulling:
            if path and path != PRINCIPALS and self._pull_run(path):
                return
            self._pull_folder(path)
            own = [run for run in self._copies if run.rpartition("/")[0] == path] if files else ()
            for run in own:
                self._pull_run(run)

    def _pull_run(self, path: str) -> bool:
        """Copy a run with its files; return False if there is none."""
        version, with_files = self._copies.get(path, ("", False))
        known = with_files and (self._root / path / _JOURNAL).is_file()
        rows = self.connections.rows(_RUN, path, version if known else "")
        if rows and path not in self._working:
            changed, metadata, files, deleted = rows[0]
            self._copy(path, metadata, files, deleted=deleted)
            for name in set(kept_files(self._root / path)) - set(files):
                (self._root / path / name).unlink()
            self._copies[path] = changed, True
        return known or bool(rows)

    def _pull_folder(self, path: str) -> None:
        folder = self._root / path
        since = self._since.get(path, "0") if folder.is_dir() else "0"
        below = f"{path}/" if path else ""
        [(now,)] = self.connections.rows("SELECT pg_snapshot_xmin(pg_current_snapshot())::text")
        statement = "SELECT path, changed::text, metadata, files, deleted FROM leadline_runs WHERE changed >= %s::xid8 "
        statement += "AND starts_with(path, %s) AND (%s OR position('/' IN substr(path, %s)) = 0)"
        values = since, below, path == PRINCIPALS, len(below) + 1
        for run, changed, metadata, files, deleted in self.connections.rows(statement, *values):
            if run not in self._working and self._copies.get(run, ("",))[0] != changed:
                empty = {name: digest for name, digest in files.items() if digest == _EMPTY}
                self._copy(run, metadata, empty, deleted=deleted)
                self._copies[run] = changed, False
        self._since[path] = now

    def _copy(self, path: str, metadata: bytes | None, files: dict[str, str], *, deleted: bool) -> None:
        folder = self._root / path
        if deleted:
            shutil.rmtree(folder, ignore_errors=True)
            return
        for name, digest in files.items():
            if not (folder / name).is_file() or _digest((folder / name).read_bytes()) != digest:
                with self.connections.transaction("SELECT 1") as (connection, _):
                    _write(folder / name, self._files.get(connection, path, digest))
        if metadata is not None:  # else its first session has just begun
            _write(folder / METADATA, metadata)
        if not (folder / _JOURNAL).is_file():
            _write(folder / _JOURNAL, _MARKER)

    # --- sessions ----------------------------------------------------------------------------------------------------

    def journal(self, folder: Path, mode: Mode, owns: Callable[[], bool] | None) -> PostgresJournal:
        """Return the journal of a run."""
        return PostgresJournal(self, folder, mode, owns)

    def has(self, folder: Path) -> bool:
        """Return whether a session of the run has begun."""
        return bool(self.connections.rows("SELECT 1 FROM leadline_runs WHERE path = %s", self.path(folder)))

    def begin(self, folder: Path) -> Known:
        """Copy a run for a session of this process, which writes into the copy; return what is known of its files."""
        path = self.path(folder)
        self.connections.rows("INSERT INTO leadline_runs (path) VALUES (%s) ON CONFLICT DO NOTHING", path)
        with self._pulling:
            known: Known = {}
            if path not in self._working:  # else the copy is ahead of the store
                self._copies.pop(path, None)
                known = self._stored(path)
            self._working[path] = known
        return known

    def _stored(self, path: str) -> Known:
        """Bring the copy of a run up to date; return what is known of its files."""
        self._pull_run(path)
        rows = self.connections.rows("SELECT files FROM leadline_runs WHERE path = %s", path)
        return {name: (_stamp(self._root / path / name), digest) for (files,) in rows for name, digest in files.items()}

    def is_last(self, folder: Path, known: Known) -> bool:
        """Return whether no later session of this process works on a run."""
        return self._working.get(self.path(folder)) is known

    def end(self, folder: Path, session: int, known: Known) -> None:
        """Let go of a run."""
        path = self.path(folder)
        with self._pulling:
            if self._working.get(path) is known:
                del self._working[path]
                self._copies.pop(path, None)
        statement = "UPDATE leadline_runs SET holder = '', live = '' WHERE path = %s AND session = %s AND holder = %s"
        self.connections.rows(statement, path, session, self.holder)

    def keep(self, connection: psycopg.Connection, folder: Path, known: Known) -> None:
        """Store the metadata and the files of a run in this transaction."""
        path = self.path(folder)
        before = {name: digest for name, (_, digest) in known.items()}
        for name in set(known) - set(names := kept_files(folder)):
            del known[name]
        for name in names:
            stamp = _stamp(folder / name)
            if known.get(name, (None,))[0] != stamp:
                data = (folder / name).read_bytes()
                self._files.put(connection, path, _digest(data), data)
                known[name] = stamp, _digest(data)
        after = {name: digest for name, (_, digest) in known.items()}
        metadata = (folder / METADATA).read_bytes() if (folder / METADATA).is_file() else None
        connection.execute(
            "UPDATE leadline_runs SET metadata = %s, files = %s, changed = pg_current_xact_id() "
            "WHERE path = %s AND (metadata IS DISTINCT FROM %s OR %s)",
            (metadata, Jsonb(after), path, metadata, before != after),
        )

    @contextmanager
    def changing(self, folder: Path) -> Iterator[None]:
        """Bring a run on which no session works up to date, and store what is changed of it. Raises `JournalBusy`."""
        with self._pulling, self._idle(folder) as connection:
            known = self._stored(self.path(folder))
            yield
            self.keep(connection, folder, known)

    def delete(self, folder: Path) -> None:
        """Delete a run; its name stays, so that all machines delete their copies. Raises `JournalBusy`."""
        path = self.path(folder)
        with self._idle(folder) as connection:
            self._files.delete(connection, path)
            for part in _PARTS:
                connection.execute(f"DELETE FROM leadline_{part} WHERE path = %s".encode(), (path,))  # noqa: S608
            connection.execute(
                "UPDATE leadline_runs SET deleted = true, metadata = NULL, files = '{}', holder = '', "
                "session = session + 1, changed = pg_current_xact_id() WHERE path = %s",
                (path,),
            )

    @contextmanager
    def _idle(self, folder: Path) -> Iterator[psycopg.Connection]:
        statement = f"SELECT {_ACTIVE} FROM leadline_runs WHERE path = %s FOR UPDATE"  # noqa: S608 - constants
        with self.connections.transaction(statement, self.path(folder)) as (connection, rows):
            if rows and rows[0][0]:
                raise JournalBusy(f"the run in {folder} is active; stop it first")
            yield connection

    def is_active(self, folder: Path) -> bool:
        """Return whether a session works on a run."""
        path = self.path(folder)
        rows = self.connections.rows(f"SELECT {_ACTIVE}, live FROM leadline_runs WHERE path = %s", path)  # noqa: S608
        is_active, live = rows[0] if rows else (False, "")
        self._live.pop(path, None)
        if is_active and live:
            self._live[path] = live
        return bool(is_active)

    # --- between machines --------------------------------------------------------------------------------------------

    def observer(self, folder: Path, session: int) -> StoredEvents:
        """Return what stores the events of a session."""
        return StoredEvents(self.connections, self.path(folder), session)

    def next_seq(self, folder: Path) -> int:
        """Return the number of the next event."""
        statement = "SELECT coalesce(max(seq), -1) + 1 FROM leadline_events WHERE path = %s"
        return int(self.connections.rows(statement, self.path(folder))[0][0])

    def events(self, folder: Path, after: int) -> StoredLog:
        """Return the events of a run with numbers above `after`."""
        return StoredLog(self.connections, self._feed, self.path(folder), after)

    def mailbox(self, folder: Path) -> StoredMailbox:
        """Return the messages to a run."""
        return StoredMailbox(self.connections, self.path(folder), self.holder)

    def live_host(self) -> tuple[str, str]:
        """Return the address to which live text is bound, and the one by which other machines reach it."""
        return self._host

    def set_live(self, folder: Path, address: str) -> None:
        """Tell other machines the address of the live text of a run."""
        statement = "UPDATE leadline_runs SET live = %s WHERE path = %s AND holder = %s"
        self.connections.rows(statement, address, self.path(folder), self.holder)

    def live(self, folder: Path) -> str:
        """Return that address as `is_active` last read it."""
        return self._live.get(self.path(folder), "")


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _stamp(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_mtime_ns, state.st_size


def _write(path: Path, data: bytes) -> None:
    """Write a file of a copy through a temporary one."""
    private_folder(path.parent)
    temporary = path.with_name(f".{path.name[:40]}.{token_hex(4)}")
    temporary.write_bytes(data)
    temporary.replace(path)
