"""The journal of a run: the result of every call, so that nothing that returned is paid for twice.

Resume and replay are one mechanism: the pipeline runs again, and each call finds its row by its key. Failures and
refusals are therefore rows, too. Rows and blobs are checked when they are read: a damaged reply is requested again,
never delivered.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import JsonValue

from leadline._runtime.journal.lock import resume_command
from leadline._runtime.journal.rows import (
    Need,
    Row,
    Session,
    ancestors,
    failures,
    is_intact,
    put_blob,
    put_entry,
    read_blob,
    unusable_replies,
    with_causes,
)
from leadline._runtime.journal.storage import Storage
from leadline.errors import JournalBusy, JournalError
from leadline.events import utc_now
from leadline.stores import Mode, Records

T = TypeVar("T")
# Seconds after which a commit may be from before a pause of this process, in which another one took the run over.
_LATE = 5.0


class Journal:
    """The journal of one run, opened with `Journal.open`."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._rows: dict[str, Row] = {}
        self._meta: dict[str, str] = {}
        self._sessions: dict[int, Session] = {}
        # The keys that this session has asked for.
        self.requested: set[str] = set()
        # Calls that earlier sessions began and did not end, by session.
        self._begun: Counter[int] = Counter()
        # Descriptions of the entries that cannot be read.
        self.damaged: list[str] = []
        self.ledger = Ledger(storage)

    @classmethod
    async def open(cls, path: Path, *, mode: Mode = "write", owns: Callable[[], bool] | None = None) -> Journal:
        """Open the journal at this path; "write" locks its folder and begins a session, "read" changes nothing.

        Raises JournalBusy if another process works on the run, JournalError if the file cannot be opened. `owns`
        returns whether the run is the caller's: earlier owners lose it then, and can write nothing more.
        """
        journal = cls(Storage(path, mode, owns))
        async with AsyncExitStack() as failed:
            failed.push_async_callback(journal.close)
            await journal._storage.open()
            if mode == "write":
                await journal._next_session(owns)
            await journal._load()  # after the beginning, from which on no other process writes
            if mode == "write":
                await journal._settle_sessions()
            failed.pop_all()
        return journal

    async def close(self, status: str = "") -> None:
        """End the session with this status, and close the file."""
        session = self._sessions.get(self.session)
        try:
            if status and session and not self.broken and not self.readonly and self.is_current():
                text = session.model_copy(update={"ended": utc_now(), "status": status}).model_dump_json()
                await self._storage.write(lambda db: put_entry(db, "session", str(session.id), text))
        finally:
            await self._storage.close()

    @property
    def path(self) -> Path:
        return self._storage.path

    @property
    def readonly(self) -> bool:
        return self._storage.mode == "read"

    @property
    def broken(self) -> JournalError | None:
        """The error after which nothing more can be written, if there was one."""
        return self._storage.broken

    def is_current(self) -> bool:
        """Return whether the run belongs to this session: no other one has taken it over, and its disk answers.

        Otherwise nothing more may be written into its folder.
        """
        return self._storage.is_current()

    @property
    def session(self) -> int:
        """The number of the current session, or of the last one."""
        return max(self._sessions, default=0)

    def sessions(self) -> list[Session]:
        """Return all sessions, the oldest first."""
        return [self._sessions[number] for number in sorted(self._sessions)]

    # --- calls -------------------------------------------------------------------------------------------------------

    def keys(self) -> set[str]:
        """Return the keys of all calls."""
        return set(self._rows)

    def has(self, key: str) -> bool:
        """Return whether the outcome of this call is stored."""
        return key in self._rows

    def rows(self) -> list[Row]:
        """Return all rows."""
        return list(self._rows.values())

    async def get(self, key: str) -> tuple[Row, bytes] | None:
        """Return a call's row and the JSON of its result; None if it is missing or damaged (see `damaged`)."""
        row = self._rows.get(key)
        if row is None:
            return None
        self.requested.add(key)
        body = await self.body(row)
        if body is None:
            del self._rows[key]
            self.damaged.append(f"{row.kind} by {row.provider}")
            return None
        return row, body

    async def body(self, row: Row) -> bytes | None:
        """Return the JSON of a call's result, without marking it as requested; None if it is damaged."""
        return await self._storage.read(lambda db: read_blob(db, row.body))

    async def request(self, row: Row) -> JsonValue:
        """Return the request of a call, long texts cut; None if it is damaged."""
        data = await self._storage.read(lambda db: read_blob(db, row.request))
        try:
            return None if data is None else json.loads(data)
        except (ValueError, RecursionError):
            return None

    async def keep(self, row: Row, body: bytes, request: bytes, *, durable: bool = False) -> Row:
        """Write a call with the JSON of its result and of its request; it is committed when this returns."""

        def write(db: Records) -> Row:
            blobs = {"body": put_blob(db, body), "request": put_blob(db, request)}
            written = row.model_copy(update={**blobs, "session": self.session})
            put_entry(db, "call", row.key, written.model_dump_json(exclude_defaults=True))
            db.delete("begun", [row.key])
            return written

        def add(written: Row) -> None:
            self._rows[written.key] = written
            self.requested.add(written.key)

        return await self._storage.write(write, durable=durable, then=add)

    async def begin(self, key: str, *, durable: bool = False) -> None:
        """Record that a request starts, before it does: in case the process dies before it calls `keep`.

        What was queued before is committed as well. Raises JournalBusy if the run belongs to another process by now.
        """
        late = True
        while late:
            asked = time.monotonic()
            await self._storage.write(lambda db: put_entry(db, "begun", key, str(self.session)), durable=durable)
            late = time.monotonic() - asked > _LATE  # a commit from before a pause says nothing about now

    def abandon(self, key: str) -> None:
        """Forget that a request started: the session goes on without it."""
        self._storage.write_soon(lambda db: db.delete("begun", [key]))

    def spent(self) -> Need:
        """Return what the run spent: tokens and money of all calls, calls and queries of those with an outcome.

        A call in flight when the process died is made again, so it is counted once; it may have cost tokens and money.
        """
        counts = (Need.load(row.leased).counts() for row in self._rows.values() if row.leased)
        return sum(counts, self.ledger.spent())

    # --- forgetting --------------------------------------------------------------------------------------------------

    async def mark_escaped(self, keys: Iterable[str]) -> None:
        """Mark the failures that ended the session: the next session forgets them."""
        wanted = set(keys)
        marked = [row.model_copy(update={"escaped": True}) for row in failures(self.rows()) if row.key in wanted]

        def write(db: Records) -> None:
            for row in marked:
                put_entry(db, "call", row.key, row.model_dump_json(exclude_defaults=True))

        await self._storage.write(write)
        self._rows.update((row.key, row) for row in marked)

    async def forget(self, keys: Iterable[str] | None = None, *, repeated_stages: Collection[str] = ()) -> int:
        """Forget these failures and refusals with their causes (None: all of them); returns the number of rows.

        "All" includes the model replies from which a task could parse nothing: the models are called again. In the
        `repeated_stages`, results that were made despite a forgotten failure are forgotten as well; their parts that
        succeeded are found again.
        """
        rows = self.rows()
        gone = with_causes(rows, keys) if keys is not None else failures(rows) + unusable_replies(rows)
        gone += ancestors(self._rows, gone, repeated_stages)
        return await self.drop(row.key for row in gone)

    async def drop(self, keys: Iterable[str]) -> int:
        """Forget these calls, whatever their outcome; returns their number."""
        names = [*keys]
        for key in names:
            del self._rows[key]
        if names:
            await self._storage.write(lambda db: db.delete("call", names))
        return len(names)

    # --- metadata ----------------------------------------------------------------------------------------------------

    async def get_meta(self, name: str) -> Any:
        """Return a value (JSON) that was stored for the run, or None; raises JournalError if it is damaged."""
        value = self._meta.get(name)
        with suppress(ValueError, RecursionError):
            if f"meta {name}" not in self.damaged:
                return None if value is None else json.loads(value)
        raise JournalError(
            f"the entry `{name}` of the journal {self.path} is damaged; start a new run, or restore a backup"
        )

    async def set_meta(self, name: str, value: JsonValue) -> None:
        """Store a value for the run: its question, settings or versions."""
        text = json.dumps(value)
        await self._storage.write(lambda db: put_entry(db, "meta", name, text), durable=True)
        self._meta[name] = text

    async def write_file(self, write: Callable[[], T]) -> T:
        """Write a file of the run, while no other session can begin.

        Raises JournalBusy if one has begun, and the errors of `write`.
        """
        if self.broken and self.is_current():
            return await asyncio.to_thread(write)

        def locked(db: Records) -> tuple[T | None, Exception | None]:
            try:
                written = write()
            except Exception as error:  # noqa: BLE001 - raised below: the writes of the transaction are not to blame
                return None, error
            db.keep_files()
            return written, None

        written, error = await self._storage.write(locked)
        if error:
            raise error
        return cast("T", written)

    # --- opening -----------------------------------------------------------------------------------------------------

    async def _load(self) -> None:
        entries = await self._storage.read(lambda db: db.entries())
        for space, name, value, mark in entries:
            try:
                if is_intact(space, name, value, mark):
                    self._load_entry(space, name, value)
                    continue
            except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError):
                pass  # somebody else wrote it
            self.damaged.append(f"{space} {name}")

    def _load_entry(self, space: str, name: str, value: str) -> None:
        match space:
            case "call":
                self._rows[name] = Row.model_validate_json(value)
            case "meta":
                self._meta[name] = value
            case "begun":
                self._begun[int(value)] += 1
            case "session":
                self._sessions[int(name)] = Session.model_validate_json(value)
            case "lease":
                self.ledger.load(name, value)

    async def _next_session(self, owns: Callable[[], bool] | None) -> None:
        """Begin a session: those before it can write nothing more."""

        def write(db: Records) -> int:
            if owns and not owns():  # this process was paused before the transaction
                raise JournalBusy(f"the run in {self.path.parent} belongs to another process by now")
            new = Session(id=db.next_session(), began=utc_now())
            put_entry(db, "session", str(new.id), new.model_dump_json())
            return new.id

        self._storage.begin(await self._storage.write(write))

    async def _settle_sessions(self) -> None:
        """Count the calls that earlier sessions did not end, and forget the failures that ended them."""
        cut = [self._sessions[number].model_copy(update={"interrupted": n}) for number, n in self._begun.items()]
        self._sessions.update((session.id, session) for session in cut)
        self.ledger.session = self.session

        def write(db: Records) -> None:
            db.delete("begun")
            for session in cut:
                put_entry(db, "session", str(session.id), session.model_dump_json())

        await self._storage.write(write)
        await self.forget([row.key for row in self._rows.values() if row.escaped])


