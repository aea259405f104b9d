"""Workers and their supervisor: what they take, let go of, and leave to others."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import PATIENCE, QUESTION, SETTINGS, Gate

import leadline
from leadline._runtime.runs.adhoc import KnowledgeClient
from leadline.contracts import Submission
from leadline.errors import LeadlineError
from leadline.plugin import middleware
from leadline.runs import Metadata
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin
from leadline_server import dispatchers, processes, worker
from leadline_server.dispatchers import Embedded
from leadline_server.queue import Queue, QueueUnavailable, open_queue
from leadline_server.supervisor import Supervisor


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def queue(tmp_path: Path) -> Any:
    opened = open_queue("", tmp_path / "runs")
    yield opened
    opened.close()


@asynccontextmanager
async def working(
    folder: Path, queue: Queue, gate: Gate, name: str = "w", slots: int = 4
) -> AsyncIterator[worker.Worker]:
    offer = middleware("For a test")(lambda: gate)
    used = {key: value for key, value in SETTINGS.items() if key != "clarify.mode"} | {"middleware": ["gate"]}
    plugins = [fake_web(), plugin("gate", offer)]
    async with leadline.Client(plugins=plugins, folder=folder / "runs", cache=folder / "cache", set=used) as client:
        embedded = Embedded(queue, name, ready=partial(worker.warm, client))
        made = worker.Worker(client, queue, embedded, name)
        task = asyncio.create_task(made.work(slots))
        try:
            yield made
        finally:
            made.closing.set()
            await task


def an_order(folder: Path) -> Any:
    client = leadline.Client(plugins=[fake_web()], folder=folder / "runs", cache=folder / "cache")
    used = {key: value for key, value in SETTINGS.items() if key != "clarify.mode"}
    return client.order(QUESTION, set=used)


async def until(condition: Callable[[], Any]) -> Any:
    async with asyncio.timeout(PATIENCE):
        while not (found := condition()):
            await asyncio.sleep(0.02)
    return found


def state(folder: Path, run_id: str) -> Any:
    with suppress(OSError):
        return Metadata.model_validate_json((folder / "runs" / run_id / "metadata.json").read_bytes())
    return None


async def test_a_worker_that_ends_in_order_gives_its_runs_back_at_once(
    tmp_path: Path, queue: Queue, gate: Gate
) -> None:
    order = an_order(tmp_path)
    queue.put(order, None)
    with gate.closed():
        async with working(tmp_path, queue, gate):
            await until(lambda: (found := state(tmp_path, order.run_id)) and found.status == "running")
    [given_back] = queue.active()
    assert (given_back.state, given_back.worker, given_back.epoch, queue.workers()) == ("waiting", "", 1, [])
    assert state(tmp_path, order.run_id).reason == worker.CONTINUED
    async with working(tmp_path, queue, gate, "other"):
        await until(lambda: not queue.active())
    ended = state(tmp_path, order.run_id)
    assert (ended.status, ended.sessions) == ("complete", 2)


async def test_a_worker_lets_go_of_a_run_that_belongs_to_another_one(
    tmp_path: Path, queue: Queue, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatchers, "BEAT", 0.05)
    order = an_order(tmp_path)
    queue.put(order, None)
    with gate.closed():
        async with working(tmp_path, queue, gate, slots=1) as late:
            await until(lambda: (found := state(tmp_path, order.run_id)) and found.status == "running")
            queue.leave("w", died=True)
            queue.enter("w")
            current = await until(lambda: queue.claim("other"))
            await until(lambda: state(tmp_path, order.run_id).reason == worker.CONTINUED)
            await until(lambda: not late._handles)
    assert (current.epoch, queue.is_current(current)) == (2, True)


async def test_a_worker_that_is_taken_for_dead_while_it_ends_says_so_in_one_line(
    tmp_path: Path, queue: Queue, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(dispatchers, "BEAT", 0.05)
    closing, ending, order = asyncio.Event(), asyncio.Event(), an_order(tmp_path)
    queue.put(order, None)

    async def carry_out(order: Submission, attempt: int) -> None:
        await ending.wait()

    working = asyncio.create_task(Embedded(queue, "w").work(carry_out, slots=4, closing=closing))
    await until(lambda: queue.active()[0].state == "claimed")
    closing.set()
    await asyncio.sleep(1.2 * dispatchers._IDLE)  # it takes nothing any more
    queue.leave("w", died=True)
    await until(lambda: caplog.records)
    ending.set()
    await working
    gc.collect()
    assert [(record.exc_info, "taken for dead" in record.message) for record in caplog.records] == [(None, True)]


@pytest.mark.parametrize("fails", [False, True])
async def test_a_worker_takes_an_order_once_the_documents_can_be_searched(
    fails: bool, tmp_path: Path, queue: Queue, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready, order = asyncio.Event(), an_order(tmp_path)

    async def warm(_: object) -> None:
        await ready.wait()
        if fails:
            raise LeadlineError("the database does not answer")

    monkeypatch.setattr(KnowledgeClient, "warm", warm)
    queue.put(order, None)
    async with working(tmp_path, queue, gate):
        await until(queue.workers)
        await asyncio.sleep(0.3)
        assert [run.state for run in queue.active()] == ["waiting"]
        ready.set()
        await until(lambda: not queue.active())
    assert state(tmp_path, order.run_id).status == "complete"


async def test_a_run_that_has_ended_is_not_run_again(tmp_path: Path, queue: Queue, gate: Gate) -> None:
    order = an_order(tmp_path)
    queue.put(order, None)
    async with working(tmp_path, queue, gate):
        await until(lambda: not queue.active())
    # As if its worker had been killed before it could tell.
    queue._database.write(lambda cursor: cursor("UPDATE leadline_orders SET state = 'waiting'"))
    async with working(tmp_path, queue, gate):
        await until(lambda: not queue.active())
    assert state(tmp_path, order.run_id).sessions == 1


async def test_a_run_of_another_process_is_left_alone_until_it_is_free_and_its_end_counts(
    tmp_path: Path, queue: Queue, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_BUSY", 0.1)
    order = an_order(tmp_path)
    offer = middleware("For a test")(lambda: gate)
    plugins = [fake_web(), plugin("gate", offer)]
    with gate.closed():
        async with leadline.Client(
            plugins=plugins, folder=tmp_path / "runs", cache=tmp_path / "cache", set={"middleware": ["gate"]}
        ) as client:
            handle = await client.run(order)
            queue.put(order, None)
            async with working(tmp_path, queue, gate):
                await until(lambda: (found := queue.get(order.run_id, None)) and found.epoch > 2)
                assert not handle._task.done()
                await handle.cancel()
                gate.is_open.set()
                await until(lambda: not queue.active())
    ended = queue.get(order.run_id, None)
    assert ended
    assert (ended.problem, state(tmp_path, order.run_id).status) == ("", "cancelled")


async def test_a_worker_that_ends_because_the_queue_was_silent_has_not_died(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[bool] = []

    def leave(name: str, *, died: bool) -> int:
        left.append(died)
        return 0

    monkeypatch.setattr(queue, "leave", leave)
    code = QueueUnavailable.exit_code
    supervising = asyncio.create_task(Supervisor(queue, [sys.executable, "-c", f"raise SystemExit({code})"], 1).run())
    await until(lambda: left)
    supervising.cancel()
    await asyncio.wait({supervising})
    assert left[0] is False


# A worker without runs: it beats, or is paused before it does, as its argument tells.
_WORKER = """
import os, signal, sys, time
from pathlib import Path
from leadline_server.processes import name_of
from leadline_server.queue import open_queue
queue, name = open_queue("", Path(sys.argv[1])), name_of(os.getpid())
queue.enter(name)
Path("started").open("a").write(f"{os.getpid()}\\n")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
while True:
    queue.beat(name)
    time.sleep(0.05)
