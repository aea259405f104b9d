"""What one machine keeps, brought into the database of several, and back: copies of rows, run by run."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from leadline import Client
from leadline.errors import ConfigError, LeadlineError, UsageError
from leadline.files import private_file
from leadline.run_summary import ACTIVE
from leadline.runs import PRINCIPALS
from leadline.settings import Runs
from leadline.stores import LAYOUT, LAYOUT_VERSION
from leadline_server.fleet.copies import JOURNAL
from leadline_server.fleet.events import as_line
from leadline_server.fleet.runs import PostgresRuns, open_runs
from leadline_server.queue import Queue, QueueUnavailable, open_queue
from leadline_server.store import Store

# The columns of a journal, which its file and the database have in common.
_COLUMNS = {"entries": "space, name, value, mark", "blobs": "digest, data"}
_ADD = "INSERT INTO leadline_runs (path) VALUES (%s) ON CONFLICT DO NOTHING RETURNING path"
# A later session than all before; a run whose metadata cannot be read stays one.
_BEGUN = """UPDATE leadline_runs SET metadata = coalesce(metadata, ''), session = (SELECT coalesce(max(name::int), 0)
    FROM leadline_entries WHERE path = %s AND space = 'session' AND name ~ '^[0-9]{1,9}$') WHERE path = %s"""


async def import_folder(folder: Path, settings: Runs, client: Client, store: Store, queue: Queue) -> int:
    """Copy a folder of runs, with all that a server keeps in it, into the database; return the number of new runs.

    What is there already stays as it is, so that this can be repeated. `client` reads the folder. Raises `UsageError`
    while somebody works in it, and `LeadlineError` with the runs that cannot be copied.
    """
    runs = _run_folders(folder)
    with closing(Store(folder)) as own, closing(open_queue("", folder)) as orders:
        own.lock()
        with suppress(ConfigError):  # of its plugins, which nothing here needs: so the settings are read once
            _ = client.plugins
        infos = [client.find(run) for run in runs]
        if active := [it.id for it in infos if it.status in ACTIVE and it.metadata and it.metadata.ended is None]:
            raise UsageError(f"active in {folder}: {', '.join(active)}; cancel them, or stop their worker, and repeat")
        with closing(_runs_in(folder, settings)) as target:
            copied = [await _import_run(run, target, client) for run in runs]
        if problems := [problem for problem in copied if problem]:
            problems.append("restore these runs from a backup or delete them, and repeat: nothing else was copied")
            raise LeadlineError("; ".join(problems))
        await asyncio.to_thread(store.copy_from, own)
        # The orders of runs that are not there yet would begin them anew.
        await asyncio.to_thread(queue.copy_from, orders)
    return copied.count("")


def export_folder(folder: Path, settings: Runs, store: Store, queue: Queue) -> None:
    """Copy everything from the database into an empty folder of runs, as one machine has it."""
    with closing(Store(folder)) as own, closing(open_queue("", folder)) as orders:
        orders.copy_from(queue)  # first, as in a backup of a folder
        own.copy_from(store)
    export_runs(folder, settings, folder, folder / PRINCIPALS)


def export_runs(folder: Path, settings: Runs, *tops: Path) -> None:
    """Copy runs from the database into an empty folder of runs: those of it, and of principals."""
    with closing(_runs_in(folder, settings)) as source:
        for top in tops:
            source.pull(top)
        for run in _run_folders(folder):
            source.pull(run)
            if run.is_dir():  # else it was deleted meanwhile
                _export_run(run, source)


def _run_folders(top: Path) -> Sequence[Path]:
    return [path.parent for of in ("*", f"{PRINCIPALS}/*/*") for path in sorted(top.glob(f"{of}/{JOURNAL}"))]


def _runs_in(folder: Path, settings: Runs) -> PostgresRuns:
    return open_runs(settings.model_copy(update={"folder": folder}))


async def _import_run(folder: Path, runs: PostgresRuns, client: Client) -> str | None:
    """Copy a run, whole or not at all; return why not, or None if it is known."""
    if await asyncio.to_thread(runs.has, folder):
        return None
    try:
        events = [event async for event in client.events(folder, deltas=False)]
        lines = {event.seq: as_line(event) for event in events if event.kind != "gap"}
        await asyncio.to_thread(_import_rows, folder, runs, lines)
    except QueueUnavailable:
        raise
    except (LeadlineError, sqlite3.Error, OSError) as error:
        return f"{folder}: {error}"
    return ""


def _import_rows(folder: Path, runs: PostgresRuns, events: dict[int, bytes]) -> None:
    path = runs.path(folder)
    address = f"{(folder / JOURNAL).as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(address, uri=True)) as journal,
        runs.connections.transaction(_ADD, path) as (connection, is_new),
        connection.cursor() as cursor,
    ):
        # What is damaged stays so: its checksum tells.
        journal.text_factory = lambda data: data.decode("utf-8", "replace").replace("\0", "\ufffd")
        for table, columns in _COLUMNS.items() if is_new else ():
            with cursor.copy(f"COPY leadline_{table} (path, {columns}) FROM STDIN".encode()) as copy:
                for row in journal.execute(f"SELECT {columns} FROM {table}"):  # noqa: S608 - constants
                    copy.write_row((path, *row))
        if is_new:
            rows = ((path, seq, line) for seq, line in events.items())
            cursor.executemany("INSERT INTO leadline_events VALUES (%s, %s, %s)", rows)
            runs.keep(connection, folder, {})
            cursor.execute(_BEGUN, (path, path))


def _export_run(folder: Path, runs: PostgresRuns) -> None:
    path = runs.path(folder)
    (folder / JOURNAL).unlink()
    with (
        closing(sqlite3.connect(private_file(folder / JOURNAL))) as journal,
        private_file(folder / "events.jsonl").open("wb") as events,
        runs.connections.transaction() as (connection, _),
    ):
        journal.executescript(f"{LAYOUT} PRAGMA user_version = {LAYOUT_VERSION}")
        for table, columns in _COLUMNS.items():
            with connection.cursor(name=table) as rows:
                rows.execute(f"SELECT {columns} FROM leadline_{table} WHERE path = %s".encode(), (path,))  # noqa: S608
                marks = ", ".join("?" * len(columns.split()))
                journal.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608
        journal.commit()
        with connection.cursor(name="events") as rows:
            rows.execute("SELECT data FROM leadline_events WHERE path = %s ORDER BY seq", (path,))
            events.writelines(line + b"\n" for (line,) in rows)
