"""What several machines, a database that stalls and a worker that wakes up late must not do to a run."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.server.fleet.test_runs import QUESTION, Machines, machines

from leadline import Client
from leadline.contracts import CarryOut, Submission
from leadline.errors import JournalBusy, LeadlineError
from leadline.records import Event
from leadline.runs import METADATA
from leadline.stores import RunStore, store_of
from leadline_server.queue import open_queue
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
