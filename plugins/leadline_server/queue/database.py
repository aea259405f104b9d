"""What the server needs of a database: transactions, one after another, and a word when one was committed.

Statements have `?` for values and use what SQLite and Postgres have in common.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from leadline.files import private_file

T = TypeVar("T")
VERSION = 2
TABLES = (
    """CREATE TABLE IF NOT EXISTS leadline_orders (
        run_id TEXT PRIMARY KEY, principal TEXT NOT NULL, content TEXT, request_key TEXT, digest TEXT NOT NULL,
        state TEXT NOT NULL, priority INTEGER NOT NULL, worker TEXT NOT NULL, epoch INTEGER NOT NULL,
        begun INTEGER NOT NULL, deaths INTEGER NOT NULL, retry_failed INTEGER NOT NULL,
        created DOUBLE PRECISION NOT NULL, ordered DOUBLE PRECISION NOT NULL, not_before DOUBLE PRECISION NOT NULL,
        problem TEXT NOT NULL, status TEXT NOT NULL, submitted DOUBLE PRECISION NOT NULL DEFAULT 0)""",
    """CREATE UNIQUE INDEX IF NOT EXISTS leadline_keys ON leadline_orders (principal, request_key)
        WHERE request_key IS NOT NULL""",
    "CREATE INDEX IF NOT EXISTS leadline_active ON leadline_orders (state) WHERE state <> 'ended'",
    "CREATE TABLE IF NOT EXISTS leadline_turns (principal TEXT PRIMARY KEY, turn BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS leadline_workers (worker TEXT PRIMARY KEY, beats BIGINT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS leadline_leases (
        name TEXT NOT NULL, worker TEXT NOT NULL, slots INTEGER NOT NULL, wanted INTEGER NOT NULL,
        since DOUBLE PRECISION NOT NULL, expires DOUBLE PRECISION NOT NULL, PRIMARY KEY (name, worker))""",
    """CREATE TABLE IF NOT EXISTS leadline_paces (
        name TEXT PRIMARY KEY, next_start DOUBLE PRECISION NOT NULL, delayed_until DOUBLE PRECISION NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS leadline_usage (
        run_id TEXT NOT NULL, day TEXT NOT NULL, model TEXT NOT NULL, principal TEXT NOT NULL, tokens BIGINT NOT NULL,
        cost DOUBLE PRECISION NOT NULL, PRIMARY KEY (run_id, day, model))""",
    "CREATE INDEX IF NOT EXISTS leadline_spent ON leadline_usage (principal, day)",
    """CREATE TABLE IF NOT EXISTS leadline_notifications (
        run_id TEXT NOT NULL, target TEXT NOT NULL, principal TEXT NOT NULL, event TEXT NOT NULL,
        attempts INTEGER NOT NULL, due DOUBLE PRECISION, PRIMARY KEY (run_id, target))""",
    """CREATE TABLE IF NOT EXISTS leadline_queue (
        version INTEGER NOT NULL, folder TEXT NOT NULL, changes BIGINT NOT NULL)""",
)


class Cursor(Protocol):
    """A transaction."""

    def __call__(self, statement: str, *values: Any) -> int:
        """Execute a statement and return the number of changed rows."""
        ...

    def rows(self, statement: str, *values: Any) -> list[Sequence[Any]]: ...


class Database(Protocol):
    """A database. Any thread may use it."""

    def write(self, work: Callable[[Cursor], T], *, lasting: bool = False, silent: bool = False) -> T:
        """Do work in a transaction that no other writer overlaps, and commit it.

        With `lasting`, it survives a power failure; with `silent`, nobody who waits is told. If the connection is lost,
        the work is repeated: it must not matter whether it was committed. Raises `QueueUnavailable`.
        """
        ...

    def read(self, statement: str, *values: Any) -> list[Sequence[Any]]:
        """Return the rows of a query. Raises `QueueUnavailable`."""
        ...

    def now(self) -> float:
        """Return the time in seconds since 1970: of one clock, for all processes. Raises `QueueUnavailable`."""
        ...

    def wait(self, seconds: float) -> None:
        """Return when somebody committed, or after so many seconds."""
        ...

    def close(self) -> None: ...


def copy_rows(names: Iterable[str], source: Database, target: Database, then: str = "") -> None:
    """Add the rows of tables to those of another database, but for rows whose key is taken there.

    The statement `then` follows each new row; its value is the first column.
    """
    rows = [(name, row) for name in names for row in source.read(f"SELECT * FROM leadline_{name}")]  # noqa: S608

    def work(cursor: Cursor) -> None:
        for name, row in rows:
            marks = ", ".join("?" * len(row))
            statement = f"INSERT INTO leadline_{name} VALUES ({marks}) ON CONFLICT DO NOTHING"  # noqa: S608
            if cursor(statement, *row) and then:
                cursor(then, row[0])

    target.write(work, lasting=True, silent=True)


def secret_of(path: Path, database: Database | None = None) -> bytes:
    """Return the 32 random bytes of a file, which is made if there is none.

    With a database, all machines get the bytes of the first that asks, by the name of the file.
    """
    kept = private_file(path).read_bytes()
    value = kept if len(kept) == 32 else secrets.token_bytes(32)

    def shared(cursor: Cursor) -> bytes:
        cursor("CREATE TABLE IF NOT EXISTS leadline_secrets (name TEXT PRIMARY KEY, value BYTEA NOT NULL)")
        cursor("INSERT INTO leadline_secrets VALUES (?, ?) ON CONFLICT (name) DO NOTHING", path.name, value)
        return bytes(cursor.rows("SELECT value FROM leadline_secrets WHERE name = ?", path.name)[0][0])

    value = database.write(shared, lasting=True, silent=True) if database else value
    if value != kept:
        new = private_file(path.with_suffix(f".{secrets.token_hex(4)}"))
        new.write_bytes(value)
        new.replace(path)
    return value
