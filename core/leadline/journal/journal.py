"""The journal of a run: what every call returned, so that nothing is paid for twice.

Resume and replay are one mechanism: the pipeline runs again, and each call finds its row. So failures and refusals are
rows like replies. A row is found by the key of its call; texts lie beside the rows, by their digest, and every row and
text is checked when it is read: a damaged one is asked for again, never delivered.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from leadline.errors import JournalError
from leadline.events import utc_now
from leadline.journal.ledger import Ledger
from leadline.journal.lineage import above, lost, useless, with_those_below
from leadline.journal.recent import Recent
from leadline.journal.rows import Row, Session, blob, mark_of, put, put_blob
from leadline.journal.storage import Storage
from leadline.journal.storage_file import Mode
from leadline.runs.budget import Need

RECENT = 2**16
"""Bytes of what was written last that stay in memory: work done ahead is asked for again within the second."""


class Journal:
    """The journal of one run, opened with `Journal.open`."""

    def __init__(self, storage: Storage, now: Callable[[], datetime]) -> None:
        self._storage = storage
        self._now = now
        self._rows: dict[str, Row] = {}
        self._meta: dict[str, str] = {}
        self._sessions: dict[int, Session] = {}
        self._asked: set[str] = set()
        self._recent = Recent(RECENT)
        self.damaged: list[str] = []
        """What could not be read when it was opened, in words."""
        self.ledger = Ledger(storage)

    @classmethod
    async def open(cls, path: Path, *, mode: Mode = "write", now: Callable[[], datetime] = utc_now) -> Journal:
        """Open the journal at this path; `write` locks its folder and begins a session, `read` changes nothing.

        Raises JournalBusy where another process is at it, JournalError where it cannot be opened.
        """
        journal = cls(Storage(path, mode), now)
        await journal._storage.open()
        try:
            await journal._load()
            if mode == "write":
                await journal._begin()
        except BaseException:
            await journal.close()
            raise
        return journal

    async def close(self, status: str = "") -> None:
        """End the session with this status, and close the file."""
        session = self._sessions.get(self.session)
        if status and session and not self.readonly and not self.broken:
            ended = session.model_copy(update={"ended": self._now(), "status": status})
            await self._storage.write(lambda db: put(db, "session", str(ended.id), ended.model_dump_json()))
        await self._storage.close()

    @property
    def path(self) -> Path:
        return self._storage.path

    @property
    def readonly(self) -> bool:
        return self._storage.mode == "read"

    @property
    def broken(self) -> JournalError | None:
        """Why nothing more can be written; None while it can."""
        return self._storage.broken

    @property
    def session(self) -> int:
        """The number of the session that runs, or ran last."""
        return max(self._sessions, default=0)

    def sessions(self) -> list[Session]:
        """Return all sessions, the oldest first."""
        return [self._sessions[number] for number in sorted(self._sessions)]

    # --- calls -------------------------------------------------------------------------------------------------------

    def keys(self) -> set[str]:
        """Return the keys of all calls."""
        return set(self._rows)

    def rows(self) -> list[Row]:
        """Return all rows."""
        return list(self._rows.values())

    async def get(self, key: str) -> tuple[Row, bytes] | None:
        """Return a call's row and the JSON of what came; None where there is none, or it is damaged (see `damaged`)."""
        row = self._rows.get(key)
        if row is None:
            return None
        self._asked.add(key)
        body = self._recent.get(key)
        if body is None:
            body = await self._storage.read(lambda db: blob(db, row.body))
        if body is None:
            del self._rows[key]
            self.damaged.append(f"{row.kind} by {row.provider}")
            return None
        return row, body

    async def body(self, row: Row) -> bytes | None:
        """Return the JSON of what came, without counting it as asked for; None where it is damaged."""
        return await self._storage.read(lambda db: blob(db, row.body))

    async def keep(self, row: Row, body: bytes, asked: bytes, *, durable: bool = False, recent: bool = True) -> Row:
        """Write what a call returned, and the JSON of what was asked; it is committed when this returns.

        `recent` is False for what is not asked for again: it would take the room of what is.
        """

        def write(db: sqlite3.Connection) -> Row:
            refs = {
                "body": put_blob(db, body),
                "request": put_blob(db, asked),
                "session": self.session,
            }
            kept = row.model_copy(update=refs)
            put(db, "call", row.key, kept.model_dump_json(exclude_defaults=True))
            return kept

        def kept(row: Row) -> None:
            self._rows[row.key] = row
            self._asked.add(row.key)
            if recent:
                self._recent.put(row.key, body)

        return await self._storage.write(write, durable=durable, then=kept)

    async def begin_effect(self, key: str) -> None:
        """Mark that an effect starts; `effects_begun` tells it after a crash."""
        await self._storage.write(lambda db: put(db, "effect", key, str(self.session)), durable=True)

    async def request(self, row: Row) -> JsonValue:
        """Return what was asked, long texts cut; None where it is damaged."""
        data = await self._storage.read(lambda db: blob(db, row.request))
        return None if data is None else json.loads(data)

    def unasked(self, kind: str) -> list[Row]:
        """Return the rows of this kind that the session has not asked for."""
        return [row for row in self._rows.values() if row.kind == kind and row.key not in self._asked]

    def leased(self, row: Row) -> Need:
        """Return what a call leased, with those below it."""
        below = (other for other in self._rows.values() if row.key and other.parent == row.key)
        return sum((self.leased(other) for other in below), Need.load(row.leased))

    # --- forgetting --------------------------------------------------------------------------------------------------

    async def mark_escaped(self, keys: Iterable[str]) -> None:
        """Mark the failures that ended the session: the next one forgets them."""
        wanted = set(keys)
        marked = [row.model_copy(update={"escaped": True}) for row in lost(self.rows()) if row.key in wanted]
        await self._replace(marked)

    async def forget(self, keys: Iterable[str] | None = None, *, anew: Collection[str] = ()) -> int:
        """Forget these failures and refusals with those below them (None: all there are); returns how many.

        With all, the replies go too of which a task could make nothing: the models are asked again.
        In the stages `anew` what was made in spite of them is forgotten too, as a section of quotes is: of what it was
        made, all that had returned is found again.
        """
        rows = self.rows()
        gone = with_those_below(rows, keys) if keys is not None else lost(rows) + useless(rows)
        gone += above(self._rows, gone, anew)
        for row in gone:
            del self._rows[row.key]
            self._recent.drop(row.key)
        names = [(row.key,) for row in gone]
        if names:
            delete = "delete from entries where space = 'call' and name = ?"
            await self._storage.write(lambda db: db.executemany(delete, names))
        return len(gone)

    def behind(self, keys: Iterable[str]) -> set[str]:
        """Return these failed calls and those that they failed of."""
        return {row.key for row in with_those_below(self.rows(), keys)}

    async def _replace(self, rows: list[Row]) -> None:
        def write(db: sqlite3.Connection) -> None:
            for row in rows:
                put(db, "call", row.key, row.model_dump_json(exclude_defaults=True))

        await self._storage.write(write)
        self._rows.update((row.key, row) for row in rows)

    # --- notes of the run --------------------------------------------------------------------------------------------

    async def get_meta(self, name: str) -> Any:
        """Return a note of the run (JSON), None where there is none; raises JournalError where it is damaged."""
        if f"meta {name}" in self.damaged:
            raise JournalError(
                f"the note `{name}` in the journal {self.path} is damaged; begin anew, or restore a backup"
            )
        value = self._meta.get(name)
        return None if value is None else json.loads(value)

    async def set_meta(self, name: str, value: JsonValue) -> None:
        """Write a note of the run: its settings, its question, versions."""
        text = json.dumps(value)
        await self._storage.write(lambda db: put(db, "meta", name, text), durable=True)
        self._meta[name] = text

    # --- opening -----------------------------------------------------------------------------------------------------

    async def _load(self) -> None:
        entries = await self._storage.read(
            lambda db: db.execute("select space, name, value, mark from entries").fetchall()
        )
        for space, name, value, mark in entries:
            if not isinstance(value, str) or mark != mark_of(space, name, value):
                self.damaged.append(f"{space} {name}")
                continue
            self._take(str(space), str(name), value)

    def _take(self, space: str, name: str, value: str) -> None:
        match space:
            case "call":
                self._rows[name] = Row.model_validate_json(value)
            case "meta":
                self._meta[name] = value
            case "session":
                self._sessions[int(name)] = Session.model_validate_json(value)
            case "lease":
                self.ledger.take(name, value)

    async def _begin(self) -> None:
        session = Session(id=self.session + 1, began=self._now())
        self._sessions[session.id] = session
        self.ledger.session = session.id
        await self._storage.write(lambda db: put(db, "session", str(session.id), session.model_dump_json()))
        await self.forget([row.key for row in self._rows.values() if row.escaped])
