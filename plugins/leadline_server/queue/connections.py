"""Connections to Postgres, which are used again, and made again after they were lost."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg

from leadline.errors import LeadlineError, UsageError
from leadline_server.queue.records import unavailable

T = TypeVar("T")
Rows = list[tuple[Any, ...]]
# Seconds until a connection, or a packet that nobody acknowledges, counts as lost.
_PATIENCE = 4
# Seconds of silence after which a connection counts as lost: a proxy may hold it for a server that is gone.
_SILENCE = 10.0
# Seconds after a failure in which nobody else tries to connect: many threads would wait one after another. Seconds
# between two attempts of a patient one.
_REST, _PAUSE = 1.0, 0.25


class Connection(psycopg.Connection[Any]):
    """A connection that does not wait for ever."""

    def wait(self, gen: Generator[Any, Any, T], *values: Any, **options: Any) -> T:
        """Wait for an answer. Raises `psycopg.OperationalError`."""
        return super().wait(_impatient(gen), *values, **options)


def _impatient(gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
    ready, end = None, time.monotonic() + _SILENCE
    try:
        while True:
            ready = yield gen.send(ready)
            if ready:
                end = time.monotonic() + _SILENCE
            elif time.monotonic() > end:
                raise psycopg.OperationalError(f"it did not answer for {_SILENCE:g} s")
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]


class Connections:
    """Transactions in any thread. They wait `patience` seconds for a server that is restarted.

    Raises `QueueUnavailable` if the database does not answer.
    """

    def __init__(self, url: str, patience: float = 0.0) -> None:
        try:
            known = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.Error:
            known = {"host": "@"}
        self.name = f"in Postgres, database {known.get('dbname', '')} on {known.get('host', 'the default host')}"
        if "@" in self.name:  # parts of the password are in wrong places
            raise UsageError("runs.database: not a URL; in its password write %40 for @, %2F for / and so on")
        self._url, self._patience = url, patience
        self._free: list[psycopg.Connection] = []
        # Since when no connection succeeds, until when nobody tries, and why.
        self._lost, self._rest, self._reason = math.inf, 0.0, ""
        self._closed = False

    @contextmanager
    def transaction(self, statement: str = "SELECT 1", *values: Any) -> Iterator[tuple[psycopg.Connection, Rows]]:
        """Run a transaction; it begins with a statement that is repeated if the connection was lost."""
        try:
            connection, rows = self._begin(statement, values)
            try:
                yield connection, rows
                connection.commit()
            except BaseException:
                with suppress(psycopg.Error):
                    connection.rollback()
                raise
            finally:
                self._return(connection)
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise unavailable(self.name, _first_line(error)) from error
        except psycopg.Error as error:
            raise LeadlineError(f"the database {self.name}: {_first_line(error)}") from error

    def rows(self, statement: str, *values: Any) -> Rows:
        """Return the rows of one statement, which may write."""
        with self.transaction(statement, *values) as (_, rows):
            return rows

    def _begin(self, statement: str, values: Sequence[Any]) -> tuple[psycopg.Connection, Rows]:
        with suppress(IndexError):
            known = self._free.pop()
            try:
                return known, _execute(known, statement, values)
            except (psycopg.OperationalError, psycopg.InterfaceError):  # the server was restarted, or fell silent
                known.close()
                while True:
                    self._free.pop().close()
            except BaseException:
                self._return(known)
                raise
        while True:
            try:
                new = self.connect()
                break
            except psycopg.OperationalError:
                # Of many threads that wait, only the first are patient.
                if self._closed or time.monotonic() > self._lost + self._patience:
                    raise
            time.sleep(_PAUSE)
        try:
            return new, _execute(new, statement, values)
        except BaseException:
            new.close()
            raise

    def _return(self, connection: psycopg.Connection) -> None:
        if self._closed or connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.close()
        else:
            self._free.append(connection)

    def close(self) -> None:
        """Close the connections; those at work when they are done."""
        self._closed = True
        while self._free:
            self._free.pop().close()

    def connect(self, *, autocommit: bool = False) -> psycopg.Connection:
        """Return a new connection. Raises `psycopg.OperationalError`."""
        if time.monotonic() < self._rest:
            raise psycopg.OperationalError(self._reason)
        try:
            connection = Connection.connect(
                self._url,
                autocommit=autocommit,
                client_encoding="utf-8",
                connect_timeout=_PATIENCE,
                tcp_user_timeout=_PATIENCE * 1000,
                keepalives_idle=_PATIENCE,
                keepalives_interval=1,
            )
        except psycopg.OperationalError as error:
            self._reason, self._lost = _first_line(error), min(self._lost, time.monotonic())
            self._rest = time.monotonic() + _REST
            raise
        self._lost = math.inf
        return connection


def _execute(connection: psycopg.Connection, statement: str, values: Sequence[Any]) -> Rows:
    cursor = connection.execute(statement.encode(), values)
    return cursor.fetchall() if cursor.description else []


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
