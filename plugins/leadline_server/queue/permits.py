"""The limits of providers over all workers, in the database of the queue: `leadline.permits.Permits` in SQL.

A worker has the places that it wants as far as others leave them free. Where more are wanted than there are, each may
have its even share, and who has waited longest comes first. Places that nobody renews are free again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from leadline.permits import Lease
from leadline_server.queue.database import Cursor, Database

T = TypeVar("T")
# Seconds after which a share that was not renewed is free.
LIFETIME = 10.0
# Seconds ahead that no start is reserved for.
_FAR = 3_600.0


class SqlPermits:
    """The shares of one worker."""

    def __init__(self, database: Database, worker: str, clock: Callable[[], float] = time.time) -> None:
        self._database, self._worker, self._clock = database, worker, clock
        self._thread = ThreadPoolExecutor(1, "permits")

    async def lease(self, key: str, at_once: int, held: int, wanted: int) -> Lease:
        """Return the share of this worker, and renew it."""
        return await self._write(lambda cursor: self._lease(cursor, key, at_once, held, wanted))

    def _lease(self, cursor: Cursor, key: str, at_once: int, held: int, wanted: int) -> Lease:
        now = self._clock()
        cursor("DELETE FROM leadline_leases WHERE expires < ?", now)
        rows = cursor.rows("SELECT worker, slots, wanted, since FROM leadline_leases WHERE name = ?", key)
        others = [row for row in rows if row[0] != self._worker]
        own = next((row for row in rows if row[0] == self._worker), (self._worker, 0, 0, now))
        if not wanted:
            cursor("DELETE FROM leadline_leases WHERE name = ? AND worker = ?", key, self._worker)
        free = at_once - sum(slots for _, slots, _, _ in others)
        even = max(1, at_once // (1 + len(others)))
        # What others have too little of their even share, if they have waited for longer.
        due = sum(
            max(0, min(want, even) - slots) for _, slots, want, since in others if own[1] >= even or since < own[3]
        )
        share = max(0, min(wanted, free - due))
        slots = max(held, share)
        since = own[3] if slots < min(wanted, even) else now
        if wanted:
            cursor(
                "INSERT INTO leadline_leases (name, worker, slots, wanted, since, expires) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (name, worker) DO UPDATE SET slots = excluded.slots, wanted = excluded.wanted, "
                "since = excluded.since, expires = excluded.expires",
                *(key, self._worker, slots, wanted, since, now + LIFETIME),
            )
        delayed = cursor.rows("SELECT delayed_until FROM leadline_paces WHERE name = ?", key)
        return Lease(share, max(0.0, delayed[0][0] - now) if delayed else 0.0)

    async def reserve(self, key: str, interval: float, count: int) -> float:
        """Reserve starts after those of all workers."""

        def work(cursor: Cursor) -> float:
            now = self._clock()
            known = cursor.rows("SELECT next_start FROM leadline_paces WHERE name = ?", key)
            first = max(now, known[0][0]) if known else now
            if first > now + _FAR:  # the clock was set back
                first = now
            cursor(
                "INSERT INTO leadline_paces (name, next_start, delayed_until) VALUES (?, ?, 0) "
                "ON CONFLICT (name) DO UPDATE SET next_start = excluded.next_start",
                *(key, first + count * interval),
            )
            return first - now

        return await self._write(work)

    async def delay(self, key: str, seconds: float) -> None:
        """Delay the starts of all workers."""

        def work(cursor: Cursor) -> None:
            until = self._clock() + seconds
            cursor(
                "INSERT INTO leadline_paces (name, next_start, delayed_until) VALUES (?, 0, ?) "
                "ON CONFLICT (name) DO UPDATE SET delayed_until = "
                "CASE WHEN leadline_paces.delayed_until > excluded.delayed_until "
                "THEN leadline_paces.delayed_until ELSE excluded.delayed_until END",
                *(key, until),
            )

        await self._write(work)

    async def _write(self, work: Callable[[Cursor], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: self._database.write(work, silent=True))
