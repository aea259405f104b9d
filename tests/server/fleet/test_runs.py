"""Two machines, each a client with a folder of its own, share runs in Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.server.conftest import Gate

from leadline import Client
from leadline.errors import JournalBusy, UsageError
from leadline.plugin import middleware
from leadline.stores import store_of
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin
from leadline_server.queue.records import QueueUnavailable

pytestmark = pytest.mark.slow
QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"
SETTINGS = {
    "search.engines": ["fakeweb"],
    "read.fetchers": ["fakeweb"],
    "cache.search": 0,
    "plugins.clarify.mode": "off",
    "middleware": ["gate"],
}


class Machines:
    """Clients over one database."""

    def __init__(self, top: Path, url: str, files: str) -> None:
        self.top, self.url, self.gate = top, url, Gate()
        self._shared = {"runs.database": url, "runs.files": files}
        self._open = AsyncExitStack()

    async def start(self, name: str) -> Client:
        gate = plugin("gate", middleware("Holds searches")(lambda: self.gate))
        client = Client(
            set={**SETTINGS, **self._shared},
            folder=self.top / name,
            cache=self.top / f"{name}-cache",
            plugins=[fake_web(), gate],
        )
        return await self._open.enter_async_context(client)

    async def close(self) -> None:
        self.gate.is_open.set()
        await self._open.aclose()


@pytest.fixture(params=["", "file"])
async def machines(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Machines]:
    files = request.param and f"file://{tmp_path / 'files'}"
    if files:
        (tmp_path / "files").mkdir()
    running = Machines(tmp_path, request.getfixturevalue("postgres").database(uuid4().hex), files)
    yield running
    await running.close()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith((".", "events", "journal", "segment"))}


async def test_a_run_is_followed_read_changed_and_deleted_on_another_machine(machines: Machines) -> None:
    first, second = await machines.start("first"), await machines.start("second")
    run = await first.start(QUESTION, principal="ada")
    numbers = [event.seq async for event in second.events(run.id, principal="ada")]
    result = await run.result()
    assert numbers == [*range(len(numbers))]
    [listed] = second.runs(text="harbour", principal="ada")
    assert (listed.id, listed.status, second.runs()) == (run.id, "complete", [])
    copy = second.find(run.id, principal="ada").folder
    assert names(copy) == names(result.folder)
    assert (copy / "report.md").read_bytes() == (result.folder / "report.md").read_bytes()
    second.label(run.id, title="Soundings", principal="ada")
    second.forget(run.id, principal="ada")
    third = await machines.start("third")
    info = third.find(run.id, principal="ada")
    assert (info.metadata and info.metadata.title, third.memory(principal="ada")) == ("Soundings", [])
    assert (await third.replay(run.id, principal="ada")).status == "complete"
    third.delete(run.id, principal="ada")
    assert (first.runs(principal="ada"), second.runs(principal="ada"), copy.exists()) == ([], [], False)
    with pytest.raises(UsageError, match="there is no run"):
        second.find(run.id, principal="ada")


async def test_a_run_moves_to_another_machine_and_repeats_nothing(machines: Machines) -> None:
    first, second = await machines.start("first"), await machines.start("second")
    order, owner = first.order(QUESTION), ["first"]
    machines.gate.is_open.clear()
    run = await first.run(order, owns=lambda: owner == ["first"])
    await asyncio.sleep(0.5)
    with pytest.raises(JournalBusy):
        await second.run(order)
    owner[0] = "second"
    moved = await second.run(order, owns=lambda: owner == ["second"])
    machines.gate.is_open.set()
    assert (await moved.result()).status == "complete"
    lost = await run.result()
    assert lost.exit_code == JournalBusy.exit_code
    assert first.find(run.id).status == "complete"
    numbers = [event.seq async for event in first.events(run.id)]
    assert numbers == [*range(len(numbers))]
    assert sum(session.status == "complete" for session in moved.journal.sessions()) <= 1


async def test_a_message_reaches_the_machine_that_works(machines: Machines) -> None:
    first, second = await machines.start("first"), await machines.start("second")
    machines.gate.is_open.clear()
    run = await first.start(QUESTION)
    while second.find(run.id).status != "running":
        await asyncio.sleep(0.05)
    await second.cancel(run.id, "not needed")
    assert (await run.result()).reason == "not needed"
    with pytest.raises(UsageError, match="is not active"):
        await second.cancel(run.id)


async def test_a_database_that_does_not_answer_ends_the_session_and_loses_nothing(
    machines: Machines, postgres: Any
) -> None:
    first = await machines.start("first")
    machines.gate.is_open.clear()
    order = first.order(QUESTION)
    run = await first.run(order)
    await asyncio.sleep(0.5)
    await asyncio.to_thread(postgres.stop)
    try:
        machines.gate.is_open.set()
        assert (await run.result()).exit_code == JournalBusy.exit_code
        with pytest.raises(QueueUnavailable, match=r"does not work: .*; repair or start it"):
            first.runs()
    finally:
        await asyncio.to_thread(postgres.start)
    for _ in range(100):
        with suppress(QueueUnavailable):
            first.runs()
            break
        await asyncio.sleep(0.1)  # nobody tries for a while after a failure
    again = await first.run(order, owns=lambda: True)
    assert (await again.result()).status == "complete"
    numbers = [event.seq async for event in first.events(run.id)]
    assert numbers == [*range(len(numbers))]


async def test_a_run_whose_copy_was_dropped_is_listed_again(machines: Machines) -> None:
    first = await machines.start("first")
    runs = [await first.research(QUESTION, principal="ada") for _ in range(2)]
    assert len(first.runs(principal="ada")) == 2
    store = store_of(runs[0].folder)
    assert store
    store.drop(runs[0].folder)
    assert not runs[0].folder.exists()
    assert {run.id for run in first.runs(principal="ada")} == {run.folder.name for run in runs}
