"""A database in Postgres."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import psycopg

from leadline_server.queue.database import Cursor
from leadline_server.queue.records import unavailable

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


class _Connection:
    """A connection that comes back after a restart. One thread after another uses it."""

    def __init__(self, url: str, closed: threading.Event) -> None:
        self._url, self._closed = url, closed
        self._lock = threading.Lock()
        self._connection: psycopg.Connection | None = None
        self._lost = self._rest = 0.0

    def do(self, work: Callable[[psycopg.Connection], T]) -> T:
        """Work, and repeat it if the connection was lost. Raises `QueueUnavailable`."""
        with self._lock:
            while True:
                try:
                    if time.monotonic() < self._rest:
                        raise self._unavailable("the last attempt failed just now")
                    self._connection = self._connection or connect(self._url)
                    result = work(self._connection)
                except psycopg.OperationalError as error:
                    self.drop()
                    self._lost = self._lost or time.monotonic()
                    if time.monotonic() > self._lost + _PATIENCE or self._closed.wait(_PAUSE):
                        self._rest = time.monotonic() + _REST
                        raise self._unavailable(error) from error
                except psycopg.Error as error:
                    raise self._unavailable(error) from error
                else:
                    self._lost = 0.0
                    return result

    def drop(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None

    def close(self) -> None:
        with self._lock:
            self.drop()

    def _unavailable(self, error: object) -> Exception:
        why = str(error).strip().splitlines() or [type(error).__name__]
        return unavailable(without_password(self._url), why[0])


class PostgresDatabase:
    """A database by URL: a connection for transactions, one for queries that waits for none, and one that listens."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._closed = threading.Event()
        self._writer, self._reader = _Connection(url, self._closed), _Connection(url, self._closed)
        self._listening = threading.Lock()
        self._listener: psycopg.Connection | None = None

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

        return self._writer.do(transaction)

    def read(self, statement: str, *values: Any) -> list[Sequence[Any]]:
        """Return the rows of a query."""
        return self._reader.do(lambda connection: _Transaction(connection).rows(statement, *values))

    def now(self) -> float:
        """Return the time of the server: machines may be seconds apart."""
        return float(self.read("SELECT EXTRACT(EPOCH FROM clock_timestamp())")[0][0])

    def wait(self, seconds: float) -> None:
        """Listen for a commit."""
        with self._listening:
            try:
                if self._listener is None or self._listener.closed:
                    self._listener = connect(self._url)
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
        self._writer.close()
        self._reader.close()
        with self._listening:
            if self._listener:
                self._listener.close()
            self._listener = None


def connect(url: str) -> psycopg.Connection:
    """Return a connection; a server that acknowledges nothing for some seconds counts as lost."""
    return psycopg.connect(
        url,
        autocommit=True,
        client_encoding="utf-8",
        connect_timeout=_CONNECT_TIMEOUT,
        tcp_user_timeout=_CONNECT_TIMEOUT * 1000,
        keepalives_idle=_CONNECT_TIMEOUT,
        keepalives_interval=1,
    )


def without_password(url: str) -> str:
    """Return the address for messages."""
    known = psycopg.conninfo.conninfo_to_dict(url)
    return f"in Postgres, database {known.get('dbname', '')} on {known.get('host', 'the default host')}"
