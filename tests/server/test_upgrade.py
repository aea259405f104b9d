"""An upgrade: runs in flight that an earlier version left behind continue, and repeat no call that returned.

`data/runs_in_flight.tar.gz` was written by 68021913: a run whose process was killed, one whose worker was killed, and
an order that waited in the queue.
"""

from __future__ import annotations

import asyncio
import tarfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline._runtime.journal.journal import Journal
from leadline.contracts import Call
from leadline.plugin import middleware
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin
from leadline_server.dispatchers import Embedded
from leadline_server.queue import open_queue
from leadline_server.worker import Worker

DATA = Path(__file__).with_name("data") / "runs_in_flight.tar.gz"


class Counts:
    live = True

    def __init__(self) -> None:
        self.made: set[str] = set()

    async def around(self, request: Any, call: Call, proceed: Callable[[Any], Awaitable[Any]], /) -> Any:
        self.made.add(call.key)
        return await proceed(request)


async def stored(folder: Path) -> set[str]:
    journal = await Journal.open(folder / "journal.sqlite", mode="read")
    await journal.close()
    return journal.keys()


@pytest.mark.timeout(60)
async def test_runs_in_flight_of_an_earlier_version_continue_and_repeat_nothing(tmp_path: Path) -> None:
    with tarfile.open(DATA) as archive:
        archive.extractall(tmp_path, filter="data")
    before = {folder.name: await stored(folder) for folder in (tmp_path / "runs").iterdir() if folder.is_dir()}
    queue, counts = open_queue("", tmp_path / "runs"), Counts()
    orders = {run.run_id for run in queue.active()}
    [alone] = before.keys() - orders
    assert len(orders) == 2
    plugins = [fake_web(), plugin("slow", middleware("Counts calls")(lambda: counts))]
    async with leadline.Client(plugins=plugins, folder=tmp_path / "runs", cache=tmp_path / "cache") as client:
        assert client.find(alone).status == "interrupted"
        ends = [await (await client.resume(alone)).result()]
        for worker in queue.workers():  # as its supervisor does
            queue.leave(worker.id, died=True)
        own = Worker(client, queue, Embedded(queue, "w"), "w")
        working = asyncio.create_task(own.work(2))
        while queue.active():
            await asyncio.sleep(0.05)
        own.closing.set()
        await working
        queue.close()
        found = {name: client.find(name) for name in (*orders, alone)}
    assert ends[0].status == "complete", ends[0].reason
    assert {name: info.status for name, info in found.items()} == dict.fromkeys(found, "complete")
    assert counts.made
    assert not counts.made & set().union(*before.values())
