"""Opening a queue by URL."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from leadline.errors import UsageError
from leadline_server.queue.database import TABLES, VERSION, Cursor, Database
from leadline_server.queue.sql import SqlQueue

# The file of the queue in the folder of runs.
FILE = ".queue.sqlite"


def open_queue(url: str, folder: Path) -> SqlQueue:
    """Return the queue at a URL, `postgresql://…` or `sqlite:///PATH`; without one, that of the folder of runs.

    Raises `UsageError` for another URL, a queue of another folder or of a newer version, and `QueueUnavailable`.
    """
    database = _database(url, folder)
    try:
        # The file moves with its folder; a database must not give the runs of one folder to workers of another.
        database.write(lambda cursor: _prepare(cursor, os.fspath(folder.absolute()) if url else ""), lasting=True)
    except BaseException:
        database.close()
        raise
    return SqlQueue(database)


def _database(url: str, folder: Path) -> Database:
    scheme, _, rest = url.partition("://")
    if not url or scheme == "sqlite":
        from leadline_server.queue.sqlite import SqliteDatabase

        if url and not rest.strip("/"):
            raise UsageError("--queue: sqlite:///PATH needs the path of a file, such as sqlite:////srv/queue.sqlite")
        return SqliteDatabase(Path(rest.removeprefix("/")) if url else folder / FILE)
    if scheme not in ("postgresql", "postgres"):
        raise UsageError(f"--queue {scheme}://…: not a queue; write postgresql://USER@HOST/DATABASE or sqlite:///PATH")
    if find_spec("psycopg") is None:
        raise UsageError("a queue in Postgres needs psycopg: pip install 'leadline[queue]'")
    from leadline_server.queue.postgres import PostgresDatabase

    return PostgresDatabase(url)


def _prepare(cursor: Cursor, folder: str) -> None:
    for statement in TABLES:
        cursor(statement)
    known = cursor.rows("SELECT version, folder FROM leadline_queue")
    if not known:
        cursor("INSERT INTO leadline_queue (version, folder, changes) VALUES (?, ?, 0)", VERSION, folder)
        return
    version, of = known[0]
    if version > VERSION:
        raise UsageError("the queue is of a newer version of Leadline: update it, or name another one with --queue")
    if of != folder:
        raise UsageError(f"this queue belongs to the folder of runs {of}, not {folder}: see --folder and --queue")
