"""The runs that the server works on. The server owns them: clients only order and watch them.

An order is stored before it is accepted, and a run is crossed out there when it has ended by itself. So whatever ends
the server, the next one continues exactly the runs that are still open.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from leadline import Client, RunHandle
from leadline.errors import JournalBusy, LeadlineError, UsageError
from leadline.runs import Order, Result, RunInfo
from leadline_server.limits import Limits
from leadline_server.problems import no_such_run, too_many
from leadline_server.store import Store

log = logging.getLogger("leadline.server")
# The reason of a cancellation by the end of the server; such a run is continued at the next start.
SHUTDOWN = "the server is shutting down; the run continues when it is back"
# Statuses of a run that has ended by itself. `cancelled` is decided by its reason.
_ENDED = ("complete", "partial", "no_evidence", "failed", "waiting")
# Seconds between two attempts to continue a run on which another process works.
_BUSY_WAIT = 2.0


class Entry:
    """A run that is active here: about to start, running, or about to be continued."""

    def __init__(self, run_id: str, principal: str | None, order: Order | None = None) -> None:
        self.run_id, self.principal, self.order = run_id, principal, order
        self.handle: RunHandle | None = None
        # Set when there is a handle, or none will come.
        self.started = asyncio.Event()
        self.ended = asyncio.Event()


class Board:
    """The active runs, by id. Use it on one event loop."""

    def __init__(self, client: Client, store: Store, limits: Limits) -> None:
        self.client, self.store = client, store
        self.closing = asyncio.Event()
        # Called with the result and the principal of every run that ended.
        self.when_ended: Callable[[Result, str | None], Awaitable[None]]
        self._limits = limits
        self._entries: dict[str, Entry] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self) -> None:
        """Continue the runs that were active when the last server ended."""
        for stored in self.store.open_orders():
            entry = Entry(stored.run_id, stored.principal, stored.order)
            self._begin(entry, again=stored.again, interrupted=True)

    async def close(self) -> None:
        """Interrupt the runs so that the next server continues them; returns when they have ended."""
        self.closing.set()
        for entry in self._entries.values():
            if entry.handle:
                entry.handle.cancel_soon(SHUTDOWN)
        while self._tasks:
            await asyncio.wait(self._tasks)

    def entry(self, run_id: str, principal: str | None) -> Entry | None:
        """Return the entry of an active run of this principal."""
        entry = self._entries.get(run_id)
        return entry if entry and entry.principal == principal else None

    def entries(self, principal: str | None) -> list[Entry]:
        """Return the active runs of a principal, newest first."""
        return [entry for entry in reversed(self._entries.values()) if entry.principal == principal]

    def count(self) -> int:
        """Return the number of active runs."""
        return len(self._entries)

    def folder(self, run_id: str, principal: str | None) -> Path:
        """Return the folder in which the run of this principal is, or would be."""
        return self.client.runs_folder(principal=principal).absolute() / run_id

    def find(self, run_id: str, principal: str | None) -> RunInfo:
        """Return a run on disk. Raises `Problem`."""
        folder = self.folder(run_id, principal)
        try:
            found = self.client.find(folder, principal=principal)
        except UsageError:
            raise no_such_run() from None
        if found.folder != folder:  # the beginning of another id
            raise no_such_run()
        return found

    # --- orders ----------------------------------------------------------------------------------------------------

    async def submit(self, order: Order, principal: str | None, key: str | None, digest: str) -> None:
        """Accept an order for good and start it. Raises `Problem`, or `Taken` if the request is a repetition."""
        if key is not None:
            await asyncio.to_thread(self.store.refuse_taken, principal, key, digest)
        entry = self._reserve(Entry(order.run_id, principal, order))
        try:
            await asyncio.to_thread(self.store.add, order, principal, key, digest)
        except BaseException:
            self._drop(entry)
            raise
        self._begin(entry)

    async def resume(self, run_id: str, principal: str | None, *, retry_failed: bool) -> None:
        """Continue a run that has ended. Raises `Problem`, or `JournalBusy` while somebody works on it."""
        if run_id in self._entries:
            raise JournalBusy("the run is active")
        entry = self._reserve(Entry(run_id, principal))
        try:
            stored = await asyncio.to_thread(self.store.order, run_id, principal)
            entry.order = stored.order if stored else None
            handle = await self._handle(entry, retry_failed=retry_failed)
            await asyncio.to_thread(self.store.reopen, run_id, principal)
        except BaseException:
            self._drop(entry)
            raise
        self._begin(entry, handle=handle)

    def _reserve(self, entry: Entry) -> Entry:
        if len(self.entries(entry.principal)) >= self._limits.runs:
            raise too_many(f"{self._limits.runs} runs are active, which is the limit", 10)
        self._entries[entry.run_id] = entry
        return entry

    def _drop(self, entry: Entry) -> None:
        self._entries.pop(entry.run_id, None)
        entry.started.set()
        entry.ended.set()

    def _begin(
        self, entry: Entry, *, handle: RunHandle | None = None, again: bool = False, interrupted: bool = False
    ) -> None:
        self._entries[entry.run_id] = entry
        task = asyncio.create_task(self._drive(entry, handle, again=again, interrupted=interrupted))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _drive(self, entry: Entry, handle: RunHandle | None, *, again: bool, interrupted: bool) -> None:
        """Take a run to its end, and cross it out unless it is to be continued."""
        problem = ""
        try:
            if handle is None and interrupted and not again and await asyncio.to_thread(self._has_ended, entry):
                return  # the last server was killed before it knew
            handle = handle or await self._patient_handle(entry)
            if handle is None:
                return  # closing
            handle.events().close()  # nobody reads it; it would keep all events
            entry.handle = handle
            entry.started.set()
            if self.closing.is_set():
                handle.cancel_soon(SHUTDOWN)
            result = await handle.result()
            if result.status == "cancelled" and result.reason == SHUTDOWN:
                handle = None
                return
            await self.when_ended(result, entry.principal)
        except LeadlineError as error:
            problem = str(error)
            log.warning("run %s: %s", entry.run_id, error)
        except Exception:
            problem = "the run could not be started; the log of the server has the details"
            log.exception("run %s", entry.run_id)
        finally:
            if problem or handle is not None or not self.closing.is_set():
                with suppress(Exception):  # otherwise the next server finds that it has ended
                    await asyncio.to_thread(self.store.end, entry.run_id, problem)
            self._drop(entry)

    async def _patient_handle(self, entry: Entry) -> RunHandle | None:
        """Start or continue a run, after other processes that work on it; None if the server closes first."""
        while not self.closing.is_set():
            try:
                return await self._handle(entry)
            except JournalBusy:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.closing.wait(), _BUSY_WAIT)
        return None

    async def _handle(self, entry: Entry, *, retry_failed: bool = False) -> RunHandle:
        folder, principal = self.folder(entry.run_id, entry.principal), entry.principal
        if entry.order and not retry_failed:
            return await self.client.run(entry.order, principal=principal, interactive=True)
        return await self.client.resume(folder, retry_failed=retry_failed, principal=principal, interactive=True)

    def _has_ended(self, entry: Entry) -> bool:
        try:
            found = self.client.find(self.folder(entry.run_id, entry.principal), principal=entry.principal)
        except UsageError:
            return False
        metadata = found.metadata
        if metadata is None or metadata.ended is None:
            return False
        return metadata.status in _ENDED or (metadata.status == "cancelled" and metadata.reason != SHUTDOWN)
