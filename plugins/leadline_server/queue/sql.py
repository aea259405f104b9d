"""The queue in SQL, opened by URL.

Turns make it fair: the next order belongs to the principal whose last start is longest ago. Between two starts of one
principal each other one that waits has had its own, so the numbers of their started runs differ by at most one. Writers
come one after another, so that no rule depends on how the database isolates them; a claim takes a fraction of a
millisecond, and the runs take minutes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from leadline.contracts import Submission
from leadline.errors import JournalBusy, UsageError
from leadline.permits import Lease
from leadline.runs import Order
from leadline_server.queue.database import TABLES, VERSION, Cursor, Database, copy_rows, secret_of
from leadline_server.queue.records import (
    ATTEMPTS,
    Claim,
    Full,
    Notification,
    QueuedRun,
    Quota,
    Replaced,
    Spent,
    Taken,
    Worker,
)

T = TypeVar("T")
# Seconds after which a share that was not renewed is free.
LIFETIME = 10.0
# Seconds ahead that no start is reserved for.
_FAR = 3_600.0


class SqlPermits:
    """The shares of one worker."""

    def __init__(self, database: Database, worker: str, clock: Callable[[], float] | None = None) -> None:
        self._database, self._worker, self._clock = database, worker, clock or database.now
        self._thread = ThreadPoolExecutor(1, "permits")

    async def lease(self, key: str, at_once: int, held: int, wanted: int) -> Lease:
        """Return the share of this worker, and renew it."""
        return await self._write(lambda cursor, now: self._lease(cursor, now, key, at_once, (held, wanted)))

    def _lease(self, cursor: Cursor, now: float, key: str, at_once: int, counts: tuple[int, int]) -> Lease:
        held, wanted = counts
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

        def work(cursor: Cursor, now: float) -> float:
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

        def work(cursor: Cursor, now: float) -> None:
            until = now + seconds
            cursor(
                "INSERT INTO leadline_paces (name, next_start, delayed_until) VALUES (?, 0, ?) "
                "ON CONFLICT (name) DO UPDATE SET delayed_until = "
                "CASE WHEN leadline_paces.delayed_until > excluded.delayed_until "
                "THEN leadline_paces.delayed_until ELSE excluded.delayed_until END",
                *(key, until),
            )

        await self._write(work)

    async def _write(self, work: Callable[[Cursor, float], T]) -> T:
        def write() -> T:
            now = self._clock()
            return self._database.write(lambda cursor: work(cursor, now), silent=True)

        return await asyncio.get_running_loop().run_in_executor(self._thread, write)


# What makes an order another one for the dispatcher.
_ANEW = f"submitted = 0, epoch = (leadline_orders.epoch / {ATTEMPTS} + 1) * {ATTEMPTS}"
_UNCLAIM = (
    "UPDATE leadline_orders SET state = CASE state WHEN 'claimed' THEN 'waiting' ELSE state END, worker = '', "
    "epoch = 0, submitted = 0 WHERE run_id = ?"
)
_SPENT = "SELECT COALESCE(SUM(tokens), 0), COALESCE(SUM(cost), 0) FROM leadline_usage"
_COLUMNS = "run_id, principal, content, state, epoch, worker, ordered, retry_failed, begun, problem, status"
# Deaths of its workers after which an order is not tried again, and those after which it waits longer each time.
MOST_DEATHS, _PATIENT_DEATHS = 20, 3
_LONGEST_PAUSE = 60.0
# Orders that are read at once.
_READ = 500
# Seconds after which a dispatcher is told of an order again, in case it lost it; and orders that it is told at once.
_AGAIN, _AT_ONCE = 300.0, 200


class Queue:
    """Orders, and the workers that take them. The methods may be called in any thread; each is one transaction.

    All raise `QueueUnavailable` if the database does not answer in time.
    """

    def __init__(self, database: Database, clock: Callable[[], float] | None = None) -> None:
        self._database, self._clock = database, clock or database.now

    def share_secret(self, path: Path) -> None:
        """Write the secret that all machines share into a file; the first one brings its own."""
        secret_of(path, self._database)

    def copy_from(self, other: Queue) -> None:
        """Take over orders, usage and notifications. An order whose worker was at work waits for another one."""
        copy_rows(("turns", "usage", "notifications"), other._database, self._database)
        copy_rows(("orders",), other._database, self._database, _UNCLAIM)

    # --- orders ------------------------------------------------------------------------------------------------------

    def put(
        self,
        order: Order,
        principal: str | None,
        *,
        repeat: tuple[str | None, str] = (None, ""),
        quota: Quota | None = None,
        priority: int = 0,
        notify: Sequence[str] = (),
    ) -> None:
        """Accept an order for good.

        `repeat` recognizes the repetition of a request: the key that the principal chose for it, and a digest of it.
        `notify` are the targets of its notifications.

        Orders of a higher priority are taken first. Raises `Taken` if the principal has used the key, and `Full` if it
        has as many active runs as it may have, or has spent its quota.
        """
        now, who, content = self._clock(), principal or "", order.model_dump_json()
        key, digest = repeat

        def work(cursor: Cursor) -> None:
            if cursor.rows("SELECT 1 FROM leadline_orders WHERE run_id = ?", order.run_id):
                return  # repeated after a lost connection
            known = "SELECT run_id, digest FROM leadline_orders WHERE principal = ? AND request_key = ?"
            if key is not None and (taken := cursor.rows(known, who, key)):
                run_id, used = taken[0]
                raise Taken(run_id, same=used == digest)
            _check_quota(cursor, who, quota or Quota(), now)
            cursor(
                "INSERT INTO leadline_orders (run_id, principal, content, request_key, digest, state, priority, "
                "worker, epoch, begun, deaths, retry_failed, created, ordered, not_before, problem, status) "
                "VALUES (?, ?, ?, ?, ?, 'waiting', ?, '', 0, 0, 0, 0, ?, ?, 0, '', '')",
                *(order.run_id, who, content, key, digest, priority, now, now),
            )
            for target in notify:
                cursor("INSERT INTO leadline_notifications VALUES (?, ?, ?, '', 0, 0)", order.run_id, target, who)

        self._database.write(work, lasting=True)

    def reopen(
        self,
        run_id: str,
        principal: str | None,
        *,
        retry_failed: bool = False,
        quota: Quota | None = None,
        ended: datetime | None = None,
    ) -> None:
        """Accept the request to continue a run that has ended. Raises `JournalBusy` if it is active, or `Full`.

        `ended` is the time of that by the clock of its worker, which may be ahead of this one.
        """
        now, who = self._clock(), principal or ""
        later = max(now, ended.timestamp() + 0.001) if ended else now

        def work(cursor: Cursor) -> None:
            known = "SELECT state, ordered, not_before FROM leadline_orders WHERE run_id = ?"
            for state, ordered, not_before in cursor.rows(known, run_id):
                if ordered == later:
                    return  # repeated after a lost connection
                if state == "claimed" or (state == "waiting" and not_before <= now):
                    raise JournalBusy("the run is active")
            _check_quota(cursor, who, quota or Quota(), now, run_id)
            cursor(
                "INSERT INTO leadline_orders (run_id, principal, digest, state, priority, worker, epoch, begun, "
                "deaths, retry_failed, created, ordered, not_before, problem, status) "
                "VALUES (?, ?, '', 'waiting', 0, '', 0, 0, 0, ?, ?, ?, 0, '', '') ON CONFLICT (run_id) DO UPDATE SET "
                "state = 'waiting', begun = 0, deaths = 0, retry_failed = excluded.retry_failed, "
                "ordered = excluded.ordered, not_before = 0, problem = '', status = '', " + _ANEW,
                *(run_id, who, int(retry_failed), now, later),
            )

        self._database.write(work, lasting=True)

    def claim(self, worker: str, places: int = 0, cap: int = 0) -> Claim | None:
        """Take the order whose turn it is: one that had begun, or by priority, turns of the principals, and age.

        `places` are those of each worker. While principals wait, none of them gets more than a fair share of all
        places; alone, it gets all, or `cap` (0 is no limit).
        """
        now = self._clock()
        waiting = "SELECT 1 FROM leadline_orders WHERE state = 'waiting' AND not_before <= ? LIMIT 1"
        if not self._database.read(waiting, now):
            return None

        def work(cursor: Cursor) -> Claim | None:
            due = cursor.rows(
                "SELECT run_id, principal FROM leadline_orders LEFT JOIN leadline_turns USING (principal) "
                "WHERE state = 'waiting' AND not_before <= ? "
                "ORDER BY begun DESC, priority DESC, COALESCE(turn, 0), created, run_id",
                now,
            )
            run_id = _fair(cursor, due, places, cap)
            if not run_id:
                return None
            [row] = cursor.rows(f"SELECT {_COLUMNS} FROM leadline_orders WHERE run_id = ?", run_id)  # noqa: S608
            run = _run(row)
            if not run.has_begun:
                cursor(
                    "INSERT INTO leadline_turns (principal, turn) "
                    "SELECT CAST(? AS TEXT), COALESCE(MAX(turn), 0) + 1 FROM leadline_turns WHERE true "
                    "ON CONFLICT (principal) DO UPDATE SET turn = excluded.turn",
                    run.principal or "",
                )
            cursor(
                "UPDATE leadline_orders SET state = 'claimed', worker = ?, epoch = epoch + 1, begun = 1 "
                "WHERE run_id = ?",
                *(worker, run.run_id),
            )
            [claimed] = cursor.rows(f"SELECT {_COLUMNS} FROM leadline_orders WHERE run_id = ?", run.run_id)  # noqa: S608
            return Claim(_run(claimed), worker)

        # Lasting, like all that moves an order: a claim that a crash of the database undid would give its epoch twice.
        return self._database.write(work, lasting=True)

    def take(self, order: Submission, attempt: int, worker: str) -> Claim | None:
        """Claim the order of a dispatcher; return None if it has ended, or was ordered again meanwhile.

        Raises `JournalBusy` if a later attempt has it. An attempt that another worker has not given back counts as the
        death of that worker.
        """
        epoch, now = order.number * ATTEMPTS + attempt, self._clock()
        known = f"SELECT {_COLUMNS}, deaths FROM leadline_orders WHERE run_id = ? AND state <> 'ended'"  # noqa: S608

        def work(cursor: Cursor) -> Claim | None:
            for *row, deaths in cursor.rows(known, order.run_id):
                run = _run(row)
                if run.epoch // ATTEMPTS != order.number:
                    continue
                if epoch < run.epoch or (epoch == run.epoch and run.worker != worker):
                    raise JournalBusy("another worker has the run")
                if run.state == "claimed" and run.worker != worker and _bury(cursor, run.run_id, deaths + 1, now):
                    continue
                changes = "state = 'claimed', worker = ?, epoch = ?, begun = 1, not_before = 0"
                cursor(f"UPDATE leadline_orders SET {changes} WHERE run_id = ?", worker, epoch, run.run_id)  # noqa: S608
                return Claim(replace(run, state="claimed", worker=worker, epoch=epoch, has_begun=True), worker)
            return None

        return self._database.write(work, lasting=True)

    def unsubmitted(self, cap: int = 0) -> list[Submission]:
        """Return orders that a dispatcher must be told of: new ones by turns, or those that it was told of long ago.

        Of a principal it is told of `cap` orders at once; 0 is no limit.
        """
        now = self._clock()
        statement = (
            "SELECT run_id, epoch, principal, priority FROM (SELECT run_id, epoch, principal, priority, submitted, "
            "created, ROW_NUMBER() OVER (PARTITION BY principal ORDER BY CASE WHEN submitted > 0 THEN 0 ELSE 1 END, "
            "priority DESC, created, run_id) AS place FROM leadline_orders WHERE state <> 'ended' AND not_before <= ?) "
            "AS due WHERE submitted < ? AND (submitted > 0 OR ? = 0 OR place <= ?) "
            "ORDER BY submitted, priority DESC, place, created LIMIT ?"
        )
        rows = self._database.read(statement, now, now - _AGAIN, cap, cap, _AT_ONCE)
        return [Submission(run_id, epoch // ATTEMPTS, who, priority) for run_id, epoch, who, priority in rows]

    def note_submitted(self, orders: Sequence[Submission]) -> None:
        """Note that a dispatcher was told of orders."""
        now = self._clock()
        statement = f"UPDATE leadline_orders SET submitted = ? WHERE run_id = ? AND epoch / {ATTEMPTS} = ?"  # noqa: S608

        def work(cursor: Cursor) -> None:
            for order in orders:
                cursor(statement, now, order.run_id, order.number)

        self._database.write(work, silent=True)

    def is_current(self, claim: Claim) -> bool:
        """Return whether the order still belongs to this claim."""
        statement = "SELECT 1 FROM leadline_orders WHERE run_id = ? AND epoch = ? AND state = 'claimed'"
        return bool(self._database.read(statement, claim.run_id, claim.epoch))

    def done(self, claim: Claim, problem: str = "") -> bool:
        """End an order. Return False if it belongs to another claim by now, like the two following methods."""
        status = "failed" if problem else ""
        changes = "state = 'ended', worker = '', problem = ?, status = ?"
        return self._change(claim.run_id, claim.epoch, changes, problem, status)

    def later(self, claim: Claim, seconds: float, also: str = "") -> bool:
        """Give an order back for a while: somebody else works on its run."""
        due = self._clock() + seconds
        return self._change(claim.run_id, claim.epoch, f"state = 'waiting', worker = '', not_before = ?{also}", due)

    def expect(self, claim: Claim, seconds: float) -> bool:
        """End an order whose run waits for an answer, and order the run again for when it goes on without one."""
        return self.later(claim, seconds, f", {_ANEW}")

    def release(self, run_id: str, epoch: int) -> bool:
        """Give an order back so that it continues elsewhere at once."""
        return self._change(run_id, epoch, "state = 'waiting', worker = '', not_before = 0")

    def _change(self, run_id: str, epoch: int, changes: str, *values: Any) -> bool:
        condition = "run_id = ? AND epoch = ? AND state = 'claimed'"
        statement = f"UPDATE leadline_orders SET {changes} WHERE {condition}"  # noqa: S608 - constants
        return bool(self._database.write(lambda cursor: cursor(statement, *values, run_id, epoch), lasting=True))

    def withdraw(self, run_id: str, principal: str | None, reason: str) -> bool:
        """Cancel an order that waits; return False if it does not."""
        statement = (
            "UPDATE leadline_orders SET state = 'ended', problem = ?, status = 'cancelled' "
            "WHERE run_id = ? AND principal = ? AND state = 'waiting'"
        )
        values = (reason, run_id, principal or "")
        return bool(self._database.write(lambda cursor: cursor(statement, *values), lasting=True))

    def orders(self, principal: str) -> list[QueuedRun]:
        """Return all orders of a principal that are known, also those that have ended."""
        statement = f"SELECT {_COLUMNS} FROM leadline_orders WHERE principal = ? ORDER BY created"  # noqa: S608
        return [_run(row) for row in self._database.read(statement, principal)]

    def erase(self, principal: str) -> bool:
        """Remove all that is known of a principal; return False, and remove nothing, if an order has not ended."""

        def work(cursor: Cursor) -> bool:
            if cursor.rows("SELECT 1 FROM leadline_orders WHERE principal = ? AND state <> 'ended'", principal):
                return False
            for table in ("leadline_orders", "leadline_turns", "leadline_usage", "leadline_notifications"):
                cursor(f"DELETE FROM {table} WHERE principal = ?", principal)  # noqa: S608
            return True

        return self._database.write(work, lasting=True)

    def forget(self, run_id: str) -> None:
        """Remove the order of a deleted run."""
        self._forget("run_id = ?", run_id)

    def forget_ended(self, when: float) -> None:
        """Remove the orders that have ended and were made before a time."""
        self._forget("ordered < ?", when)

    def _forget(self, condition: str, value: object) -> None:
        def work(cursor: Cursor) -> None:
            cursor(f"DELETE FROM leadline_orders WHERE state = 'ended' AND {condition}", value)  # noqa: S608
            cursor("DELETE FROM leadline_notifications WHERE run_id NOT IN (SELECT run_id FROM leadline_orders)")

        self._database.write(work, lasting=True)

    def get(self, run_id: str, principal: str | None) -> QueuedRun | None:
        statement = f"SELECT {_COLUMNS} FROM leadline_orders WHERE run_id = ? AND principal = ?"  # noqa: S608
        rows = self._database.read(statement, run_id, principal or "")
        return _run(rows[0]) if rows else None

    def active(self, known: Mapping[str, QueuedRun] | None = None) -> list[QueuedRun]:
        """Return the orders that wait or are worked on, the newest first; those that are `known` and have not changed.

        So their contents, most of what there is, are read once.
        """
        runs = dict(known or {})
        statement = "SELECT run_id, state, epoch, ordered FROM leadline_orders WHERE state <> 'ended' "
        rows = self._database.read(statement + "ORDER BY created DESC, run_id")
        kept = {(run.run_id, run.state, run.epoch, run.ordered) for run in runs.values()}
        changed = [row[0] for row in rows if tuple(row) not in kept]
        for some in (changed[first : first + _READ] for first in range(0, len(changed), _READ)):
            statement = f"SELECT {_COLUMNS} FROM leadline_orders WHERE run_id IN ({', '.join('?' * len(some))})"  # noqa: S608
            runs |= {row[0]: _run(row) for row in self._database.read(statement, *some)}
        return [runs[row[0]] for row in rows if row[0] in runs]

    # --- notifications -----------------------------------------------------------------------------------------------

    def notifications(self) -> list[Notification]:
        """Return those that are due; which runs wait for an answer, and which for a worker, their folders tell."""
        columns = "run_id, principal, target, CAST(epoch AS TEXT) || status AS now, event, attempts"
        statement = (
            f"SELECT {columns} FROM leadline_notifications JOIN leadline_orders USING (run_id, principal) "  # noqa: S608
            "WHERE (state = 'ended' OR (state = 'waiting' AND begun = 1)) "
            "AND (event <> CAST(epoch AS TEXT) || status OR due <= ?) ORDER BY due"
        )
        rows = self._database.read(statement, self._clock())
        return [
            Notification(run_id, who or None, target, now, attempts if event == now else 0)
            for run_id, who, target, now, event, attempts in rows
        ]

    def begin_notification(self, due: Notification, seconds: float) -> bool:
        """Reserve a notification for so many seconds; return False if another server has it, or sent it."""
        now = self._clock()
        values = (due.event, due.attempts, now + seconds, due.run_id, due.target, due.event, now)
        statement = (
            "UPDATE leadline_notifications SET event = ?, attempts = ?, due = ? "
            "WHERE run_id = ? AND target = ? AND (event <> ? OR due <= ?)"
        )
        return bool(self._database.write(lambda cursor: cursor(statement, *values), silent=True))

    def notified(self, sent: Notification, pause: float | None = None) -> None:
        """Note an attempt: the next one is after so many seconds, or there is none."""
        due = None if pause is None else self._clock() + pause
        statement = "UPDATE leadline_notifications SET event = ?, attempts = ?, due = ? WHERE run_id = ? AND target = ?"
        values = (sent.event, sent.attempts + 1, due, sent.run_id, sent.target)
        self._database.write(lambda cursor: cursor(statement, *values), lasting=True, silent=True)

    def targets(self, principal: str) -> dict[str, list[str]]:
        """Return where the notifications of a principal go, by run id."""
        targets: dict[str, list[str]] = {}
        statement = "SELECT run_id, target FROM leadline_notifications WHERE principal = ? ORDER BY run_id, target"
        for run_id, target in self._database.read(statement, principal):
            targets.setdefault(run_id, []).append(target)
        return targets

    # --- usage -------------------------------------------------------------------------------------------------------

    def spend(self, run_id: str, principal: str | None, totals: Mapping[str, tuple[int, float]]) -> None:
        """Note what a run has spent in all its sessions, by model: tokens and USD. What is new counts as of today."""
        today = _day(self._clock())
        earlier = f"{_SPENT} WHERE run_id = ? AND model = ? AND day <> ?"

        def work(cursor: Cursor) -> None:
            for model, (tokens, cost) in (totals or {"": (0, 0.0)}).items():
                [(before, paid)] = cursor.rows(earlier, run_id, model, today)
                cursor(
                    "INSERT INTO leadline_usage (run_id, day, model, principal, tokens, cost) "
                    "VALUES (?, ?, ?, ?, ?, ?) "
                    "ON CONFLICT (run_id, day, model) DO UPDATE SET tokens = excluded.tokens, cost = excluded.cost",
                    *(run_id, today, model, principal or "", tokens - int(before), cost - float(paid)),
                )

        self._database.write(work, lasting=True, silent=True)

    def spent(self, since: str) -> list[Spent]:
        """Return what runs spent from a day on."""
        statement = (
            "SELECT run_id, principal, day, model, tokens, cost FROM leadline_usage WHERE day >= ? "
            "ORDER BY day, run_id, model"
        )
        rows = self._database.read(statement, since)
        return [Spent(run_id, who or None, day, model, int(n), float(usd)) for run_id, who, day, model, n, usd in rows]

    # --- workers -----------------------------------------------------------------------------------------------------

    def enter(self, worker: str) -> None:
        statement = "INSERT INTO leadline_workers (worker, beats) VALUES (?, 0) ON CONFLICT (worker) DO NOTHING"
        self._database.write(lambda cursor: cursor(statement, worker))

    def beat(self, worker: str) -> dict[str, int]:
        """Tell that a worker is alive; return the epochs of its orders by run id. Raises `Replaced`."""
        held = "SELECT run_id, epoch FROM leadline_orders WHERE state = 'claimed' AND worker = ?"

        def work(cursor: Cursor) -> dict[str, int]:
            if not cursor("UPDATE leadline_workers SET beats = beats + 1 WHERE worker = ?", worker):
                raise Replaced(worker)
            return {str(run_id): int(epoch) for run_id, epoch in cursor.rows(held, worker)}

        return self._database.write(work, silent=True)

    def leave(self, worker: str, *, died: bool = False) -> int:
        """Remove a worker and give its orders back; return their number.

        An order whose workers died again and again waits longer each time, and at last ends with a problem.
        """
        now = self._clock()

        def work(cursor: Cursor) -> int:
            for table in ("leadline_workers", "leadline_leases"):
                cursor(f"DELETE FROM {table} WHERE worker = ?", worker)  # noqa: S608
            held = cursor.rows(
                "SELECT run_id, deaths FROM leadline_orders WHERE state = 'claimed' AND worker = ?", worker
            )
            for run_id, deaths in held:
                _bury(cursor, run_id, deaths + died, now)
            return len(held)

        return self._database.write(work, lasting=True)

    def workers(self) -> list[Worker]:
        rows = self._database.read("SELECT worker, beats FROM leadline_workers ORDER BY worker")
        return [Worker(str(worker), int(beats)) for worker, beats in rows]

    def permits(self, worker: str) -> SqlPermits:
        """Return the limits of providers that all workers share; they are given back when the worker leaves."""
        return SqlPermits(self._database, worker, self._clock)

    def wait(self, seconds: float) -> None:
        """Return when something may have changed, or after so many seconds."""
        self._database.wait(seconds)

    def close(self) -> None:
        self._database.close()


def _bury(cursor: Cursor, run_id: str, deaths: int, now: float) -> bool:
    """Give an order back whose worker is gone; return True if it is given up after so many deaths."""
    given_up = deaths >= MOST_DEATHS
    pause = min(_LONGEST_PAUSE, 2.0 ** (deaths - _PATIENT_DEATHS)) if deaths > _PATIENT_DEATHS else 0.0
    problem = f"{deaths} workers died while they worked on this run" if given_up else ""
    cursor(
        "UPDATE leadline_orders SET worker = '', deaths = ?, state = ?, status = ?, problem = ?, not_before = ? "
        "WHERE run_id = ?",
        *(deaths, "ended" if given_up else "waiting", "failed" if given_up else "", problem),
        *(now + pause if pause else 0.0, run_id),
    )
    return given_up


def _check_quota(cursor: Cursor, principal: str, quota: Quota, now: float, run_id: str = "") -> None:
    """Raise `Full` if the principal may have no active run beside its others, or has spent what it may in this time."""
    statement = "SELECT COUNT(*) FROM leadline_orders WHERE principal = ? AND state <> 'ended' AND run_id <> ?"
    if quota.runs is not None and cursor.rows(statement, principal, run_id)[0][0] >= quota.runs:
        raise Full(f"{quota.runs} {'run is' if quota.runs == 1 else 'runs are'} active, which is the limit")
    today = datetime.fromtimestamp(now, UTC)
    midnight = today.replace(hour=0, minute=0, second=0, microsecond=0)
    first = midnight.replace(day=1)
    spans = (("day", midnight, midnight + timedelta(days=1)), ("month", first, (first + timedelta(31)).replace(day=1)))
    for name, begin, end in spans:
        statement = f"{_SPENT} WHERE principal = ? AND day >= ?"
        [(tokens, money)] = cursor.rows(statement, principal, f"{begin:%Y-%m-%d}")
        for amount, what, unit in ((int(tokens), "tokens", "tokens"), (float(money), "money", "USD")):
            limit = getattr(quota, f"{what}_{name}")
            if limit and amount >= limit:
                used = f"you have used {amount:,.8g} of {limit:,.8g} {unit} of this {name}"
                raise Full(f"{used}, which ends {end:%Y-%m-%d} 00:00 UTC", (end - today).total_seconds())


def _fair(cursor: Cursor, due: Sequence[Sequence[Any]], places: int, cap: int) -> str:
    """Return the first of these orders, by run id and principal, whose principal may have another place; empty: none.

    While several principals wait, the share of each is that of all places, divided by those that wait or work; if all
    that wait have theirs, no place stays empty.
    """
    held = "SELECT principal, COUNT(*) FROM leadline_orders WHERE state = 'claimed' GROUP BY principal"
    working = {str(principal): int(count) for principal, count in cursor.rows(held)}
    waiting = {str(principal) for _, principal in due}
    due = [(run_id, principal) for run_id, principal in due if not cap or working.get(principal, 0) < cap]
    if places and len({principal for _, principal in due}) > 1:
        workers = cursor.rows("SELECT COUNT(*) FROM leadline_workers")[0][0]
        share = max(1, places * int(workers) // len(waiting | {*working}))
        due = [order for order in due if working.get(order[1], 0) < share] or due
    return str(due[0][0]) if due else ""


def _day(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"


def _run(row: Sequence[Any]) -> QueuedRun:
    run_id, principal, content, state, epoch, worker, ordered, retry_failed, begun, problem, status = row
    return QueuedRun(
        run_id=run_id,
        principal=principal or None,
        content=content,
        state=state,
        epoch=epoch,
        worker=worker,
        ordered=ordered,
        retry_failed=bool(retry_failed),
        has_begun=bool(begun),
        problem=problem,
        status=status,
    )


# The file of the queue in the folder of runs.
FILE = ".queue.sqlite"


def open_queue(url: str, folder: Path) -> Queue:
    """Return the queue in a database, `postgresql://…`; without one, that of the folder of runs.

    Raises `UsageError` for another URL and for a queue of a newer version, and `QueueUnavailable`.
    """
    database = open_database(url, folder / FILE)
    try:
        database.write(_prepare, lasting=True)
    except BaseException:
        database.close()
        raise
    return Queue(database)


def open_database(url: str, path: Path) -> Database:
    """Return the database at a URL, `postgresql://…`; without one, the file. Raises `UsageError` for another URL."""
    if not url:
        from leadline_server.queue.sqlite import SqliteDatabase

        return SqliteDatabase(path)
    if not url.startswith(("postgresql://", "postgres://")):
        raise UsageError("--database: not a database; write postgresql://USER@HOST/DATABASE")
    if find_spec("psycopg") is None:
        raise UsageError("a database of runs needs psycopg: leadline plugins install 'leadline[fleet]'")
    from leadline_server.queue.postgres import PostgresDatabase

    return PostgresDatabase(url)


def _prepare(cursor: Cursor) -> None:
    for statement in TABLES:
        cursor(statement)
    known = cursor.rows("SELECT version FROM leadline_queue")
    if not known:
        cursor("INSERT INTO leadline_queue (version, folder, changes) VALUES (?, '', 0)", VERSION)
    elif known[0][0] < VERSION:
        cursor("ALTER TABLE leadline_orders ADD COLUMN submitted DOUBLE PRECISION NOT NULL DEFAULT 0")
        cursor("UPDATE leadline_queue SET version = ?", VERSION)
    elif known[0][0] > VERSION:
        raise UsageError("the queue is of a newer version of Leadline: update it, or name another --database")
