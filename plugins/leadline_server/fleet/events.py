"""The events of runs in Postgres, and messages to runs."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from zlib import crc32

import psycopg
from pydantic_core import PydanticSerializationError

from leadline.errors import LeadlineError
from leadline.records import Event
from leadline_server.queue.connections import Connections

# Seconds for which events are collected before they are stored, and until those of a lost connection are sent again.
_GATHERED, _AGAIN = 0.05, 1.0
_CHANNEL = "leadline_events"
_FENCE = "SELECT session FROM leadline_runs WHERE path = %s FOR SHARE"


class StoredEvents:
    """The observer of one session. Its events are stored in their order, unless a later session has begun."""

    deltas = False

    def __init__(self, connections: Connections, path: str, session: int) -> None:
        self._connections, self._path, self._session = connections, path, session
        self._waiting: list[Event] = []
        self._storing: asyncio.Task[None] | None = None

    async def observe(self, event: Event, /) -> None:
        """Store an event soon; the last one, and all before it, at once. Raises `LeadlineError`."""
        self._waiting.append(event)
        if event.kind == "run.finished":
            if self._storing:
                self._storing.cancel()
                await asyncio.wait({self._storing})
            await asyncio.to_thread(self._store, self._waiting)
        elif self._storing is None or self._storing.done():
            self._storing = asyncio.create_task(self._store_soon(), name="events")

    async def _store_soon(self) -> None:
        pause = _GATHERED
        while self._waiting:
            await asyncio.sleep(pause)
            pause, events = _GATHERED, self._waiting
            storing = asyncio.ensure_future(asyncio.to_thread(self._store, [*events]))
            try:
                await asyncio.shield(storing)
            except LeadlineError:
                pause = _AGAIN
            except asyncio.CancelledError:
                await asyncio.wait({storing})
                raise
            else:
                del events[: storing.result()]

    def _store(self, events: Sequence[Event]) -> int:
        """Store events, some of which may be stored already; return their number."""
        rows = [(self._path, event.seq, as_line(event)) for event in events]
        with self._connections.transaction(_FENCE, self._path) as (connection, fence):
            if fence == [(self._session,)]:
                with connection.cursor() as cursor:
                    cursor.executemany("INSERT INTO leadline_events VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", rows)
                connection.execute(f"SELECT pg_notify('{_CHANNEL}', %s)".encode(), (self._path,))
        return len(rows)


def as_line(event: Event) -> bytes:
    """Return an event as JSON."""
    try:
        return event.model_dump_json().encode()
    except (PydanticSerializationError, UnicodeEncodeError):  # a lone surrogate
        return json.dumps(event.model_dump(mode="json"), ensure_ascii=False).encode("utf-8", "replace")


class EventFeed:
    """Which runs have new events: a thread that listens from the first question on."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._closed = threading.Event()
        # Notices by a digest of the run; None while nobody listens.
        self._counts: list[int] | None = None

    def count(self, path: str) -> int | None:
        """Return a number that changes with the events of a run; None if there may be some."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._listen, name="events of runs", daemon=True)
                self._thread.start()
        counts = self._counts
        return counts[crc32(path.encode()) % len(counts)] if counts else None

    def close(self) -> None:
        self._closed.set()

    def _listen(self) -> None:
        while not self._closed.is_set():
            with suppress(psycopg.Error), self._connections.connect(autocommit=True) as connection:
                connection.execute(f"LISTEN {_CHANNEL}".encode())
                self._counts = [time.monotonic_ns()] * 1024
                while not self._closed.is_set():
                    connection.execute("SELECT 1")  # else a lost connection would look like a quiet one
                    for notice in connection.notifies(timeout=1.0):
                        self._counts[crc32(notice.payload.encode()) % 1024] += 1
            self._counts = None
            self._closed.wait(_AGAIN)


class StoredLog:
    """Implements `leadline.stores.EventLog`."""

    def __init__(self, connections: Connections, feed: EventFeed, path: str, after: int) -> None:
        self.last = after
        self._connections, self._feed, self._path = connections, feed, path
        self._seen: int | None = None

    def has_grown(self) -> bool:
        count = self._feed.count(self._path)
        return count is None or count != self._seen

    def read(self) -> list[Event]:
        seen = self._feed.count(self._path)
        statement = "SELECT seq, data FROM leadline_events WHERE path = %s AND seq > %s ORDER BY seq"
        rows = self._connections.rows(statement, self._path, self.last)
        self._seen = seen
        events = []
        for seq, data in rows:
            self.last = seq
            with suppress(ValueError):
                events.append(Event.model_validate_json(data))
        return events


class StoredMailbox:
    """Implements `leadline.stores.Mailbox`: messages to the process that has the run, until its next session."""

    def __init__(self, connections: Connections, path: str, holder: str) -> None:
        self._rows, self._path, self._holder = connections.rows, path, holder

    def send(self, name: str, text: bytes) -> None:
        self._rows("INSERT INTO leadline_messages (path, name, body) VALUES (%s, %s, %s)", self._path, name, text)

    def messages(self) -> list[tuple[str, bytes]]:
        statement = "SELECT name, body FROM leadline_messages JOIN leadline_runs USING (path) "
        statement += "WHERE path = %s AND holder = %s AND reply IS NULL ORDER BY sent"
        return [(name, bytes(body)) for name, body in self._rows(statement, self._path, self._holder)]

    def reply(self, name: str, text: bytes) -> None:
        self._rows("UPDATE leadline_messages SET reply = %s WHERE path = %s AND name = %s", text, self._path, name)

    def reply_to(self, name: str) -> bytes | None:
        rows = self._rows("SELECT reply FROM leadline_messages WHERE path = %s AND name = %s", self._path, name)
        return bytes(rows[0][0]) if rows and rows[0][0] is not None else None

    def remove(self, name: str) -> None:
        self._rows("DELETE FROM leadline_messages WHERE path = %s AND name = %s", self._path, name)
