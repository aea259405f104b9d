"""The copies of runs in the folder of this machine, and what sessions of this process store of them in Postgres."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from zlib import crc32

import psycopg
from psycopg.types.json import Jsonb

from leadline.encoding import digest as digest_of
from leadline.errors import LeadlineError
from leadline.events import use_clock
from leadline.files import private_folder
from leadline.runs import METADATA, PRINCIPALS
from leadline.stores import kept_files
from leadline_server.fleet.events import EventFeed
from leadline_server.fleet.files import RunFiles
from leadline_server.queue.connections import Connections

log = logging.getLogger(__name__)
# Seconds after the last sign of a process until its runs may be taken without asking.
LIFETIME = 15
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
# Seconds between two signs of this process. One for a run whose row is locked at the moment is left out, for it would
# hold up those of others.
_TOUCH = 1.0
# Seconds by which this machine's clock may differ from that of the database without being corrected.
_APART = 0.5
# In the place of the journal: the folder is that of a run.
JOURNAL, _MARKER = "journal.sqlite", b"The journal of this run is in the database that runs.database names.\n"
ACTIVE = f"holder <> '' AND touched > clock_timestamp() - interval '{LIFETIME} s'"
_RUN = "SELECT changed::text, metadata, files, deleted FROM leadline_runs WHERE path = %s AND changed::text <> %s"
_EMPTY = digest_of(b"")
Known = dict[str, tuple[tuple[int, ...], str]]


class RunCopies:
    """Copies of runs in a folder, brought up to date from Postgres and an object store."""

    def __init__(self, url: str, folder: Path, files: RunFiles, live: str = "") -> None:
        self.connections = Connections(url)
        self.holder = f"{socket.gethostname()}.{os.getpid()}.{token_hex(4)}"
        self._root, self._files = private_folder(folder.absolute()), files
        bound, _, advertised = (live or "127.0.0.1").partition(":")
        self._host = bound, advertised or (bound if bound != "0.0.0.0" else socket.gethostname())  # noqa: S104
        # Of each folder of runs, the transaction from which on changes are unknown; of each run, the version of its
        # copy, and whether that has the files.
        self._since: dict[str, str] = {}
        self._copies: dict[str, tuple[str, bool]] = {}
        # Each run has one of these locks: files may come slowly.
        self._locks = [threading.RLock() for _ in range(64)]
        self._listing = threading.Lock()
        self._threads = ThreadPoolExecutor(8, "files of runs")
        # The runs on which sessions of this process work: their folders are ahead of the store. Of these, the time,
        # size and number of each file as it was last stored, with its digest.
        self._working: dict[str, Known] = {}
        self._live: dict[str, str] = {}
        self._feed = EventFeed(self.connections)
        self._closed = threading.Event()
        with self.connections.transaction() as (connection, _):
            connection.execute(_TABLES)
        self._set_clock()
        threading.Thread(target=self._touch, name="runs", daemon=True).start()

    def close(self) -> None:
        """End the threads and close the connections."""
        self._closed.set()
        self._feed.close()
        self._threads.shutdown(wait=False)
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

    def pull(self, folder: Path, *, files: bool = False) -> None:
        path = self.path(folder)
        if path and path != PRINCIPALS and self._pull_run(path):
            return
        with self._listing:
            self._pull_folder(path)
        for run, (_, with_files) in [*self._copies.items()] if files else ():
            if run.rpartition("/")[0] == path and not with_files:
                self._pull_run(run)

    def _lock(self, path: str) -> threading.RLock:
        return self._locks[crc32(path.encode()) % len(self._locks)]

    def _pull_run(self, path: str) -> bool:
        """Copy a run with its files; return False if there is none."""
        with self._lock(path):
            version, with_files = self._copies.get(path, ("", False))
            known = with_files and (self._root / path / JOURNAL).is_file()
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
        statement += "AND (deleted OR (starts_with(path, %s) AND (%s OR position('/' IN substr(path, %s)) = 0)))"
        values = since, below, path == PRINCIPALS, len(below) + 1
        rows = self.connections.rows(statement, *values)
        if since == "0":  # what was deleted long ago, too
            known = {row[0] for row in rows}
            for marker in folder.glob(f"{'*/' * (path == PRINCIPALS)}*/{JOURNAL}"):
                run = self.path(marker.parent)
                with self._lock(run):
                    is_known = run in known or run in self._copies or run in self._working
                    if not is_known and marker.stat().st_size == len(_MARKER):
                        self._remove(run)
        for run, changed, metadata, files, deleted in rows:
            with self._lock(run):
                if run not in self._working and self._copies.get(run, ("",))[0] != changed:
                    empty = {name: digest for name, digest in files.items() if digest == _EMPTY}
                    self._copy(run, metadata, empty, deleted=deleted)
                    self._copies[run] = changed, False
        self._since[path] = now

    def _copy(self, path: str, metadata: bytes | None, files: dict[str, str], *, deleted: bool) -> None:
        folder = self._root / path
        if deleted:
            self._remove(path)
            return
        missing = [name for name, digest in files.items() if not _has(folder / name, digest)]
        if missing:
            with self.connections.transaction() as (connection, _):
                self._each(missing, lambda name: self._get(connection, path, name, files[name]))
        if metadata is not None:  # else its first session has just begun
            _write(folder / METADATA, metadata)
        if not (folder / JOURNAL).is_file():
            _write(folder / JOURNAL, _MARKER)

    def _remove(self, path: str) -> None:
        """Remove a copy; with the last one of a principal also the index, which has words of the reports."""
        folder = self._root / path
        shutil.rmtree(folder, ignore_errors=True)
        if path.startswith(PRINCIPALS) and all(item.name[0] == "." for item in folder.parent.glob("*")):
            shutil.rmtree(folder.parent, ignore_errors=True)

    def _get(self, connection: psycopg.Connection, path: str, name: str, digest: str) -> None:
        data = b"" if digest == _EMPTY else self._files.get(connection, path, digest)
        if digest_of(data) == digest:
            _write(self._root / path / name, data)
        else:
            log.warning("the file %s of the run %s is lost or damaged", name, path)

    def _each(self, names: Sequence[str], do: Callable[[str], None]) -> None:
        """Do something for many files at once, and return when all are done."""
        for done in wait([self._threads.submit(do, name) for name in names]).done:
            done.result()

    def drop(self, folder: Path) -> None:
        path = self.path(folder)
        with self._listing, self._lock(path):
            shutil.rmtree(folder, ignore_errors=True)
            self._copies.pop(path, None)
            self._since.pop(path.rpartition("/")[0], None)

    def has(self, folder: Path) -> bool:
        """Return whether a session of the run has begun."""
        return bool(self.connections.rows("SELECT 1 FROM leadline_runs WHERE path = %s", self.path(folder)))

    def begin(self, folder: Path) -> Known:
        """Copy a run for a session of this process, which writes into the copy; return what is known of its files."""
        path = self.path(folder)
        self.connections.rows("INSERT INTO leadline_runs (path) VALUES (%s) ON CONFLICT DO NOTHING", path)
        with self._lock(path):
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
        kept = ((self._root / path / name, name, digest) for (files,) in rows for name, digest in files.items())
        return {name: (_stamp(file), digest) for file, name, digest in kept if file.is_file()}

    def is_last(self, path: str, known: Known) -> bool:
        """Return whether no later session of this process works on a run."""
        return self._working.get(path) is known

    def end(self, folder: Path, session: int, known: Known) -> None:
        """Let go of a run."""
        path = self.path(folder)
        with self._lock(path):
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

        def store(name: str) -> None:
            stamp, data = _stamp(folder / name), (folder / name).read_bytes()
            self._files.put(connection, path, digest_of(data), data)
            known[name] = stamp, digest_of(data)

        self._each([name for name in names if known.get(name, (None,))[0] != _stamp(folder / name)], store)
        after = {name: digest for name, (_, digest) in known.items()}
        metadata = (folder / METADATA).read_bytes() if (folder / METADATA).is_file() else None
        connection.execute(
            "UPDATE leadline_runs SET metadata = %s, files = %s, changed = pg_current_xact_id() "
            "WHERE path = %s AND (metadata IS DISTINCT FROM %s OR %s)",
            (metadata, Jsonb(after), path, metadata, before != after),
        )

    def is_active(self, folder: Path) -> bool:
        path = self.path(folder)
        rows = self.connections.rows(f"SELECT {ACTIVE}, live FROM leadline_runs WHERE path = %s", path)  # noqa: S608
        is_active, live = rows[0] if rows else (False, "")
        self._live.pop(path, None)
        if is_active and live:
            self._live[path] = live
        return bool(is_active)


def _has(path: Path, digest: str) -> bool:
    return path.is_file() and digest_of(path.read_bytes()) == digest


def _stamp(path: Path) -> tuple[int, ...]:
    state = path.stat()
    return state.st_mtime_ns, state.st_size, state.st_ino


def _write(path: Path, data: bytes) -> None:
    """Write a file of a copy through a temporary one."""
    private_folder(path.parent)
    temporary = path.with_name(f".{path.name[:40]}.{token_hex(4)}")
    temporary.write_bytes(data)
    temporary.replace(path)
