"""The records of a journal outside the event loop: four threads for the process, one transaction for all that waits.

Two hundred runs that used SQLite in the event loop stalled it for twenty seconds. A journal is bound to one thread, and
an awaited write has been committed. After a failed write it counts as broken, so that no further call is paid for in
vain. The records are in a SQLite file in the folder of the run, unless a store keeps the run.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from leadline._runtime.journal.lock import FolderLock, resume_command
from leadline.errors import JournalBusy, JournalError
from leadline.files import check_database, has_layout, private_file, private_folder
from leadline.stores import LAYOUT, LAYOUT_VERSION, JournalStore, Mode, Records, store_of

T = TypeVar("T")
_THREADS = 4
# Seconds to wait for a run that is busy: a process that was killed may leave a child behind that still holds the lock
# until it has begun, and a process that was told to end may be about to.
PATIENCE = 0.5
_PAUSE = 0.05
# Bytes that must be free on the disk when a journal is opened for writing.
_MINIMUM_FREE = 8 * 2**20
# Seconds after which a disk that does not answer ends the session: the clocks of its stages run on meanwhile.
SILENCE = 10.0
# Bytes of a journal.
_LARGEST = 2**30
# Bytes of all entries. That of a call has one or two thousand.
_MOST_ENTRIES = 256 * 2**20
_LATER_SESSION = "select 1 from entries where space = 'session' and name = ?"
_NOT_WRITABLE = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "EROFS", "EACCES", "EPERM")

_pool: list[ThreadPoolExecutor] = []
_turn = itertools.count()
os.register_at_fork(after_in_child=_pool.clear)  # a child has no threads and would wait for them forever


def _next_thread() -> ThreadPoolExecutor:
    if not _pool:
        _pool.extend(ThreadPoolExecutor(1, f"leadline-journal-{number}") for number in range(_THREADS))
    return _pool[next(_turn) % _THREADS]


@dataclass(eq=False)
class _Job:
    """A read or write that waits for the thread."""

    run: Callable[[Records], Any]
    future: asyncio.Future[Any]
    writes: bool
    durable: bool = False
    then: Callable[[Any], None] | None = None
    result: Any = None
    error: BaseException | None = None

    def resolve(self) -> None:
        """Hand the result to the caller; runs in the event loop."""
        if self.then and self.error is None:  # also if the caller was cancelled: the write is committed
            try:
                self.then(self.result)
            except Exception as error:  # noqa: BLE001 - raised in the caller; the other jobs still have to be resolved
                self.error = error
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


class Storage:
    """The records of one journal. Mode "read" changes nothing; `owns` is that of `FolderLock`.

    The number of the session is a fencing token: once a later one has begun, nothing more is written.
    """

    def __init__(self, path: Path, mode: Mode, owns: Callable[[], bool] | None = None) -> None:
        self.path = path
        self.mode = mode
        # Why nothing more can be written; None while it can.
        self.broken: JournalError | None = None
        self._loop = asyncio.get_running_loop()
        self._thread = _next_thread()
        store = store_of(path)
        self._file: JournalStore = store.journal(path.parent, mode, owns) if store else _JournalFile(path, mode, owns)
        self._waiting: list[_Job] = []
        self._guard = threading.Lock()
        # Jobs without a result, the oldest first, and the one that was the oldest at the last look.
        self._pending: dict[_Job, None] = {}
        self._oldest: _Job | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        """Lock, check and open the file. Raises JournalError, JournalBusy if another process goes on working on it."""
        latest = self._loop.time() + PATIENCE
        while True:
            try:
                await self._loop.run_in_executor(self._thread, self._file.open)
                return self._look()
            except JournalBusy:
                await self.close()
                if self._loop.time() >= latest:
                    raise
            await asyncio.sleep(_PAUSE)

    def begin(self, session: int) -> None:
        """Write as this session from now on, until a later one begins."""
        self._file.session = session

    def is_current(self) -> bool:
        """Return whether the folder still belongs to this session."""
        return self.mode == "read" or not (isinstance(self.broken, JournalBusy) or self._file.was_taken_over())

    async def close(self) -> None:
        """Write the queue and close the file; a second time does nothing. A silent disk is not awaited."""
        if self._timer:
            self._timer.cancel()
        closing = self._loop.run_in_executor(self._thread, self._close)
        await asyncio.wait({closing}, timeout=SILENCE)
        if closing.done():
            closing.result()

    async def read(self, run: Callable[[Records], T]) -> T:
        """Return the result of a function that reads."""
        result: T = await self._submit(_Job(run, self._loop.create_future(), writes=False))
        return result

    async def write(
        self,
        run: Callable[[Records], T],
        *,
        durable: bool = False,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """Return the result of a function that writes, once it is committed; `durable` survives a power loss.

        `then` receives the result in the event loop, even if the caller was cancelled meanwhile.
        """
        result: T = await self._submit(_Job(run, self._loop.create_future(), writes=True, durable=durable, then=then))
        return result

    def write_soon(self, run: Callable[[Records], Any]) -> None:
        """Queue a write: it is committed before later ones; an error of it shows as `broken`."""
        job = _Job(run, self._loop.create_future(), writes=True)
        self._submit(job).add_done_callback(lambda done: done.cancelled() or done.exception())

    def _submit(self, job: _Job) -> asyncio.Future[Any]:
        if isinstance(self.broken, JournalBusy):
            job.future.set_exception(self.broken)
            return job.future
        self._pending[job] = None
        with self._guard:
            self._waiting.append(job)
            is_first = len(self._waiting) == 1
        if is_first:  # otherwise the thread has not started on the queue yet
            self._thread.submit(self._drain)
        return job.future

    def _drain(self) -> None:
        with self._guard:
            jobs, self._waiting = self._waiting, []
        self._write([job for job in jobs if job.writes])
        for job in jobs:
            if not job.writes:
                self._read(job)
        if jobs:
            self._loop.call_soon_threadsafe(self._resolve, jobs)

    def _resolve(self, jobs: list[_Job]) -> None:
        for job in jobs:
            self._pending.pop(job, None)
            job.resolve()

    def _look(self) -> None:
        """Break the file if a job has waited since the last look."""
        if self._oldest in self._pending:
            folder = self.path.parent
            silent, resume = f"the disk of {folder}", resume_command(folder)
            if store_of(folder):
                silent, resume = "the database of the runs", "another session continues the run"
            self.broken = JournalBusy(f"{silent} did not answer for {SILENCE:g} s; completed work is kept: {resume}")
            for job in self._pending:
                if not job.future.done():
                    job.future.set_exception(self.broken)
        self._oldest = next(iter(self._pending), None)
        self._timer = self._loop.call_later(SILENCE, self._look)

    def _write(self, jobs: list[_Job]) -> None:
        if not jobs:
            return
        try:
            if self.broken:
                raise self.broken
            with self._file.transaction(durable=any(job.durable for job in jobs)) as records:
                for job in jobs:
                    job.result = job.run(records)
        except Exception as error:  # noqa: BLE001 - raised in the callers
            if isinstance(error, sqlite3.Error | JournalError):
                self.broken = storage_error(error, self.path) if isinstance(error, sqlite3.Error) else error
            for job in jobs:
                job.error = self.broken or error

    def _read(self, job: _Job) -> None:
        try:
            job.result = job.run(self._file.records)
        except sqlite3.Error as error:
            job.error = storage_error(error, self.path)
        except Exception as error:  # noqa: BLE001 - raised in the caller
            job.error = error

    def _close(self) -> None:
        try:
            if self._file.is_open:
                self._drain()
        finally:
            self._file.close()


class FileRecords:
    """The tables of a SQLite file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.db = connection

    def put(self, space: str, name: str, value: str, mark: str) -> None:
        self.db.execute("insert or replace into entries values (?, ?, ?, ?)", (space, name, value, mark))

    def delete(self, space: str, names: Iterable[str] | None = None) -> None:
        if names is None:
            self.db.execute("delete from entries where space = ?", (space,))
        else:
            rows = [(space, name) for name in names]
            self.db.executemany("delete from entries where space = ? and name = ?", rows)

    def entries(self) -> Sequence[Sequence[Any]]:
        if not self.db.execute("select 1 from sqlite_master where name = 'entries'").fetchone():
            return []  # killed while it made the file: nothing was called yet
        size = self.db.execute("select sum(length(space) + length(name) + length(value)) from entries").fetchone()[0]
        if (size or 0) > _MOST_ENTRIES:
            raise JournalError(f"the entries of the journal have more than {_MOST_ENTRIES >> 20} MB, and are not read")
        return self.db.execute("select space, name, value, mark from entries").fetchall()

    def put_blob(self, digest: str, data: bytes) -> None:
        self.db.execute("insert or replace into blobs values (?, ?)", (digest, data))

    def blob(self, digest: str) -> Any:
        row = self.db.execute("select data from blobs where digest = ?", (digest,)).fetchone()
        return row[0] if row else None

    def next_session(self) -> int:
        last = self.db.execute("select max(cast(name as integer)) from entries where space = 'session'").fetchone()[0]
        return int(last or 0) + 1

    def keep_files(self) -> None:
        """Leave the files where they are."""


