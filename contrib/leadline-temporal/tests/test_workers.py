"""Real runs on worker processes that die, end in order, or lose Temporal: `python test_workers.py FOLDER ADDRESS`."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from leadline_temporal import Temporal, TemporalSettings
from servers import Server, running

import leadline
from leadline.contracts import Call
from leadline.plugin import middleware
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin
from leadline_server.active_runs import ActiveRuns
from leadline_server.dispatchers import submit_orders
from leadline_server.processes import name_of
from leadline_server.queue import Queue, open_queue
from leadline_server.worker import Worker

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"


class Slow:
    """Writes each call down, then lets it wait, the same call the same time."""

    live = True

    def __init__(self, folder: Path) -> None:
        self._log = (folder / "calls.log").open("a", buffering=1)

    async def around(self, request: Any, call: Call, proceed: Callable[[Any], Awaitable[Any]], /) -> Any:
        self._log.write(f"{os.getpid()} {call.run.id} {call.key} {time.time()}\n")
        await asyncio.sleep(int(call.key[:4], 16) / 0xFFFF * 2)
        return await proceed(request)


def client(folder: Path) -> leadline.Client:
    slow = plugin("slow", middleware("Slows every call")(lambda: Slow(folder)))
    used = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "middleware": ["slow"], "cache.search": 0}
    return leadline.Client(plugins=[fake_web(), slow], folder=folder / "runs", cache=folder / "cache", set=used)


async def work(folder: Path, address: str) -> None:
    queue, name = open_queue("", folder / "runs"), name_of(os.getpid())
    async with client(folder) as runs, Temporal(TemporalSettings(address=address, task_queue=folder.name)) as temporal:
        worker = Worker(runs, queue, temporal, name)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.closing.set)
        await worker.work(2)


@contextmanager
def workers(folder: Path, address: str, count: int = 2) -> Iterator[list[subprocess.Popen[bytes]]]:
    command = [sys.executable, __file__, str(folder), address]
    started = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


@asynccontextmanager
async def submitting(queue: Queue, folder: Path, address: str) -> Any:
    active = ActiveRuns(queue)
    async with Temporal(TemporalSettings(address=address, task_queue=folder.name)) as temporal:
        tasks = [asyncio.create_task(active.follow()), asyncio.create_task(submit_orders(active, temporal))]
        try:
            yield temporal
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


async def until(condition: Callable[[], Any], seconds: float = 90) -> Any:
    async with asyncio.timeout(seconds):
        while not (found := condition()):
            await asyncio.sleep(0.05)
    return found


def report(folder: Path) -> Any:
    found = json.loads((folder / "report.json").read_text())
    found["metadata"].pop("created")
    return found


def calls(folder: Path) -> list[tuple[str, str, str, float]]:
    with suppress(FileNotFoundError):
        rows = [line.split() for line in (folder / "calls.log").read_text().splitlines()]
        return [(pid, run, key, float(when)) for pid, run, key, when in rows]
    return []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    return tmp_path


async def put(folder: Path, queue: Queue, count: int) -> list[str]:
    async with client(folder) as orders:
        made = [orders.order(QUESTION) for _ in range(count)]
    for order in made:
        queue.put(order, None)
    return [order.run_id for order in made]


async def test_runs_of_a_worker_that_is_killed_or_ends_go_on_elsewhere_and_end_the_same(
    folder: Path, server: Server
) -> None:
    queue = open_queue("", folder / "runs")
    with workers(folder, server.address) as processes:
        async with submitting(queue, folder, server.address):
            runs = await put(folder, queue, 6)
            await until(lambda: len({run for _, run, _, _ in calls(folder)}) == 4)
            victim, other = processes
            name = name_of(victim.pid)
            victim.kill()
            killed = time.time()
            processes.append(subprocess.Popen([sys.executable, __file__, str(folder), server.address]))
            await until(lambda: name not in {run.worker for run in queue.active()})
            takeover = time.time() - killed
            runs += await put(folder, queue, 4)
            await until(lambda: {run.worker for run in queue.active()} & {name_of(other.pid)})
            other.terminate()
            told = time.time()
            await asyncio.to_thread(other.wait, 20)
            ended = time.time() - told
            await until(lambda: not queue.active())
    reports = [report(folder / "runs" / run) for run in runs]
    orders = [queue.get(run, None) for run in runs]
    queue.close()
    print(f"taken over after {takeover:.1f} s, ended in order within {ended:.1f} s")
    assert all(one == reports[0] for one in reports)
    assert [order.problem for order in orders if order] == [""] * 10
    assert max(Counter((run, key) for _, run, key, _ in calls(folder)).values()) <= 3
    assert takeover < 15 + 4
    assert ended < 8


async def test_while_temporal_is_away_runs_go_on_and_orders_wait(folder: Path) -> None:
    queue = open_queue("", folder / "runs")
    away = float(os.environ.get("AWAY", "20"))
    with ExitStack() as stack:
        server = stack.enter_context(running(folder))
        [*processes] = stack.enter_context(workers(folder, server.address, 1))
        async with submitting(queue, folder, server.address):
            first = await put(folder, queue, 2)
            await until(lambda: len({run for _, run, _, _ in calls(folder)}) == 2)
            server.stop()
            late = await put(folder, queue, 2)
            began = time.time()
            await asyncio.sleep(away)
            assert any(when > began + 1 for _, _, _, when in calls(folder))
            server.start()
            back = time.time()
            await until(lambda: {*late} <= {run for _, run, _, _ in calls(folder)})
            delay = time.time() - back
            await until(lambda: not queue.active())
            assert processes[0].poll() is None
    queue.close()
    reports = [report(folder / "runs" / run) for run in first + late]
    print(f"orders began {delay:.1f} s after its return")
    assert all(one == reports[0] for one in reports)
    assert delay < 10


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), sys.argv[2]))
