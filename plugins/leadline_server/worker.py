"""A worker: it works on the runs that its dispatcher brings, until it is told to end.

A run belongs to the worker whose claim is the latest: its number is compared before a session starts. The lock of the
run's folder keeps all other processes away, and the journal refuses a worker that wakes up after another one took the
run over. What a worker leaves unfinished, however it ends, another one continues from the journal.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from leadline import Client, Run
from leadline.contracts import Dispatcher, Submission
from leadline.errors import JournalBusy, LeadlineError, UsageError
from leadline.events import Subscription, utc_now
from leadline.runs import Result, RunInfo
from leadline.stores import store_of
from leadline_server import logs
from leadline_server.queue import Claim, Queue, QueuedRun, QueueUnavailable

T = TypeVar("T")
log = logging.getLogger("leadline.worker")
# The reason of a cancellation after which the run is continued, by this worker or another one.
CONTINUED = "its worker ended; another one continues the run"
# Seconds between two attempts to tell the queue what became of an order, and for which it is tried.
_PAUSE, PATIENCE = 1.0, 30.0
# Seconds for which a run is given back while another process works on it.
_BUSY = 1.0
# Bytes that must be free on the disk for another run: those that work need room to end. On several machines a worker
# with less leaves it to others.
LEAST_FREE = 200 * 2**20
# Seconds in which the requests of a run return that another machine is to continue.
GRACE_OF_REQUESTS = 30.0


class Worker:
    """Works on the runs of a queue. Use it on one event loop; `closing` ends it, so that another one continues them."""

    def __init__(self, client: Client, queue: Queue, dispatcher: Dispatcher, name: str) -> None:
        self.closing = asyncio.Event()
        self._client, self._queue, self._dispatcher, self._name = client, queue, dispatcher, name
        self._handles: dict[Claim, Run] = {}
        # The claims whose runs are left to others.
        self._left: set[Claim] = set()
        # The run of each session; one that was taken away and given again has two for a while.
        self._sessions: list[str] = []
        self._threads = ThreadPoolExecutor(2, "queue")

    async def work(self, slots: int) -> None:
        """Work on at most `slots` runs at once until `closing` is set. Raises what the dispatcher raises."""
        interrupting = asyncio.create_task(self._interrupt_all())
        try:
            await self._dispatcher.work(self._carry_out, slots=slots, closing=self.closing)
        finally:
            interrupting.cancel()
            with suppress(QueueUnavailable):
                await self._ask(self._queue.leave, self._name)
            self._threads.shutdown(wait=False)

    async def _interrupt_all(self) -> None:
        await self.closing.wait()
        await asyncio.gather(*map(self._leave, self._handles.values()))

    async def _leave(self, handle: Run) -> None:
        """Interrupt a run; if another machine continues it, only when its requests have returned."""
        await handle.leave(CONTINUED, GRACE_OF_REQUESTS if store_of(handle.folder) else 0.0)

    async def _ask(self, function: Callable[..., T], *values: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *values)

    async def _carry_out(self, order: Submission, attempt: int) -> None:
        """Take a run to its end; raise an error if it is to be continued. Cancelled, it interrupts the run first."""
        root = self._client.runs_folder()
        if store_of(root) and shutil.disk_usage(root).free < LEAST_FREE:
            logs.write(log, "run is left to another worker", logging.WARNING, reason=f"the disk of {root} is full")
            raise JournalBusy("the disk of this worker is full")
        claim = await self._ask(self._queue.take, order, attempt, self._name)
        if claim is None:
            return
        session = asyncio.create_task(self._session(claim), name=f"order {claim.run_id}")
        while not session.done():
            try:
                await asyncio.wait({session})
            except asyncio.CancelledError:
                self._left.add(claim)
                if handle := self._handles.get(claim):
                    log.warning("run %s: another worker continues it", claim.run_id)
                    handle.cancel_soon(CONTINUED)
        self._left.discard(claim)
        session.result()

    async def _session(self, claim: Claim) -> None:
        """Work on a run, and tell the queue what became of the order."""
        end: Any = (self._queue.release, claim.run_id, claim.epoch)
        again: LeadlineError | None = JournalBusy(CONTINUED)
        self._sessions.append(claim.run_id)
        with logs.context(run_id=claim.run_id, user=claim.run.principal):
            try:
                if await asyncio.to_thread(self._has_ended, claim) or await self._run(claim):
                    again, end = None, (self._queue.done, claim)
                    if limit := waits_until(await asyncio.to_thread(self._find, claim.run)):
                        seconds = max(0.0, (limit - utc_now()).total_seconds())
                        end = (self._queue.expect, claim, seconds)
            except JournalBusy as error:
                again, end = error, (self._queue.later, claim, _BUSY)
            except QueueUnavailable as error:
                log.warning("run %s: %s", claim.run_id, error)
                again = error
            except LeadlineError as error:
                log.warning("run %s: %s", claim.run_id, error)
                again, end = None, (self._queue.done, claim, str(error))
            except Exception as error:
                log.exception("run %s", claim.run_id)
                problem = "the run could not be started; the log of its worker has the details"
                again, end = None, (self._queue.done, claim, problem)
                if isinstance(error, OSError) and store_of(self._client.runs_folder()):  # of this machine
                    again, end = JournalBusy(f"{error}"), (self._queue.later, claim, _BUSY)
            finally:
                self._handles.pop(claim, None)
                is_noted = await self._tell(*end)
                self._sessions.remove(claim.run_id)
                folder = self._folder(claim.run)
                if (store := store_of(folder)) and claim.run_id not in self._sessions:
                    store.drop(folder)  # at once: the next session may begin
                # What a run leaves in reference cycles, some 5 MB, would stay for tens of runs: see `tune_gc`.
                gc.collect()
        if again or not is_noted:
            raise again or QueueUnavailable("the queue does not know the end of the run")

    async def _tell(self, function: Callable[..., object], *values: object) -> bool:
        """Tell the queue what became of an order, or what it cost; return False if it is gone for too long."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                await self._ask(function, *values)
            except QueueUnavailable:
                if time.monotonic() > end:
                    return False
                await asyncio.sleep(_PAUSE)
            else:
                return True

    async def _goes_on(self, claim: Claim) -> bool:
        """Return whether this worker is to work on the run."""
        is_left = self.closing.is_set() or claim in self._left
        return not is_left and await self._ask(self._queue.is_current, claim)

    async def _run(self, claim: Claim) -> bool:
        """Run a session; return False if the run is to be continued."""
        if not await self._goes_on(claim):
            return False
        handle = await self._start(claim)
        handle.events().close()  # nobody reads it; it would keep all events
        handle.publish()
        logging_failures = asyncio.create_task(_log_failures(handle.subscribe(deltas=False)))
        logs.write(log, "run begins", pipeline=handle.snapshot().pipeline, session=handle.snapshot().sessions)
        self._handles[claim] = handle
        if not await self._goes_on(claim):
            handle.cancel_soon(CONTINUED)
        result = await handle.result()
        await logging_failures  # it ends with the run
        if result.exit_code == JournalBusy.exit_code:  # it lost the run, or the disk did not answer
            logs.write(log, "run is tried again", logging.WARNING, reason=result.reason)
            raise JournalBusy(result.reason)
        await self._tell(self._queue.spend, claim.run_id, claim.run.principal, _spent(result))
        is_continued = result.status == "cancelled" and result.reason == CONTINUED
        message = "run waits for an answer" if result.status == "waiting" else "run ended"
        logs.write(log, "run is left to another worker" if is_continued else message, **_sums(result))
        return not is_continued

    async def _start(self, claim: Claim) -> Run:
        run = claim.run

        def owns() -> bool:  # others that had the run may only be paused, or may have ended it meanwhile
            return self._queue.is_current(claim) and not self._has_ended(claim)

        options: Any = {"principal": run.principal, "owns": owns}
        if run.order and not run.retry_failed:
            return await self._client.run(run.order, **options)
        return await self._client.resume(self._folder(run), retry_failed=run.retry_failed, **options)

    def _folder(self, run: QueuedRun) -> Path:
        return self._client.runs_folder(principal=run.principal).absolute() / run.run_id

    def _has_ended(self, claim: Claim) -> bool:
        """Return whether somebody has carried the order out, but could not tell the queue."""
        info = self._find(claim.run)
        return info is not None and has_ended(info, claim.run)

    def _find(self, run: QueuedRun) -> RunInfo | None:
        with suppress(UsageError):
            return self._client.find(self._folder(run), principal=run.principal)
        return None


