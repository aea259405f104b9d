"""A database in Postgres."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import psycopg

from leadline_server.queue.connections import Connections
from leadline_server.queue.database import Cursor

T = TypeVar("T")
# Seconds in which a lost connection must come back, and between two attempts to listen.
_PATIENCE, _PAUSE = 5.0, 0.25
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
    """A database by URL. Its connections come back after a restart."""

    def __init__(self, url: str) -> None:
        self._connections = Connections(url, _PATIENCE)
        self._listening = threading.Lock()
        self._listener: psycopg.Connection | None = None
        self._closed = threading.Event()

    def write(self, work: Callable[[Cursor], T], *, lasting: bool = False, silent: bool = False) -> T:
        with self._connections.transaction("SELECT pg_advisory_xact_lock(%s)", _LOCK) as (connection, _):
            if not lasting:
                connection.execute("SET LOCAL synchronous_commit = off")
            result = work(_Transaction(connection))
            if not silent:
                connection.execute(f"NOTIFY {_CHANNEL}".encode())
            return result

    def read(self, statement: str, *values: Any) -> list[Sequence[Any]]:
        return [*self._connections.rows(statement.replace("?", "%s"), *values)]

    def now(self) -> float:
        """Return the time of the server: machines may be seconds apart."""
        return float(self.read("SELECT EXTRACT(EPOCH FROM clock_timestamp())")[0][0])

    def wait(self, seconds: float) -> None:
        """Listen for a commit."""
        with self._listening:
            try:
                if self._listener is None or self._listener.closed:
                    self._listener = self._connections.connect(autocommit=True)
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
        self._connections.close()
        with self._listening:
            if self._listener:
                self._listener.close()
            self._listener = None
