"""Contract of dispatchers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, ClassVar

import pytest
import pytest_asyncio

from leadline.contracts import Dispatcher, Submission
from leadline.hookspecs import PluginSettings, offers_of
from leadline.testing.context import fake_context
from leadline.testing.contracts.checks import must


class DispatcherContract:
    """Contract of dispatchers. Set `tested`; fixture: `settings` of an engine that has no orders at the start."""

    kind = "dispatchers"
    tested: ClassVar[Any]
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

    async def attempts(
        self, dispatcher: Dispatcher, count: int, do: Callable[[int], Awaitable[object]]
    ) -> list[tuple[Submission, int]]:
        """Carry out one order after another until so many attempts have begun; `do` is given the number of each."""
        begun: list[tuple[Submission, int]] = []
        closing = asyncio.Event()

        async def carry_out(order: Submission, attempt: int) -> None:
            begun.append((order, attempt))
            if len(begun) == count:
                closing.set()
            await do(len(begun))

        async with asyncio.timeout(60):
            await dispatcher.work(carry_out, slots=1, closing=closing)
        return begun

    async def test_an_order_is_carried_out_once_for_each_time_it_was_ordered(self, dispatcher: Dispatcher) -> None:
        for run in ("run", "run", "run", "other"):
            await dispatcher.submit(Submission(run))
        begun = await self.attempts(dispatcher, 2, lambda _: asyncio.sleep(0))
        await dispatcher.submit(Submission("run", 1))
        begun += await self.attempts(dispatcher, 1, lambda _: asyncio.sleep(0))
        orders = sorted((order.run_id, order.number) for order, _ in begun)
        must(orders == [("other", 0), ("run", 0), ("run", 1)], f"repetitions of an order are others: {orders}")

    async def test_what_fails_or_is_left_at_the_end_of_a_worker_is_tried_again(self, dispatcher: Dispatcher) -> None:
        async def fail(_: int) -> None:
            raise ConnectionError("for a test")

        await dispatcher.submit(Submission("run"))
        begun = await self.attempts(dispatcher, 2, fail) + await self.attempts(
            dispatcher, 1, lambda _: asyncio.sleep(0)
        )
        numbers = [attempt for _, attempt in begun]
        must(numbers == sorted({*numbers}), f"each attempt must have a higher number: {numbers}")

    async def test_priorities_and_turns_decide_and_a_cancelled_order_is_dropped(self, dispatcher: Dispatcher) -> None:
        dropped = Submission("dropped", principal="carol")
        orders = [Submission(f"alice{number}", principal="alice") for number in range(4)]
        orders += [dropped, Submission("bob", principal="bob"), Submission("urgent", principal="alice", priority=2)]

        async def order_others(number: int) -> None:
            for order in orders if number == 1 else ():
                await dispatcher.submit(order)
            if number == 1:
                await dispatcher.cancel(dropped)
                await asyncio.sleep(1)  # an engine may take them in later

        await dispatcher.submit(Submission("first", principal="alice"))
        runs = [order.run_id for order, _ in await self.attempts(dispatcher, 7, order_others)]
        must(runs[1] == "urgent", f"an urgent order waits for others: {runs}")
        must("dropped" not in runs, f"a cancelled order is carried out: {runs}")
        must(not self.turns or runs.index("bob") < 4, f"bob waits for all orders of alice: {runs}")
