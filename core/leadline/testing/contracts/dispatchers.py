"""Contract of dispatchers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
import pytest_asyncio

from leadline.contracts import Dispatcher, Submission
from leadline.hookspecs import PluginSettings, offers_of
from leadline.testing.context import fake_context
from leadline.testing.contracts.checks import must

# Runs, numbers of orders and of attempts.
Attempts = list[tuple[str, int, int]]


class DispatcherContract:
    """Contract of dispatchers. Set `tested`; fixture: `settings` of an engine that has no orders at the start."""

    kind = "dispatchers"
    tested: ClassVar[Any]
    patience: ClassVar[float] = 30.0
    turns: ClassVar[bool] = True
    """False if principals do not take turns."""

    @pytest.fixture
    def settings(self) -> PluginSettings:
        """Return the settings of the dispatcher."""
        return offers_of(self.tested)[self.kind].settings()

    @pytest_asyncio.fixture
    async def dispatcher(self, settings: PluginSettings, tmp_path: Path) -> AsyncIterator[Dispatcher]:
        """Create, enter and exit the dispatcher."""
        made: Any = offers_of(self.tested)[self.kind].create(settings, fake_context(tmp_path))
        async with AsyncExitStack() as stack:
            yield await stack.enter_async_context(made) if hasattr(made, "__aenter__") else made

    @asynccontextmanager
    async def working(self, dispatcher: Dispatcher, do: Callable[[int], Awaitable[object]]) -> AsyncIterator[Attempts]:
        """Carry out one order at a time until the block is left; `do` gets the number of those that began before."""
        attempts: Attempts = []
        closing = asyncio.Event()

        async def carry_out(order: Submission, attempt: int) -> None:
            attempts.append((order.run_id, order.number, attempt))
            doing, ending = asyncio.ensure_future(do(len(attempts) - 1)), asyncio.ensure_future(closing.wait())
            await asyncio.wait({doing, ending}, return_when=asyncio.FIRST_COMPLETED)
            ending.cancel()
            if doing.cancel():
                raise InterruptedError("the worker ends")
            doing.result()

        task = asyncio.create_task(dispatcher.work(carry_out, slots=1, closing=closing))
        try:
            yield attempts
        finally:
            closing.set()
            await task

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for a condition."""
        async with asyncio.timeout(self.patience):
            while not condition():  # noqa: ASYNC110 - of any kind
                await asyncio.sleep(0.02)

    # --- the tests ---

    async def test_an_order_is_carried_out_once_for_each_time_it_was_ordered(self, dispatcher: Dispatcher) -> None:
        for _ in range(3):
            await dispatcher.submit(Submission("run"))
        async with self.working(dispatcher, lambda _: asyncio.sleep(0)) as attempts:
            await self.until(lambda: attempts)
            await asyncio.sleep(0.5)
            await dispatcher.submit(Submission("run", 1))
            await self.until(lambda: len(attempts) > 1)
        must([number for _, number, _ in attempts] == [0, 1], f"three repetitions and another order are {attempts}")

    async def test_what_fails_or_is_left_at_the_end_of_a_worker_is_tried_again(self, dispatcher: Dispatcher) -> None:
        async def fail_first(before: int) -> None:
            if not before:
                raise ConnectionError("for a test")
            await asyncio.sleep(self.patience)

        await dispatcher.submit(Submission("run"))
        async with self.working(dispatcher, fail_first) as attempts:
            await self.until(lambda: len(attempts) > 1)
        async with self.working(dispatcher, lambda _: asyncio.sleep(0)) as others:
            await self.until(lambda: others)
        numbers = [attempt for _, _, attempt in attempts + others]
        must(numbers == sorted({*numbers}), f"each attempt must have a higher number: {numbers}")

    async def test_priorities_and_turns_decide_and_a_cancelled_order_is_dropped(self, dispatcher: Dispatcher) -> None:
        free = asyncio.Event()
        orders = [Submission(f"alice{number}", principal="alice") for number in range(4)]
        dropped = Submission("dropped", principal="carol")
        orders += [dropped, Submission("bob", principal="bob"), Submission("urgent", principal="alice", priority=2)]
        async with self.working(dispatcher, lambda _: free.wait()) as attempts:
            await dispatcher.submit(Submission("first", principal="alice"))
            await self.until(lambda: attempts)
            for order in orders:
                await dispatcher.submit(order)
            await dispatcher.cancel(dropped)
            await asyncio.sleep(1)  # an engine may take them in later
            free.set()
            await self.until(lambda: len(attempts) == 7)
        runs = [run for run, _, _ in attempts]
        must(runs[1] == "urgent", f"an urgent order waits for others: {runs}")
        must("dropped" not in runs, f"a cancelled order is carried out: {runs}")
        must(not self.turns or runs.index("bob") < 4, f"bob waits for all orders of alice: {runs}")
