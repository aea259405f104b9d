"""What several machines, a database that stalls and a worker that wakes up late must not do to a run."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.server.conftest import order, running
from tests.server.fleet.test_runs import QUESTION, Machines, machines

from leadline import Client
from leadline._runtime.runs.folder import write_atomically
from leadline.errors import JournalBusy
from leadline.events import utc_now
from leadline.plugin import SecretStr
from leadline.records import Event
from leadline.settings import Runs
from leadline.stores import RunStore, store_of
from leadline_server.fleet.runs import open_runs
from leadline_server.queue import QueueUnavailable, open_queue

pytestmark = pytest.mark.slow
__all__ = ["machines"]  # the fixture


def store(client: Client) -> Any:
    """Return the store of a client."""
    known: RunStore | None = store_of(client.runs_folder())
    return known


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
        end = time.monotonic() + 20
        while True:
            try:
                runs.pull(tmp_path)
                queue.enter("worker")
                break
            except QueueUnavailable:
                assert time.monotonic() < end
                time.sleep(0.1)


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
    monkeypatch.setattr("leadline_server.fleet.copies._TOUCH", 0.1)
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
    monkeypatch.setattr("leadline_server.fleet.copies._TOUCH", 0.1)
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
    info = first.find(run)
    assert info.metadata
    assert (info.metadata.title, info.metadata.pinned) == ("Soundings", True)


async def test_a_copy_loses_the_files_that_the_run_has_lost(machines: Machines) -> None:
    first, second = await machines.start("first"), await machines.start("second")
    result = await (await first.start(QUESTION)).result()
    copy = second.find(result.folder.name).folder
    assert (copy / "report.md").is_file()
    with store(first).changing(result.folder):
        (result.folder / "report.md").unlink()
    second.find(result.folder.name)
    assert not (copy / "report.md").exists()


async def test_files_that_come_slowly_hold_up_neither_each_other_nor_other_runs(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = store(await machines.start("first")), store(await machines.start("second"))
    journal = begin(first, "run")
    for machine in (first, second):
        for name in ("get", "put"):
            method = getattr(machine._files, name)

            def slow(*values: Any, method: Any = method) -> Any:
                time.sleep(0.5)
                return method(*values)

            monkeypatch.setattr(machine._files, name, slow)
    for number in range(10):
        (first._root / "run" / f"{number}.txt").write_text(f"{number}")
    began = time.monotonic()
    with journal.transaction(durable=False) as records:
        records.keep_files()
    assert time.monotonic() - began < 4
    pulling = asyncio.create_task(asyncio.to_thread(second.pull, second._root / "run"))
    await asyncio.sleep(0.1)
    second.pull(second._root)
    assert not pulling.done()
    await pulling
    assert time.monotonic() - began < 8
    assert (second._root / "run" / "9.txt").read_text() == "9"


async def test_a_lost_or_damaged_file_does_not_keep_a_run_from_being_read_and_deleted(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = await machines.start("first"), await machines.start("second")
    run = (await (await first.start(QUESTION)).result()).folder.name
    for kept in (machines.top / "files").glob("*"):
        shutil.rmtree(kept)
    if not (machines.top / "files").exists():
        monkeypatch.setattr(store(second)._files, "get", lambda *_: b"another text")
    assert [item.id for item in second.runs(text="harbour")] == [run]
    info = second.find(run)
    assert (info.status, (info.folder / "report.md").exists()) == ("complete", False)
    second.label(run, title="Soundings")
    second.delete(run)
    assert first.runs() == []


async def test_a_run_that_begins_during_a_first_list_keeps_its_folder(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = store(await machines.start("first"))
    rows, run = machine.connections.rows, machine._root / "run"

    def slow(statement: str, *values: Any) -> Any:
        known = rows(statement, *values)
        if "position(" in statement and not run.exists():
            monkeypatch.undo()
            begin(machine, "run").close()
            machine.pull(run)
        return known

    monkeypatch.setattr(machine.connections, "rows", slow)
    machine.pull(machine._root)
    assert run.exists()


def test_a_stream_of_events_ends_in_order_when_the_database_does(postgres: Any, tmp_path: Path) -> None:
    url = postgres.database(uuid4().hex)
    with running(tmp_path, database=url, runs__database=url) as server, server.gate.closed():
        http = server.client()
        run = order(http)
        with http.stream("GET", f"/v1/runs/{run}/events") as reply:
            lines = reply.iter_lines()
            while "run.started" not in next(lines):
                pass
            postgres.stop()
            try:
                assert not any("run.finished" in line for line in lines)
            finally:
                postgres.start()


async def test_a_file_that_is_replaced_at_once_is_stored_and_a_temporary_one_is_not(machines: Machines) -> None:
    machine = store(await machines.start("first"))
    journal, folder = begin(machine, "run"), machine._root / "run"
    (folder / "charts").mkdir()
    (folder / "charts" / ".new").write_text("")  # somebody writes it now
    stamp = None
    for text in ("first", "later"):
        write_atomically(folder / "plan.md", text.encode())
        stamp = stamp or (folder / "plan.md").stat()
        os.utime(folder / "plan.md", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # within a tick of the clock
        with journal.transaction(durable=False) as records:
            records.keep_files()
    journal.close()
    second = store(await machines.start("second"))
    second.pull(second._root / "run")
    assert (second._root / "run" / "plan.md").read_text() == "later"
    assert not (second._root / "run" / "charts").exists()
