"""The dispatcher of one machine fulfils the contract, and the servers tell any other of the orders."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.server.queue.test_queue import an_order

from leadline.contracts import CarryOut, Dispatcher, Submission
from leadline.testing.contracts import DispatcherContract
from leadline_server.active_runs import ActiveRuns
from leadline_server.dispatchers import Embedded, submit_orders
from leadline_server.queue import Queue, open_queue


class Rows:
    """The dispatcher of one machine with the rows that servers and workers write."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue

    async def submit(self, order: Submission, /) -> None:
        known = self.queue.get(order.run_id, order.principal)
        if known is None:
            self.queue.put(an_order(order.run_id), order.principal, priority=order.priority)
        elif order.number > known.submission.number:
            self.queue.reopen(order.run_id, order.principal)

    async def cancel(self, order: Submission, /) -> None:
        assert self.queue.withdraw(order.run_id, order.principal, "cancelled")

    async def work(self, carry_out: CarryOut, /, *, slots: int, closing: asyncio.Event) -> None:
        async def do(order: Submission, attempt: int) -> None:
            claim = self.queue.take(order, attempt, "w")
            assert claim
            try:
                await carry_out(order, attempt)
            except BaseException:
                self.queue.release(claim.run_id, claim.epoch)
                raise
            self.queue.done(claim)

        await Embedded(self.queue, "w").work(do, slots=slots, closing=closing)


class TestEmbedded(DispatcherContract):
    @pytest.fixture
    async def dispatcher(self, tmp_path: Path) -> AsyncIterator[Dispatcher]:
        queue = open_queue("", tmp_path / "runs")
        yield Rows(queue)
        queue.close()


class Engine:
    """Notes what it is told, unless it is away."""

    def __init__(self) -> None:
        self.is_away = True
        self.told: list[Submission] = []

    async def submit(self, order: Submission, /) -> None:
        if self.is_away:
            raise ConnectionError("away")
        self.told.append(order)

    async def cancel(self, order: Submission, /) -> None:
        raise NotImplementedError

    async def work(self, carry_out: CarryOut, /, *, slots: int, closing: asyncio.Event) -> None:
        raise NotImplementedError


async def test_orders_wait_while_the_dispatcher_is_away_and_it_is_told_of_each_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    queue, engine = open_queue("", tmp_path / "runs"), Engine()
    active = ActiveRuns(queue)
    orders = [an_order() for _ in range(3)]
    with caplog.at_level(logging.WARNING):
        tasks = [asyncio.create_task(active.follow()), asyncio.create_task(submit_orders(active, engine, 2))]
        for order in orders:
            queue.put(order, "alice")
        async with asyncio.timeout(20):
            while not caplog.records:
                await asyncio.sleep(0.02)
            engine.is_away = False
            while len(engine.told) < 2:
                await asyncio.sleep(0.02)
            claim = queue.take(engine.told[0], 1, "w")
            assert claim
            queue.done(claim)
            while len(engine.told) < 3:
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.2)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    queue.close()
    assert [order.run_id for order in engine.told] == [order.run_id for order in orders]
    assert [record.message for record in caplog.records] == ["the dispatcher takes no orders; they wait: away"]
