"""A worker: it takes orders from the queue and works on their runs, until it is told to end.

A run belongs to the worker whose claim is the latest: its number is compared before a session starts and at every
beat. The lock of the run's folder keeps all other processes away, and the journal refuses a worker that wakes up after
another one took the run over. What a worker leaves unfinished, however it ends, another one continues from the journal.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from leadline import Client, Run
from leadline.errors import JournalBusy, LeadlineError, UsageError
from leadline.events import Subscription, utc_now
from leadline.runs import Result, RunInfo
from leadline_server import logs
from leadline_server.processes import name_of
from leadline_server.queue import Claim, Queue, QueuedRun, QueueUnavailable, Replaced

T = TypeVar("T")
log = logging.getLogger("leadline.worker")
# The reason of a cancellation after which the run is continued, by this worker or another one.
CONTINUED = "its worker ended; another one continues the run"
# Seconds between two beats; without one for so many, a worker ends, because its runs may belong to others.
BEAT, PATIENCE = 1.0, 30.0
# Seconds for which a run is given back while another process works on it.
_BUSY = 1.0
# Seconds that an idle worker waits for a word of the queue before it looks again.
_IDLE = 0.5


class Worker:
    """Works on at most `runs` runs at once. Use it on one event loop."""

    def __init__(self, client: Client, queue: Queue, runs: int, *, name: str = "", of_a_user: int = 0) -> None:
        self.name = name or name_of(os.getpid())
        self.closing = asyncio.Event()
        self._client, self._queue, self._runs, self._of_a_user = client, queue, runs, of_a_user
        self._claims: dict[str, Claim] = {}
        self._handles: dict[str, Run] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        # Beats and claims take turns, so that a beat knows every claim.
        self._asking = asyncio.Lock()
        self._threads = ThreadPoolExecutor(2, "queue")

    async def work(self) -> None:
        """Take orders until `close`. Raises `QueueUnavailable` if the queue is gone for too long, or `Replaced`."""
        await self._ask(self._queue.enter, self.name)
        beating = asyncio.create_task(self._beat())
        taking = asyncio.create_task(self._take())
        try:
            await asyncio.wait({beating, taking}, return_when=asyncio.FIRST_COMPLETED)
            for task in (beating, taking):
                if task.done():
                    task.result()
        finally:
            self.close()
            await asyncio.wait({taking})
            while self._tasks:
                await asyncio.wait(self._tasks)
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
            with suppress(QueueUnavailable):
                await self._ask(self._queue.leave, self.name)
            self._threads.shutdown(wait=False)

    def close(self) -> None:
        """Interrupt the runs, so that another worker continues them at once."""
        self.closing.set()
        for handle in self._handles.values():
            handle.cancel_soon(CONTINUED)

    async def _ask(self, function: Callable[..., T], *values: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *values)

    # --- claims ------------------------------------------------------------------------------------------------------

    async def _take(self) -> None:
        try:
            await self._client.knowledge.warm()
        except LeadlineError as error:
            log.warning("the documents cannot be searched now: %s", error)
        while not self.closing.is_set():
            claim = None
            if len(self._claims) < self._runs:
                with suppress(QueueUnavailable):  # `_beat` decides for how long that is acceptable
                    async with self._asking:
                        claim = await self._ask(self._queue.claim, self.name, self._runs, self._of_a_user)
                        if claim:
                            self._claims[claim.run_id] = claim
            if claim:
                task = asyncio.create_task(self._drive(claim), name=f"order {claim.run_id}")
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            else:
                await self._pause()

    async def _pause(self) -> None:
        """Wait for a word of the queue, the end of a run, or that of the worker."""
        if len(self._claims) < self._runs:
            with suppress(QueueUnavailable):
                await self._ask(self._queue.wait, _IDLE)
        elif not self._tasks:
            await asyncio.sleep(_IDLE)
        else:
            closing = asyncio.create_task(self.closing.wait())
            await asyncio.wait({*self._tasks, closing}, return_when=asyncio.FIRST_COMPLETED)
            closing.cancel()

    async def _beat(self) -> None:
        """Tell that this worker is alive, and let go of what belongs to others by now."""
        last = time.monotonic()
        while True:
            try:
                async with self._asking:
                    held = await self._ask(self._queue.beat, self.name)
                    self._compare(held)
                last = time.monotonic()
                for run_id in held.keys() - self._claims.keys():  # of a claim whose answer was lost
                    await self._ask(self._queue.release, run_id, held[run_id])
            except QueueUnavailable:
                if time.monotonic() - last > PATIENCE:
                    raise
            except Replaced:
                log.warning("this worker was taken for dead: others continue its runs")
                raise
            await asyncio.sleep(BEAT)

    def _compare(self, held: dict[str, int]) -> None:
        for run_id, claim in self._claims.items():
            handle = self._handles.get(run_id)
            if handle and held.get(run_id) != claim.epoch:
                log.warning("run %s: another worker continues it", run_id)
                handle.cancel_soon(CONTINUED)

    # --- one run -----------------------------------------------------------------------------------------------------

    async def _drive(self, claim: Claim) -> None:
        with logs.context(run_id=claim.run_id, user=claim.run.principal):
            await self._carry_out(claim)

    async def _carry_out(self, claim: Claim) -> None:
        """Take a run to its end, and give the order back unless it has ended."""
        end: tuple[Callable[..., bool], tuple[object, ...]] = (self._queue.release, (claim.run_id, claim.epoch))
        try:
            if await asyncio.to_thread(self._has_ended, claim) or await self._run(claim):
                end = (self._queue.done, (claim,))
                if limit := waits_until(await asyncio.to_thread(self._find, claim.run)):
                    end = (self._queue.later, (claim, max(0.0, (limit - utc_now()).total_seconds())))
        except JournalBusy:
            end = (self._queue.later, (claim, _BUSY))
        except QueueUnavailable as error:
            log.warning("run %s: %s", claim.run_id, error)
        except LeadlineError as error:
            log.warning("run %s: %s", claim.run_id, error)
            end = (self._queue.done, (claim, str(error)))
        except Exception:
            log.exception("run %s", claim.run_id)
            end = (self._queue.done, (claim, "the run could not be started; the log of its worker has the details"))
        finally:
            self._handles.pop(claim.run_id, None)
            await self._tell(*end)
            del self._claims[claim.run_id]
            # What a run leaves in reference cycles, some 5 MB, would stay for tens of runs: see `tune_gc`.
            gc.collect()

    async def _tell(self, function: Callable[..., object], values: tuple[object, ...]) -> None:
        """Tell the queue what became of an order, or what it cost; one that is gone for too long is not told."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                await self._ask(function, *values)
            except QueueUnavailable:
                if time.monotonic() > end:
                    return
                await asyncio.sleep(BEAT)
            else:
                return

    async def _run(self, claim: Claim) -> bool:
        """Run a session; return False if the run is to be continued."""
        if self.closing.is_set() or not await self._ask(self._queue.is_current, claim):
            return False
        handle = await self._start(claim)
        handle.events().close()  # nobody reads it; it would keep all events
        handle.publish()
        logging_failures = asyncio.create_task(_log_failures(handle.subscribe(deltas=False)))
        logs.write(log, "run begins", pipeline=handle.snapshot().pipeline, session=handle.snapshot().sessions)
        self._handles[claim.run_id] = handle
        if self.closing.is_set() or not await self._ask(self._queue.is_current, claim):
            handle.cancel_soon(CONTINUED)
        result = await handle.result()
        await logging_failures  # it ends with the run
        if result.exit_code == JournalBusy.exit_code:  # it lost the run, or the disk did not answer
            logs.write(log, "run is tried again", logging.WARNING, reason=result.reason)
            raise JournalBusy(result.reason)
        await self._tell(self._queue.spend, (claim.run_id, claim.run.principal, _spent(result)))
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