class _JournalFile:
    """The file: locked if it is written. All methods run on the storage's thread."""

    def __init__(self, path: Path, mode: Mode, owns: Callable[[], bool] | None) -> None:
        self._path = path
        self._mode = mode
        self._owns = owns
        self.session = 0
        self._records: FileRecords | None = None
        self._lock: FolderLock | None = None
        self._synchronous = ""

    @property
    def is_open(self) -> bool:
        return self._records is not None

    @property
    def records(self) -> FileRecords:
        if self._records is None:
            raise JournalError(f"the journal {self._path} is closed")
        return self._records

    def open(self) -> None:
        """Lock, check and open the file."""
        try:
            address = self._prepare() if self._mode == "write" else self._address()
            connection = sqlite3.connect(address, isolation_level=None, uri=True)
            # A flipped bit may leave text that is not UTF-8: the checksums report it, row by row.
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            self._records = FileRecords(connection)
            self._check_layout(connection)
        except (sqlite3.Error, OSError) as error:
            raise storage_error(error, self._path) from error

    @contextmanager
    def transaction(self, *, durable: bool) -> Iterator[Records]:
        """Run a transaction; a `durable` one makes the earlier ones survive a power loss, too."""
        connection, level = self.records.db, "full" if durable else "normal"
        if level != self._synchronous:
            connection.execute(f"pragma synchronous={level}")
            self._synchronous = level
        connection.execute("begin immediate")
        try:
            if self.session and connection.execute(_LATER_SESSION, (str(self.session + 1),)).fetchone():
                raise JournalBusy(f"another process continues the run in {self._path.parent}")
            yield self.records
            connection.execute("commit")
        finally:
            if connection.in_transaction:
                connection.execute("rollback")

    def close(self) -> None:
        """Close the file and release its lock; a second time does nothing."""
        try:
            if self._records:
                self._records.db.close()
        finally:
            self._records = None
            if self._lock:
                self._lock.release()

    def was_taken_over(self) -> bool:
        """Return whether another process has taken the lock over."""
        return self._lock is not None and not self._lock.is_current()

    def _prepare(self) -> str:
        """Lock and check the folder; return the URI of the file."""
        folder = private_folder(self._path.parent)
        self._lock = FolderLock(self._path.with_name(self._path.name + ".lock"), self._owns)
        self._refuse_links(folder)
        stats = os.statvfs(self._path.parent)
        free = stats.f_bavail * stats.f_frsize
        if free < _MINIMUM_FREE:
            raise JournalError(
                f"the disk of {self._path.parent} is full: {free / 2**20:.1f} MB free, {_MINIMUM_FREE / 2**20:.0f} MB "
                "needed to start; make room, or choose another folder with --set runs.folder=DIR"
            )
        check_database(self._path)
        return private_file(self._path).absolute().as_uri()

    @staticmethod
    def _refuse_links(folder: Path) -> None:
        """Raise `JournalError` for a link, a pipe or a device in a folder whose files a run will write."""
        with os.scandir(folder) as entries:
            for entry in entries:
                mode = entry.stat(follow_symlinks=False).st_mode
                if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISSOCK(mode)):
                    raise JournalError(
                        f"{entry.path} is a link, a pipe or a device, and a run writes only into its own folder; "
                        f"remove it, then: {resume_command(folder)}"
                    )

    def _address(self) -> str:
        """Return the URI with which a reader opens the file. It changes nothing in the folder."""
        if not self._path.exists():
            raise JournalError(f"no journal at {self._path}; `leadline runs list` shows the runs")
        check_database(self._path)
        wal = self._path.with_name(self._path.name + "-wal")
        for path in (self._path, wal):
            if path.exists() and path.stat().st_size > _LARGEST:
                raise JournalError(f"{path} has more than {_LARGEST >> 20:,} MB, and is not read")
        # Without a WAL nobody works on the run. SQLite would create one to read the file, and leave it behind.
        return f"{self._path.absolute().as_uri()}?mode=ro{'' if wal.exists() else '&immutable=1'}"

    def _check_layout(self, connection: sqlite3.Connection) -> None:
        if self._mode == "write":
            connection.execute("pragma journal_mode=wal")
            # The main file changes only when its owner closes it, so that a reader without the WAL sees one state.
            connection.execute("pragma wal_autocheckpoint=0")
        if self._mode == "write" and not _version_of(connection):
            with self.transaction(durable=False):
                if not _version_of(connection):  # another process was paused while it made the file
                    for statement in (*LAYOUT.split(";"), f"pragma user_version={LAYOUT_VERSION}"):
                        connection.execute(statement)
        if (version := _version_of(connection)) > LAYOUT_VERSION:
            raise JournalError(f"{self._path} was written by a newer Leadline (layout {version}); update leadline")
        if not has_layout(connection, LAYOUT):
            raise JournalError(f"{self._path} has tables that no run has: it is no journal of Leadline")


def _version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("pragma user_version").fetchone()[0])


def storage_error(error: sqlite3.Error | OSError, path: Path) -> JournalError:
    """Return the error with its cause, its file and the next command."""
    name = getattr(error, "sqlite_errorname", "") or errno.errorcode.get(getattr(error, "errno", None) or 0, "")
    resume = resume_command(path.parent)
    if name in ("SQLITE_FULL", "ENOSPC", "EDQUOT"):
        return JournalError(f"the disk of {path.parent} is full; completed work is kept: make room, then: {resume}")
    if name.startswith(_NOT_WRITABLE):
        return JournalError(
            f"cannot write to {path.parent} ({error}); make it writable, or choose another folder with "
            "--set runs.folder=DIR"
        )
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return JournalError(
            f"the journal {path} is damaged ({error}); the report and files beside it are untouched. Restore it from a "
            "backup, or start a new run: `leadline research QUESTION`"
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return JournalBusy(f"another program has the journal {path} open for writing; close it, then: {resume}")
    return JournalError(
        f"cannot read or write the journal {path} ({name or type(error).__name__}: {error}); then: {resume}"
    )