async def warm(client: Client) -> None:
    """Build the indexes of documents: the first run would not wait for them, and find less."""
    try:
        await client.knowledge.warm()
    except LeadlineError as error:
        log.warning("the documents cannot be searched now: %s", error)


async def _log_failures(events: Subscription) -> None:
    async for event in events:
        if event.kind in ("error", "call.retried") and event.data.get("provider") and not event.data.get("replayed"):
            names = ("provider", "kind", "task", "category", "type", "message", "attempt")
            about = {("reason" if name == "message" else name): event.data.get(name) for name in names}
            logs.write(log, "provider failed", logging.WARNING, **about)


def _sums(result: Result) -> dict[str, object]:
    run, usage = result.metadata, result.metadata.usage
    sums = {name: usage.get(name) for name in ("input_tokens", "output_tokens", "cost")}
    about = {"pipeline": run.pipeline, "status": run.status, "seconds": round(run.seconds, 1)}
    # What a waiting run asks says what it is about; that is never logged.
    return {**about, **sums, "reason": "" if run.status == "waiting" else run.reason}


def _spent(result: Result) -> dict[str, tuple[int, float]]:
    """Return tokens and USD by model; what has no known price costs nothing."""
    providers: Any = result.metadata.usage.get("by_provider") or {}
    spent: dict[str, tuple[int, float]] = {}
    for name, used in providers.items():
        models = [model for model in result.metadata.models if model.startswith(f"{name}:")]
        spent[models[0] if len(models) == 1 else name] = int(used["tokens"]), float(used["cost"] or 0)
    return spent


def waits_until(info: RunInfo | None) -> datetime | None:
    """Return when a run that waits for an answer goes on without one; None if it does not."""
    questions = info.metadata.questions if info and info.metadata and info.status == "waiting" else ()
    return min((question.until for question in questions if question.until), default=None)


def has_ended(info: RunInfo, run: QueuedRun) -> bool:
    """Return whether the run ended by itself since it was ordered, or waits for an answer."""
    metadata = info.metadata
    if (limit := waits_until(info)) and limit <= utc_now():
        return False
    if metadata is None or metadata.ended is None or metadata.ended.timestamp() < run.ordered:
        return False
    return not (metadata.status == "cancelled" and metadata.reason == CONTINUED)
