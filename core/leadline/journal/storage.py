"""SQLite off the event loop: four threads for the whole process, one transaction for all that waits together.

In the loop, two hundred runs stalled it for twenty seconds. A file is bound to one thread; a write that is awaited
has been committed. Once a write failed, the file is taken for broken, so that nothing more is paid for in vain.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from leadline.errors import JournalError
from leadline.journal.storage_errors import explain
from leadline.journal.storage_file import JournalFile, Mode

T = TypeVar("T")
THREADS = 4
_pool: list[ThreadPoolExecutor] = []
_turn = itertools.count()


def _thread() -> ThreadPoolExecutor:
    if not _pool:
        _pool.extend(ThreadPoolExecutor(1, f"leadline-journal-{number}") for number in range(THREADS))
    return _pool[next(_turn) % THREADS]


os.register_at_fork(after_in_child=_pool.clear)  # a child has no threads; it would wait for them for ever


@dataclass
class _Job:
    do: Callable[[sqlite3.Connection], Any]
    future: asyncio.Future[Any]
    writes: bool
    durable: bool = False
    then: Callable[[Any], None] | None = None


class Storage:
    """One SQLite file. `mode` "read" works on a copy and never touches the folder."""

    def __init__(self, path: Path, mode: Mode) -> None:
        self.path = path
        self.mode = mode
        self.broken: JournalError | None = None
        self._loop = asyncio.get_running_loop()
        self._thread = _thread()
        self._waiting: list[_Job] = []
        self._guard = threading.Lock()
        self._file = JournalFile(path, mode)
        self._synchronous = ""

    async def open(self) -> None:
        """Lock, check and open the file."""
        try:
            await self._loop.run_in_executor(self._thread, self._file.open)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Write what is queued and close; a second time does nothing."""
        await self._loop.run_in_executor(self._thread, self._close)

    async def read(self, do: Callable[[sqlite3.Connection], T]) -> T:
        """Return what `do` reads."""
        result: T = await self._submit(do, writes=False)
        return result

    async def write(
        self,
        do: Callable[[sqlite3.Connection], T],
        *,
        durable: bool = False,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """Return what `do` gave, once it is committed; with `durable` a power loss keeps it as well.

        `then` gets it on the event loop, also where the caller was cancelled meanwhile.
        """
        result: T = await self._submit(do, writes=True, durable=durable, then=then)
        return result

    def write_soon(self, do: Callable[[sqlite3.Connection], Any]) -> None:
        """Queue a write: committed before any that is queued later. An error of it shows as `broken`."""
        self._submit(do, writes=True).add_done_callback(lambda done: done.cancelled() or done.exception())

    def _submit(
        self,
        do: Callable[[sqlite3.Connection], Any],
        *,
        writes: bool,
        durable: bool = False,
        then: Callable[[Any], None] | None = None,
    ) -> asyncio.Future[Any]:
        job = _Job(do, self._loop.create_future(), writes, durable, then)
        with self._guard:
            self._waiting.append(job)
            first = len(self._waiting) == 1
        if first:
            # Not before this turn of the loop is over: what it still queues is in the same transaction. To wake a
            # thread costs more than most of these writes.
            self._loop.call_soon(self._thread.submit, self._drain)
        return job.future

    def _drain(self) -> None:
        with self._guard:
            jobs, self._waiting = self._waiting, []
        reads = [job for job in jobs if not job.writes]
        writes = [job for job in jobs if job.writes]
        answers = self._write(writes) + [self._one(job) for job in reads]
        if answers:
            self._loop.call_soon_threadsafe(_answer, answers)

    def _write(self, jobs: list[_Job]) -> list[_Answer]:
        if not jobs:
            return []
        try:
            if self.broken:
                raise self.broken
            results = self._transaction(jobs)
        except Exception as error:  # noqa: BLE001 - it belongs to whoever waits, on another thread
            self.broken = explain(error, self.path) if isinstance(error, sqlite3.Error) else self.broken
            return [(job, None, self.broken or error) for job in jobs]
        return [(job, result, None) for job, result in zip(jobs, results, strict=True)]

    def _transaction(self, jobs: list[_Job]) -> list[Any]:
        connection = self._open_connection()
        self._set_synchronous("full" if any(job.durable for job in jobs) else "normal")
        connection.execute("begin immediate")
        try:
            results = [job.do(connection) for job in jobs]
            connection.execute("commit")
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise
        return results

    def _one(self, job: _Job) -> _Answer:
        try:
            return job, job.do(self._open_connection()), None
        except sqlite3.Error as error:
            return job, None, explain(error, self.path)
        except Exception as error:  # noqa: BLE001 - it belongs to whoever waits, on another thread
            return job, None, error

    def _open_connection(self) -> sqlite3.Connection:
        if self._file.connection is None:
            raise JournalError(f"the journal {self.path} is closed")
        return self._file.connection

    def _set_synchronous(self, level: str) -> None:
        if level != self._synchronous:
            self._open_connection().execute(f"pragma synchronous={level}")
            self._synchronous = level

    def _close(self) -> None:
        try:
            if self._file.connection:
                self._drain()
        finally:
            self._file.close()


_Answer = tuple[_Job, Any, BaseException | None]


def _answer(answers: list[_Answer]) -> None:
    for job, result, error in answers:
        problem = error
        if job.then and problem is None:  # whether or not anybody still waits for it
            try:
                job.then(result)
            except Exception as raised:  # noqa: BLE001 - it belongs to whoever waits, and the others still wait
                problem = raised
        if job.future.done():
            continue
        if problem is None:
            job.future.set_result(result)
        else:
            job.future.set_exception(problem)