"""


def pids() -> list[int]:
    with suppress(FileNotFoundError):
        return [int(line) for line in Path("started").read_text().split()]
    return []


@asynccontextmanager
async def supervised(folder: Path, queue: Queue, command: list[str]) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(Supervisor(queue, command, 1, limit=1.0).run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_the_runs_of_a_worker_that_died_or_does_not_beat_go_to_others(
    number: signal.Signals, tmp_path: Path, queue: Queue
) -> None:
    order = an_order(tmp_path)
    queue.put(order, None)
    async with supervised(tmp_path, queue, [sys.executable, "-c", _WORKER, str(tmp_path / "runs")]):
        first = (await until(pids))[0]
        claim = queue.claim(processes.name_of(first))
        assert claim
        os.kill(first, number)
        await until(lambda: queue.active()[0].state == "waiting")
        assert not processes.is_running(claim.worker)
        second = (await until(lambda: pids()[1:]))[0]
        await until(lambda: [one.id for one in queue.workers()] == [processes.name_of(second)])
    assert queue.workers() == []


async def test_the_runs_of_workers_whose_parent_is_gone_go_to_others(tmp_path: Path, queue: Queue) -> None:
    done = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    gone = processes.name_of(done.pid)
    done.communicate()
    queue.enter(gone)
    queue.put(an_order(tmp_path), None)
    assert queue.claim(gone)
    async with supervised(tmp_path, queue, [sys.executable, "-c", "import time; time.sleep(60)"]):
        await until(lambda: queue.active()[0].state == "waiting")


async def test_workers_that_cannot_be_started_end_their_supervisor(tmp_path: Path, queue: Queue) -> None:
    async with supervised(tmp_path, queue, [sys.executable, "-c", "import sys; sys.exit(64)"]) as task:
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait({task})
    with pytest.raises(LeadlineError, match="cannot be started"):
        task.result()


def test_the_name_of_a_process_means_no_later_one() -> None:
    name = processes.name_of(os.getpid())
    machine, pid, start = name.split(".")
    assert (processes.is_local(name), processes.is_running(name)) == (True, True)
    assert not processes.is_running(f"{machine}.{pid}.{int(start) + 1}")
    assert not processes.is_local(f"elsewhere.{pid}.{start}")
    processes.kill(f"{machine}.{pid}.{int(start) + 1}")  # which would be this process
