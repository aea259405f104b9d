"""The log of a server and its workers, one record a line, as text or JSON; and the audit log of who changed what.

A record has the fields of its context, such as `request_id`, whoever writes it: also plugins and the core.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import logging
import os
import queue
import re
import secrets
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from hashlib import sha256
from logging.handlers import QueueHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from leadline.errors import LeadlineError
from leadline.files import private_file

if TYPE_CHECKING:
    from leadline_server.queue.database import Database

# The file of the audit log in the folder of runs.
AUDIT = ".audit.jsonl"
Format = Literal["text", "json"]
_FIELDS: ContextVar[dict[str, Any]] = ContextVar("fields of the log", default={})  # noqa: B039 - never changed
# Records that may wait for standard error.
_WAITING = 10_000
_PLAIN = re.compile(r"[\w./:@%+-]+")
# Ids of a proxy that are taken over; anything else could forge a line of somebody's log.
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
_audit = logging.getLogger("leadline.audit")


def configure(form: Format) -> None:
    """Write the records of Leadline, and warnings of others, to standard error, in a thread of its own.

    Whoever should read them and does not stops no request; records beyond those that wait are lost.
    """
    waiting: queue.Queue[logging.LogRecord] = queue.Queue(_WAITING)
    handler = _Quick(waiting)
    handler.setFormatter(Lines(form))
    threading.Thread(target=_print, args=(waiting,), name="log", daemon=True).start()
    atexit.register(_finish, waiting)
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    logging.getLogger("leadline").setLevel(logging.INFO)


class _Quick(QueueHandler):
    """Formats a record, with the fields of its context, and leaves it to the thread."""

    def enqueue(self, record: logging.LogRecord) -> None:
        with suppress(queue.Full):
            self.queue.put_nowait(record)


def _print(waiting: queue.Queue[logging.LogRecord]) -> None:
    while True:
        record = waiting.get()
        with suppress(OSError):  # not `sys.stderr`, whose lock would hold the end of the process
            os.write(2, f"{record.msg}\n".encode("utf-8", "replace"))
        waiting.task_done()


def _finish(waiting: queue.Queue[logging.LogRecord]) -> None:
    """Wait for the last records at the end of the process."""
    end = time.monotonic() + 1
    while waiting.unfinished_tasks and time.monotonic() < end:
        time.sleep(0.01)


@contextmanager
def context(**fields: Any) -> Iterator[None]:
    """Add fields to all records within, also to those of tasks that begin there."""
    token = _FIELDS.set({**_FIELDS.get(), **fields})
    try:
        yield
    finally:
        _FIELDS.reset(token)


def write(log: logging.Logger, message: str, level: int = logging.INFO, /, **fields: Any) -> None:
    """Write a record with fields."""
    log.log(level, message, extra={"fields": fields})


def request_id(given: str) -> str:
    """Return the id of a request: that of a proxy, or a new one."""
    return given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)


class Audit:
    """Who did what, in a file that only the server's user can read, and in the log."""

    # Those of a database.
    tables: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        self._path = folder / AUDIT

    def write(self, action: str, user: str | None, **fields: Any) -> None:
        """Append a record. One that cannot be written is in the log."""
        fields = {**_FIELDS.get(), "user": user, **fields}
        write(_audit, action, **fields)
        now = time.time()
        self._append(now, json.dumps({"time": _time(now), "action": action, **fields}), fields)

    def _append(self, now: float, line: str, fields: Mapping[str, Any]) -> None:
        try:
            with self._locked() as fd:
                os.write(fd, f"{line}\n".encode())
        except OSError as error:
            _not_written(error)

    def records(self, user: str) -> list[str]:
        """Return the lines about a user."""
        return [line for line in self.lines() if _is_about(line, user)]

    def lines(self) -> list[str]:
        """Return all lines."""
        with suppress(FileNotFoundError):
            return self._path.read_text(encoding="utf-8").splitlines()
        return []

    def add(self, lines: Iterable[str]) -> None:
        """Append lines of another log; those of a table are there once."""
        with self._locked() as fd:
            for line in lines:
                os.write(fd, f"{line}\n".encode())

    def erase(self, user: str) -> None:
        """Remove the lines about a user."""
        with self._locked():
            lines = self._path.read_text(encoding="utf-8").splitlines(keepends=True)
            part = private_file(self._path.with_suffix(".part"))
            with part.open("w", encoding="utf-8") as file:
                file.writelines(line for line in lines if not _is_about(line, user))
                file.flush()
                os.fsync(file.fileno())
            part.replace(self._path)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Open the file for appending; others wait, and whoever rotates it only has to rename it."""
        while True:
            fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)
                try:
                    is_current = os.path.samestat(os.fstat(fd), self._path.stat())
                except FileNotFoundError:  # renamed meanwhile
                    is_current = False
                if is_current:
                    yield fd
                    return
            finally:
                os.close(fd)

    def close(self) -> None:
        """Write what waits."""


class SharedAudit(Audit):
    """The audit log of several servers, in a table. A thread writes it: nobody waits for the database."""

    tables = (
        """CREATE TABLE IF NOT EXISTS leadline_audit (
            id TEXT PRIMARY KEY, at DOUBLE PRECISION NOT NULL, who TEXT, about TEXT, line TEXT NOT NULL)""",
    )

    def __init__(self, database: Database) -> None:
        self._database, self._thread = database, ThreadPoolExecutor(1, "audit")

    def _append(self, now: float, line: str, fields: Mapping[str, Any]) -> None:
        values = (secrets.token_hex(8), now, fields.get("user"), fields.get("principal"), line)
        self._thread.submit(self._insert, *values)

    def _insert(self, *values: Any) -> None:
        try:
            self._do("INSERT INTO leadline_audit VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING", *values)
        except (LeadlineError, ValueError) as error:
            _not_written(error)

    def _do(self, statement: str, *values: Any) -> None:
        self._database.write(lambda cursor: cursor(statement, *values), lasting=True, silent=True)

    def records(self, user: str) -> list[str]:
        statement = "SELECT line FROM leadline_audit WHERE who = ? OR about = ? ORDER BY at"
        return [str(row[0]) for row in self._thread.submit(self._database.read, statement, user, user).result()]

    def lines(self) -> list[str]:
        return [str(row[0]) for row in self._database.read("SELECT line FROM leadline_audit ORDER BY at")]

    def add(self, lines: Iterable[str]) -> None:
        statement = "INSERT INTO leadline_audit VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
        rows = list[tuple[Any, ...]]()
        for line in lines:
            with suppress(ValueError, KeyError):  # cut by a full disk
                known = json.loads(line)
                key, at = sha256(line.encode()).hexdigest(), datetime.fromisoformat(known["time"]).timestamp()
                rows.append((key, at, known.get("user"), known.get("principal"), line))
        self._database.write(lambda cursor: [cursor(statement, *row) for row in rows], lasting=True, silent=True)

    def erase(self, user: str) -> None:
        self._thread.submit(self._do, "DELETE FROM leadline_audit WHERE who = ? OR about = ?", user, user).result()

    def close(self) -> None:
        self._thread.shutdown()


def _not_written(error: Exception) -> None:
    write(_audit, "the audit log cannot be written", logging.ERROR, error=str(error))


def _is_about(line: str, user: str) -> bool:
    try:
        known = json.loads(line)
    except ValueError:  # cut by a full disk
        return False
    return user in (known.get("user"), known.get("principal"))


class Lines(logging.Formatter):
    """A record as a line of text, `TIME LEVEL LOGGER MESSAGE key=value …`, or as a JSON object."""

    def __init__(self, form: Format) -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        """Return the line. A text of somebody else never begins another one, but for a traceback."""
        fields = {**_FIELDS.get(), **getattr(record, "fields", {})}
        fields = {name: value for name, value in fields.items() if value not in (None, "")}
        about = {"time": _time(record.created), "level": record.levelname, "logger": record.name}
        message = record.getMessage()
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        if self._form == "json":
            known = {**about, "message": message, **fields, **({"traceback": trace} if trace else {})}
            return json.dumps(known, ensure_ascii=False, default=str)
        parts = [*about.values(), json.dumps(message, ensure_ascii=False)[1:-1]]
        line = " ".join([*parts, *(f"{name}={_value(value)}" for name, value in fields.items())])
        return f"{line}\n{trace}" if trace else line


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _value(value: Any) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
