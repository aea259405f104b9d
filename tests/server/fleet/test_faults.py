"""What several machines, a database that stalls and a worker that wakes up late must not do to a run."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.server.fleet.test_runs import QUESTION, Machines, machines

from leadline import Client
from leadline.contracts import CarryOut, Submission
from leadline.errors import JournalBusy
from leadline.events import utc_now
from leadline.plugin import SecretStr
from leadline.records import Event
from leadline.runs import METADATA
from leadline.settings import Runs
from leadline.stores import RunStore, store_of
from leadline_server.fleet.runs import open_runs
from leadline_server.queue import QueueUnavailable, open_queue
from leadline_server.worker import Worker

pytestmark = pytest.mark.slow
__all__ = ["machines"]  # the fixture


def store(client: Client) -> Any:
    """Return the store of a client."""
    known: RunStore | None = store_of(client.runs_folder())
    return known


class Again:
    """A dispatcher that takes a worker for dead, and gives it the order again."""

    def __init__(self, run_id: str, folder: Path) -> None:
        self._run_id, self._folder = run_id, folder
        self.files: set[str] = set()

    async def work(self, carry_out: CarryOut, /, **_: object) -> None:
        attempts = []
        for attempt in (1, 2):
            attempts.append(asyncio.create_task(carry_out(Submission(self._run_id), attempt)))
            await asyncio.sleep(1.0)
        attempts[0].cancel()
        await asyncio.wait({attempts[0]})
        self.files = {path.name for path in self._folder.glob("*")}
        attempts[1].cancel()
        await asyncio.wait({attempts[1]})
        assert all(attempt.exception() for attempt in attempts)


async def test_a_session_that_lost_its_run_leaves_the_folder_to_the_next_one_of_its_process(machines: Machines) -> None:
    client = await machines.start("first")
    order = client.order(QUESTION)
    folder = client.runs_folder() / order.run_id
    machines.gate.is_open.clear()
    with closing(open_queue(machines.url, client.runs_folder())) as queue:
        queue.put(order, None)
        again = Again(order.run_id, folder)
        await Worker(client, queue, again, "worker").work(1)  # type: ignore[arg-type]
    assert METADATA in again.files
    assert not folder.exists()


async def test_a_session_that_lost_its_run_takes_no_message_to_the_next_one(machines: Machines) -> None:
    first, second = store(await machines.start("first")), store(await machines.start("second"))
    for machine in (first, second):
        journal = machine.journal(machine._root / "run", "write", lambda: True)
        journal.open()
        with journal.transaction(durable=True) as records:
            records.next_session()
    second.mailbox(second._root / "run").send("stop", b"{}")
    assert first.mailbox(first._root / "run").messages() == []
    assert second.mailbox(second._root / "run").messages() == [("stop", b"{}")]


class Proxy:
    """A way to a database that can fall silent: it accepts everything and passes nothing on."""

    def __init__(self, url: str) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        port = self._server.getsockname()[1]
        head, _, rest = url.rpartition(":")
        self.url, self._port = f"{head}:{port}/{rest.partition('/')[2]}", int(rest.partition("/")[0])
        self.is_silent = threading.Event()
        self._open: list[socket.socket] = [self._server]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                ends = self._server.accept()[0], socket.create_connection(("127.0.0.1", self._port))
                self._open += ends
                for source, target in (ends, ends[::-1]):
                    threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if not self.is_silent.is_set():
                    target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for end in self._open:
            end.close()


@pytest.fixture
def proxy(postgres: Any) -> Iterator[Proxy]:
    with closing(Proxy(postgres.database(uuid4().hex))) as running:
        yield running


def test_a_database_that_falls_silent_is_given_up(
    proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leadline_server.queue.connections._SILENCE", 1.0)
    settings = Runs(database=SecretStr(proxy.url), folder=tmp_path)
    with closing(open_runs(settings)) as runs, closing(open_queue(proxy.url, tmp_path)) as queue:
        runs.pull(tmp_path)
        proxy.is_silent.set()
        for ask in (lambda: runs.pull(tmp_path), queue.workers, lambda: queue.enter("worker")):
            began = time.monotonic()
            with pytest.raises(QueueUnavailable):
                ask()
            assert time.monotonic() - began < 12
        proxy.is_silent.clear()
        time.sleep(1.5)
        runs.pull(tmp_path)
        queue.enter("worker")


def begin(machine: Any, run: str) -> Any:
    """Begin a session of a run, and return its journal."""
    journal = machine.journal(machine._root / run, "write", None)
    journal.open()
    with journal.transaction(durable=True) as records:
        journal.session = records.next_session()
    return journal


async def test_a_run_whose_end_could_not_be_stored_is_not_held_by_the_other_runs_of_its_process(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leadline_server.fleet.runs._TOUCH", 0.1)
    first = store(await machines.start("first"))
    begin(first, "other")
    begin(first, "run")
    first._working.pop("run")  # as if the database had not answered to `end`
    first.connections.rows("UPDATE leadline_runs SET touched = touched - interval '20 s'")
    await asyncio.sleep(0.5)
    assert (first.is_active(first._root / "other"), first.is_active(first._root / "run")) == (True, False)


async def test_one_locked_run_does_not_hold_up_the_others_of_its_process(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leadline_server.fleet.runs._TOUCH", 0.1)
    first = store(await machines.start("first"))
    journals = [begin(first, name) for name in ("a", "b", "c")]
    for locked in journals:  # a transaction that stores files somewhere slow
        with locked.transaction(durable=False):
            await asyncio.sleep(0.5)
            for other in journals:
                if other is not locked:
                    with other.transaction(durable=False) as records:
                        records.connection.execute("SET LOCAL lock_timeout = 100")
                        records.put("call", "name", "{}", "mark")


def event(run: str, seq: int) -> Event:
    return Event(seq=seq, time=utc_now(), run_id=run, kind="notice", data={"message": f"{seq}"})


async def test_all_events_of_a_long_run_are_read(machines: Machines) -> None:
    client = await machines.start("first")
    machine = store(client)
    journal = begin(machine, "run")
    machine.observer(machine._root / "run", 1)._store([event("run", seq) for seq in range(5_000)])
    journal.close()
    assert [item.seq async for item in client.events(machine._root / "run")] == [*range(5_000)]


async def test_a_session_whose_run_was_deleted_stores_nothing_more(machines: Machines) -> None:
    machine = store(await machines.start("first"))
    folder = machine._root / "run"
    journal = begin(machine, "run")
    machine.connections.rows("UPDATE leadline_runs SET touched = touched - interval '20 s'")
    machine.delete(folder)
    machine.observer(folder, 1)._store([event("run", 0)])
    with pytest.raises(JournalBusy), journal.transaction(durable=False) as records:
        records.keep_files()
    assert machine.events(folder, -1).read() == []


async def test_a_copy_that_is_out_of_date_overwrites_nothing(machines: Machines) -> None:
    first, second = await machines.start("first"), await machines.start("second")
    run = (await (await first.start(QUESTION)).result()).folder.name
    old = second.find(run).folder
    pull = store(second).pull
    store(second).pull = lambda *_, **__: None  # it was read just before the other one changed it
    first.label(run, title="Soundings")
    second.label(old, pinned=True)
    store(second).pull = pull
    info = second.find(run)
    assert info.metadata
    assert (info.metadata.title, info.metadata.pinned) == ("Soundings", True)
    assert [first.find(run).metadata.title, first.find(run).metadata.pinned] == ["Soundings", True]


async def test_a_copy_loses_the_files_that_the_run_has_lost(machines: Machines) -> None:
    first, second = await machines.start("first"), await machines.start("second")
    result = await (await first.start(QUESTION)).result()
    copy = second.find(result.folder.name).folder
    assert (copy / "report.md").is_file()
    with store(first).changing(result.folder):
        (result.folder / "report.md").unlink()
    second.find(result.folder.name)
    assert not (copy / "report.md").exists()
