"""The runs of several machines in Postgres."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from leadline.contracts import Check
from leadline.errors import JournalBusy
from leadline.settings import Runs
from leadline.stores import Mode
from leadline_server.fleet.checks import checks
from leadline_server.fleet.copies import ACTIVE, RunCopies
from leadline_server.fleet.events import StoredEvents, StoredLog, StoredMailbox
from leadline_server.fleet.files import files_at
from leadline_server.fleet.journals import PostgresJournal

_PARTS = ("entries", "blobs", "events", "messages")
_FORGOTTEN = "deleted AND touched < clock_timestamp() - interval '30 days'"


def open_runs(runs: Runs) -> PostgresRuns:
    """Return the runs that the settings name. Raises `QueueUnavailable`, or `UsageError` for wrong settings."""
    return PostgresRuns(runs.database.get_secret_value(), runs.folder, files_at(runs.files), runs.live)


class PostgresRuns(RunCopies):
    """Implements `leadline.stores.RunStore`. `folder` holds the copies; `live` is HOST or HOST:ADVERTISED."""

    def check(self) -> Iterator[Check]:
        return checks(self.connections, self._files, self._host)

    def journal(self, folder: Path, mode: Mode, owns: Callable[[], bool] | None) -> PostgresJournal:
        return PostgresJournal(self, folder, mode, owns)

    @contextmanager
    def changing(self, folder: Path) -> Iterator[None]:
        path = self.path(folder)
        with self._lock(path), self._idle(folder) as (connection, _):
            known = self._stored(path)
            yield
            self.keep(connection, folder, known)

    def delete(self, folder: Path) -> None:
        """Delete a run, or all of a principal. Names stay for a month: until all machines have deleted their copies."""
        with self._idle(folder) as (connection, paths):
            for path in paths:
                self._files.delete(connection, path)
            for part in _PARTS:
                connection.execute(f"DELETE FROM leadline_{part} WHERE path = ANY(%s)".encode(), (paths,))  # noqa: S608
            connection.execute(
                "UPDATE leadline_runs SET deleted = true, metadata = NULL, files = '{}', holder = '', "
                "session = session + 1, touched = clock_timestamp(), changed = pg_current_xact_id() "
                "WHERE path = ANY(%s)",
                (paths,),
            )
            connection.execute(f"DELETE FROM leadline_runs WHERE {_FORGOTTEN}".encode())  # noqa: S608

    @contextmanager
    def _idle(self, folder: Path) -> Iterator[tuple[psycopg.Connection, list[str]]]:
        path = self.path(folder)
        of = "path = %s OR starts_with(path, %s)"
        statement = f"SELECT path, {ACTIVE} FROM leadline_runs WHERE {of} ORDER BY path FOR UPDATE"  # noqa: S608 - constants
        with self.connections.transaction(statement, path, f"{path}/") as (connection, rows):
            if active := [run.rpartition("/")[2] for run, is_active in rows if is_active]:
                raise JournalBusy(f"the run {', '.join(active)} in {folder} is active; stop it first")
            yield connection, [run for run, _ in rows]

    def observer(self, folder: Path, session: int) -> StoredEvents:
        return StoredEvents(self.connections, self.path(folder), session)

    def next_seq(self, folder: Path) -> int:
        statement = "SELECT coalesce(max(seq), -1) + 1 FROM leadline_events WHERE path = %s"
        return int(self.connections.rows(statement, self.path(folder))[0][0])

    def events(self, folder: Path, after: int) -> StoredLog:
        return StoredLog(self.connections, self._feed, self.path(folder), after)

    def mailbox(self, folder: Path) -> StoredMailbox:
        return StoredMailbox(self.connections, self.path(folder), self.holder)

    def live_host(self) -> tuple[str, str]:
        return self._host

    def set_live(self, folder: Path, address: str) -> None:
        statement = "UPDATE leadline_runs SET live = %s WHERE path = %s AND holder = %s"
        self.connections.rows(statement, address, self.path(folder), self.holder)

    def live(self, folder: Path) -> str:
        return self._live.get(self.path(folder), "")
