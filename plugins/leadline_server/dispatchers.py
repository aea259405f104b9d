"""Dispatchers: that of one machine, whose workers claim the orders of the queue themselves, and those of plugins."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from leadline import Client
from leadline.contracts import CarryOut, Dispatcher, Submission
from leadline_server.active_runs import ActiveRuns
from leadline_server.queue import Claim, Queue, QueueUnavailable, Replaced
from leadline_server.worker import PATIENCE, log

T = TypeVar("T")
# Seconds between two beats. Without one for `PATIENCE`, a worker ends, because its runs may belong to others.
BEAT = 1.0
# Seconds between two looks for orders that a dispatcher does not know, and orders that it is told at the same time.
_SWEEP, _TOGETHER = 1.0, 20
# Seconds that an idle worker waits for a word of the queue before it looks again.
_IDLE = 0.5


async def dispatcher_of(client: Client) -> Dispatcher | None:
    """Return the dispatcher that the settings name, if any."""
    name = client.plugins.settings.runs.dispatcher
    return await client.plugins.instance("dispatchers", name).open() if name else None


async def submit_orders(active: ActiveRuns, dispatcher: Dispatcher, of_a_user: int = 0) -> None:
    """Tell a dispatcher of the orders until this is cancelled, `of_a_user` of a user at once (0 is no limit).

    Several servers may do so. While the dispatcher is away, the orders wait in the queue.
    """
    is_away = False
    while True:
        version, orders = active.version, list[Submission]()
        with suppress(QueueUnavailable):
            orders = await asyncio.to_thread(active.queue.unsubmitted, of_a_user)
            for begin in range(0, len(orders), _TOGETHER):
                chunk = orders[begin : begin + _TOGETHER]
                replies = await asyncio.gather(*map(dispatcher.submit, chunk), return_exceptions=True)
                failures = {order: reply for order, reply in zip(chunk, replies, strict=True) if reply}
                await asyncio.to_thread(active.queue.note_submitted, [it for it in chunk if it not in failures])
                if failures and not is_away:
                    log.warning("the dispatcher takes no orders; they wait: %s", next(iter(failures.values())))
                if is_away := bool(failures):
                    break
        if not orders or is_away:
            await active.changed(version, _SWEEP)


class Embedded:
    """Claims orders for the worker `name` once it is `ready`, at most `of_a_user` of a user at once (0 is no limit)."""

    def __init__(
        self, queue: Queue, name: str, of_a_user: int = 0, ready: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._queue, self._name, self._of_a_user, self._ready = queue, name, of_a_user, ready
        self._tasks: dict[asyncio.Task[None], Claim] = {}
        # Beats and claims take turns, so that a beat knows every claim.
        self._asking = asyncio.Lock()
        self._threads = ThreadPoolExecutor(2, "claims")

    async def submit(self, order: Submission, /) -> None:
        """The queue has it."""

    async def cancel(self, order: Submission, /) -> None:
        """The queue knows it."""

    async def work(self, carry_out: CarryOut, /, *, slots: int, closing: asyncio.Event) -> None:
        """Take orders until `closing`. Raises `QueueUnavailable` if the queue is gone for too long, or `Replaced`."""
        await self._ask(self._queue.enter, self._name)
        beating = asyncio.create_task(self._beat())
        taking = asyncio.create_task(self._take(carry_out, slots, closing))
        try:
            await asyncio.wait({beating, taking}, return_when=asyncio.FIRST_COMPLETED)
            for task in (beating, taking):
                if task.done():
                    task.result()
        finally:
            closing.set()
            await asyncio.wait({taking})
            while self._tasks:
                await asyncio.wait(self._tasks)
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
            self._threads.shutdown(wait=False)

    async def _ask(self, function: Callable[..., T], *values: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *values)

    async def _take(self, carry_out: CarryOut, slots: int, closing: asyncio.Event) -> None:
        if self._ready:
            await self._ready()
        while not closing.is_set():
            claim = None
            if len(self._tasks) < slots:
                with suppress(QueueUnavailable):  # `_beat` decides for how long that is acceptable
                    async with self._asking:
                        claim = await self._ask(self._queue.claim, self._name, slots, self._of_a_user)
                        if claim:
                            task = asyncio.create_task(carry_out(claim.run.submission, claim.attempt))
                            self._tasks[task] = claim
                            task.add_done_callback(self._forget)
            if claim is None:
                await self._pause(slots, closing)

    def _forget(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        if not task.cancelled():
            task.exception()  # the queue knows what became of the order

    async def _pause(self, slots: int, closing: asyncio.Event) -> None:
        """Wait for a word of the queue, the end of a run, or that of the worker."""
        if len(self._tasks) < slots:
            with suppress(QueueUnavailable):
                await self._ask(self._queue.wait, _IDLE)
        else:
            ending = asyncio.create_task(closing.wait())
            await asyncio.wait({*self._tasks, ending}, return_when=asyncio.FIRST_COMPLETED)
            ending.cancel()

    async def _beat(self) -> None:
        """Tell that this worker is alive, and let go of what belongs to others by now."""
        last = time.monotonic()
        while True:
            try:
                async with self._asking:
                    held = await self._ask(self._queue.beat, self._name)
                    for task, claim in self._tasks.items():
                        if held.get(claim.run_id) != claim.epoch:
                            task.cancel()
                    unknown = held.keys() - {claim.run_id for claim in self._tasks.values()}
                last = time.monotonic()
                for run_id in unknown:  # of a claim whose answer was lost
                    await self._ask(self._queue.release, run_id, held[run_id])
            except QueueUnavailable:
                if time.monotonic() - last > PATIENCE:
                    raise
            except Replaced:
                log.warning("this worker was taken for dead: others continue its runs")
                raise
            await asyncio.sleep(BEAT)
