"""The journal of a run in Postgres.

The row of the run has the number of its latest session, which every transaction compares: it is the fencing token. The
row stays locked until the commit, so that a later session waits, and then shuts the earlier ones out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from leadline.errors import JournalBusy, JournalError, LeadlineError
from leadline.files import private_folder
from leadline.stores import Mode
from leadline_server.fleet.copies import LIFETIME, Known, RunCopies
from leadline_server.queue.records import QueueUnavailable

# Bytes of all entries, as in a file.
_MOST_ENTRIES = 256 * 2**20
_FENCE = "SELECT session FROM leadline_runs WHERE path = %s AND NOT deleted FOR UPDATE"
_BEGIN = f"""UPDATE leadline_runs SET session = session + 1, holder = %s, touched = clock_timestamp(), live = '',
    changed = pg_current_xact_id()
    WHERE path = %s AND NOT deleted
    AND (%s OR holder = '' OR touched < clock_timestamp() - interval '{LIFETIME} s') RETURNING session"""  # noqa: S608


class PostgresRecords:
    """The entries and blobs of one run: of the transaction that is open, or each read in one of its own."""

    def __init__(self, runs: RunCopies, folder: Path, owns: Callable[[], bool] | None) -> None:
        self._runs, self._folder, self._owns = runs, folder, owns
        self.path = runs.path(folder)
        self.known: Known = {}
        self.connection: psycopg.Connection | None = None

    def put(self, space: str, name: str, value: str, mark: str) -> None:
        statement = (
            "INSERT INTO leadline_entries (path, space, name, value, mark) VALUES (%s, %s, %s, %s, %s) "
            "ON CONFLICT (path, space, name) DO UPDATE SET value = excluded.value, mark = excluded.mark"
        )
        self._execute(statement, self.path, space, name, value, mark)

    def delete(self, space: str, names: Iterable[str] | None = None) -> None:
        statement = "DELETE FROM leadline_entries WHERE path = %s AND space = %s AND (%s OR name = ANY(%s))"
        self._execute(statement, self.path, space, names is None, [*(names or ())])

    def entries(self) -> Sequence[Sequence[Any]]:
        size = "SELECT sum(length(space) + length(name) + length(value)) FROM leadline_entries WHERE path = %s"
        if (self._execute(size, self.path)[0][0] or 0) > _MOST_ENTRIES:
            raise JournalError(f"the entries of the journal have more than {_MOST_ENTRIES >> 20} MB, and are not read")
        return self._execute("SELECT space, name, value, mark FROM leadline_entries WHERE path = %s", self.path)

    def put_blob(self, digest: str, data: bytes) -> None:
        self._execute("INSERT INTO leadline_blobs VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", self.path, digest, data)

    def blob(self, digest: str) -> Any:
        rows = self._execute("SELECT data FROM leadline_blobs WHERE path = %s AND digest = %s", self.path, digest)
        return rows[0][0] if rows else None

    def next_session(self) -> int:
        rows = self._execute(_BEGIN, self._runs.holder, self.path, self._owns is not None)
        if not rows:
            raise JournalBusy(f"another process works on the run {self.path}")
        self._execute("DELETE FROM leadline_messages WHERE path = %s", self.path)
        return int(rows[0][0])

    def keep_files(self) -> None:
        assert self.connection
        self._runs.keep(self.connection, self._folder, self.known)

    def _execute(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        if not self.connection:
            with _as_busy():
                return self._runs.connections.rows(statement, *values)
        cursor = self.connection.execute(statement.encode(), values)
        return cursor.fetchall() if cursor.description else []


class PostgresJournal:
    """The journal of one run, whose folder here is a copy that the session brings up to date first."""

    def __init__(self, runs: RunCopies, folder: Path, mode: Mode, owns: Callable[[], bool] | None) -> None:
        self.session = 0
        self.is_open = False
        self.records = PostgresRecords(runs, folder, owns)
        self._runs, self._folder, self._mode, self._owns = runs, folder, mode, owns

    def open(self) -> None:
        """Copy the files of the run for a session that writes. Raises `JournalBusy`, `JournalError`."""
        if self._mode == "write":
            with _as_busy():
                private_folder(self._folder)
                if self._owns is None and self._runs.is_active(self._folder):
                    raise JournalBusy(f"another process is working on the run in {self._folder}; try again later")
                self.records.known = self._runs.begin(self._folder)
        elif not self._runs.has(self._folder):
            raise JournalError(f"no journal at {self._folder}; `leadline runs list` shows the runs")
        self.is_open = True

    @contextmanager
    def transaction(self, *, durable: bool) -> Iterator[PostgresRecords]:
        with (
            _as_busy(),
            self._runs.connections.transaction(_FENCE, self.records.path) as (connection, rows),
        ):
            if not rows or (self.session and rows[0][0] != self.session):
                raise JournalBusy(f"another process continues the run in {self._folder}, or it was deleted")
            self.records.connection = connection
            try:
                yield self.records
            finally:
                self.records.connection = None

    def was_taken_over(self) -> bool:
        """Return whether a later session of this process has begun; of others, the next transaction tells."""
        return self.is_open and self._mode == "write" and not self._runs.is_last(self.records.path, self.records.known)

    def close(self) -> None:
        if self.is_open and self._mode == "write":
            with suppress(LeadlineError):  # the run counts as left soon
                self._runs.end(self._folder, self.session, self.records.known)
        self.is_open = False


@contextmanager
def _as_busy() -> Iterator[None]:
    """Raise `JournalBusy` for a database that does not answer: the session ends, and another one continues it.

    It must not wait: the clocks of its stages would run on, and it would take other ways.
    """
    try:
        yield
    except (QueueUnavailable, OSError) as error:
        raise JournalBusy(f"{error}; completed work is kept, and the run continues when it is back") from error
    except LeadlineError as error:
        raise error if isinstance(error, JournalError) else JournalError(str(error)) from error
