"""A database in Postgres."""

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
# Seconds after a failure in which nobody else tries: many threads would wait one after another.
_REST = 1.0
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
    """A database by URL: a connection that writes, one that reads without waiting for writers, and one that listens.

    They come back after a restart.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._name = without_password(url)
        self._writing, self._reading, self._listening = threading.Lock(), threading.Lock(), threading.Lock()
        self._connections: dict[threading.Lock, psycopg.Connection] = {}
        self._rest = 0.0
        self._listener: psycopg.Connection | None = None
        self._closed = threading.Event()

    def write(self, work: Callable[[Cursor], T], *, lasting: bool = False, silent: bool = False) -> T:
        def transaction(connection: psycopg.Connection) -> T:
            with connection.transaction():
                if not lasting:
                    connection.execute("SET LOCAL synchronous_commit = off")
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                result = work(_Transaction(connection))
                if not silent:
                    connection.execute(f"NOTIFY {_CHANNEL}".encode())
                return result

        return self._do(self._writing, transaction)

    def read(self, statement: str, *values: Any) -> list[Sequence[Any]]:
        """Return the rows of a query."""
        return self._do(self._reading, lambda connection: _Transaction(connection).rows(statement, *values))

    def now(self) -> float:
        """Return the time of the server: machines may be seconds apart."""
        return float(self.read("SELECT EXTRACT(EPOCH FROM clock_timestamp())")[0][0])

    def _do(self, lock: threading.Lock, work: Callable[[psycopg.Connection], T]) -> T:
        """Work on the connection of a lock."""
        end = time.monotonic() + _PATIENCE
        with lock:
            while True:
                if time.monotonic() < self._rest:
                    raise self._unavailable("the last attempt failed just now")
                try:
                    if lock not in self._connections:
                        self._connections[lock] = self._connect()
                    return work(self._connections[lock])
                except psycopg.OperationalError as error:
                    if connection := self._connections.pop(lock, None):
                        connection.close()
                    if time.monotonic() > end or self._closed.wait(_PAUSE):
                        self._rest = time.monotonic() + _REST
                        raise self._unavailable(error) from error
                except psycopg.Error as error:
                    raise self._unavailable(error) from error

    def _connect(self) -> psycopg.Connection:
        timeout = {"connect_timeout": _CONNECT_TIMEOUT, "tcp_user_timeout": _CONNECT_TIMEOUT * 1000}
        about = psycopg.conninfo.make_conninfo(self._url, **timeout, client_encoding="utf-8")
        return psycopg.connect(about, autocommit=True)

    def _unavailable(self, error: object) -> QueueUnavailable:
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
        with self._writing, self._reading, self._listening:
            for connection in (*self._connections.values(), self._listener):
                if connection:
                    connection.close()
            self._connections, self._listener = {}, None


def without_password(url: str) -> str:
    """Return the address for messages."""
    known = psycopg.conninfo.conninfo_to_dict(url)
    return f"in Postgres, database {known.get('dbname', '')} on {known.get('host', 'the default host')}"
