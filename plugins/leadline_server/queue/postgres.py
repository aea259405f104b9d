"""The queue's database in Postgres."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import psycopg

from leadline_server.queue.database import Cursor
from leadline_server.queue.records import QueueUnavailable, unavailable

T = TypeVar("T")
# Seconds in which a lost connection must come back, and between two attempts.
_PATIENCE, _PAUSE = 5.0, 0.25
_CONNECT_TIMEOUT = 5
# The lock that makes writers come one after another, and the channel that tells of their commits.
_LOCK, _CHANNEL = 0x6C656164, "leadline_queue"


class _Transaction:
    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def __call__(self, statement: str, *values: Any) -> int:
        count: int = self._connection.execute(statement.replace("?", "%s").encode(), values).rowcount
        return count

    def rows(self, statement: str, *values: Any) -> list[Sequence[Any]]:
        return [*self._connection.execute(statement.replace("?", "%s").encode(), values).fetchall()]


class PostgresDatabase:
    """A database by URL: a connection for transactions, and one that listens. Both come back after a restart."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._name = without_password(url)
        self._lock, self._listening = threading.Lock(), threading.Lock()
        self._connection: psycopg.Connection | None = None
        self._listener: psycopg.Connection | None = None
        self._closed = threading.Event()

    def write(self, work: Callable[[Cursor], T], *, lasting: bool = False, silent: bool = False) -> T:
        def transaction(connection: psycopg.Connection) -> T:
            if not lasting:
                connection.execute("SET LOCAL synchronous_commit = off")
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            result = work(_Transaction(connection))
            if not silent:
                connection.execute(f"NOTIFY {_CHANNEL}".encode())
            return result

        return self._do(transaction)

    def read(self, statement: str, *values: Any) -> list[Sequence[Any]]:
        """Return the rows of a query."""
        return self._do(lambda connection: _Transaction(connection).rows(statement, *values))

    def now(self) -> float:
        """Return the time of the server: machines may be seconds apart."""
        return float(self.read("SELECT EXTRACT(EPOCH FROM clock_timestamp())")[0][0])

    def _do(self, transaction: Callable[[psycopg.Connection], T]) -> T:
        end = time.monotonic() + _PATIENCE
        with self._lock:
            while True:
                try:
                    self._connection = self._connection or self._connect()
                    with self._connection.transaction():
                        return transaction(self._connection)
                except psycopg.OperationalError as error:
                    if self._connection and not self._connection.closed:
                        self._connection.close()
                    self._connection = None
                    if time.monotonic() > end or self._closed.wait(_PAUSE):
                        raise self._unavailable(error) from error
                except psycopg.Error as error:
                    raise self._unavailable(error) from error

    def _connect(self) -> psycopg.Connection:
        return psycopg.connect(self._url, autocommit=True, connect_timeout=_CONNECT_TIMEOUT, client_encoding="utf-8")

    def _unavailable(self, error: Exception) -> QueueUnavailable:
        why = str(error).strip().splitlines() or [type(error).__name__]
        return unavailable(self._name, why[0])

    def wait(self, seconds: float) -> None:
        """Listen for a commit."""
        with self._listening:
            try:
                if self._listener is None or self._listener.closed:
                    self._listener = self._connect()
                    self._listener.execute(f"LISTEN {_CHANNEL}".encode())
                    return  # something may have been committed meanwhile
                for _ in self._listener.notifies(timeout=seconds, stop_after=1):
                    pass
            except psycopg.Error:
                if self._listener:
                    self._listener.close()
                self._listener = None
                self._closed.wait(min(seconds, _PAUSE))

    def close(self) -> None:
        self._closed.set()
        with self._lock, self._listening:
            for connection in (self._connection, self._listener):
                if connection:
                    connection.close()
            self._connection = self._listener = None


def without_password(url: str) -> str:
    """Return the address for messages."""
    known = psycopg.conninfo.conninfo_to_dict(url)
    return f"in Postgres, database {known.get('dbname', '')} on {known.get('host', 'the default host')}"