class Ledger:
    """The tokens and money that calls reserved and used, over all sessions of a run.

    Entries are queued before the records that their calls begin, so that a call of a process that died costs its
    reservation.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.session = 0
        self._entries: dict[str, tuple[Need, Need | None]] = {}

    def load(self, name: str, value: str) -> None:
        """Add an entry of the file."""
        need, used = json.loads(value)
        self._entries[name] = (Need.load(need), None if used is None else Need.load(used))

    def reserve(self, need: Need) -> str:
        """Queue an entry for the amounts that a call reserves; returns its name."""
        name = f"{self.session}.{len(self._entries)}"
        self._write(name, need, None)
        return name

    def settle(self, name: str, used: Need) -> None:
        """Queue the amounts that the call used."""
        need, _ = self._entries[name]
        self._write(name, need, used)

    def spent(self) -> Need:
        """Return the tokens and money of the run; a call that never settled costs its reservation."""
        spent = sum((need if used is None else used for need, used in self._entries.values()), Need())
        return spent - spent.counts()

    def _write(self, name: str, need: Need, used: Need | None) -> None:
        self._entries[name] = (need, used)
        value = json.dumps([need.dump(), None if used is None else used.dump()])
        self._storage.write_soon(lambda db: put_entry(db, "lease", name, value))


# --- a missing reply --------------------------------------------------------------------------------------------------


_ABSENT = "nothing"


async def explain_missing(journal: Journal, kind: str, label: str, request: bytes) -> str:
    """Return a message for a call of this kind that is not in the journal; `label` names it, `request` is its JSON."""
    start = f"offline, and the journal {journal.path} holds no such call: {label}"
    damage = f" ({len(journal.damaged)} of its entries are damaged)" if journal.damaged else ""
    rows = (row for row in journal.rows() if row.kind == kind and row.key not in journal.requested)
    stored = [await journal.request(row) for row in rows]
    path = difference(json.loads(request), stored)
    hint = f" The nearest unused request differs at {path}." if path else ""
    return f"{start}{damage}.{hint} To make the call: {resume_command(journal.path.parent)}"


def difference(request: JsonValue, stored: Iterable[JsonValue]) -> str:
    """Return where a request first differs from the nearest of the stored ones; empty if there are none."""
    ours = dict(flatten(request))
    candidates = [dict(flatten(tree)) for tree in stored]
    if not candidates:
        return ""
    nearest = min(candidates, key=lambda candidate: len(_different_paths(ours, candidate)))
    path = next(iter(_different_paths(ours, nearest)), "nothing that is stored")
    return f"{path}: {nearest.get(path, _ABSENT):.120} there, {ours.get(path, _ABSENT):.120} here"


def _different_paths(ours: dict[str, str], theirs: dict[str, str]) -> list[str]:
    return sorted(path for path in ours.keys() | theirs.keys() if ours.get(path) != theirs.get(path))


def flatten(tree: JsonValue, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield each value of a tree as text, with its path."""
    match tree:
        case dict():
            for name, value in tree.items():
                yield from flatten(value, f"{path}.{name}" if path else name)
        case list():
            for index, value in enumerate(tree):
                yield from flatten(value, f"{path}[{index}]")
        case _:
            yield path, repr(tree)
