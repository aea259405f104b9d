"""Documents of several machines, which share nothing but a database and a vector store."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.plugins.knowledge.test_knowledge import DEPTH, client_in, names, quotes
from tests.server.queue.cluster import Cluster

from leadline import Client
from leadline.errors import CallFailed
from leadline.records import Blob, FetchRequest
from leadline_plugins.knowledge.shelf import document_id

pytestmark = pytest.mark.slow
NINE = "The harbour is nine fathoms deep at the mole."
# Adds a document on a machine, and kills the process at the first call of a method of its collections.
_KILLED = """
import asyncio, json, os, signal, sys
from pathlib import Path
from leadline.records import Blob
from leadline_plugins.knowledge.replica import Replica
from tests.plugins.knowledge.test_knowledge import client_in

def kill(shelf, *values):
    if method == "replace" or not shelf.states() and values[0].execute(
        "SELECT 1 FROM leadline_documents WHERE kind = 'document'"
    ).fetchone():
        os.kill(os.getpid(), signal.SIGKILL)
    return before(shelf, *values)

async def add():
    async with client_in(Path(folder), **json.loads(settings)) as client:
        await client.knowledge.add(files=[Blob(name="log.txt", media_type="text/plain", data=b"Ada dredged the mole.")])

method, folder, settings = sys.argv[1:]
before = getattr(Replica, method)
setattr(Replica, method, kill)
asyncio.run(add())
"""


def note(text: str = NINE, name: str = "harbour.txt") -> Blob:
    return Blob(name=name, media_type="text/plain", data=text.encode())


def rows(settings: dict[str, Any]) -> list[tuple[str, ...]]:
    with psycopg.connect(settings["plugins.knowledge.database"]) as db:
        return db.execute("SELECT kind, collection, name FROM leadline_documents").fetchall()


@pytest.fixture
async def machines(tmp_path: Path, database: dict[str, Any]) -> AsyncIterator[tuple[Client, Client]]:
    settings = {**database, "read.fetchers": ["knowledge", "web"]}
    async with client_in(tmp_path / "a", **settings) as a, client_in(tmp_path / "b", **settings) as b:
        yield a, b


async def test_a_change_on_one_machine_counts_at_once_on_the_others(
    machines: tuple[Client, Client], database: dict[str, Any]
) -> None:
    a, b = machines
    assert await names(b, principal="ada") == []
    for principal in (None, "ada"):
        await a.knowledge.add(files=[note()], principal=principal)
    assert await quotes(b) == await quotes(a) == [NINE]
    assert await a.knowledge.version(principal="ada") == await b.knowledge.version(principal="ada")
    shutil.rmtree(await b.knowledge.folder())
    assert await quotes(b) == [NINE], "a copy that is deleted is made again"
    await b.knowledge.add(files=[note("The harbour is ten fathoms deep.")])
    assert await quotes(a) == ["The harbour is ten fathoms deep."]
    await b.knowledge.remove("harbour.txt")
    with pytest.raises(CallFailed, match="there are no documents"):
        await quotes(a)
    assert await names(a, principal="ada") == ["harbour.txt"], "another collection is as it was"
    await a.knowledge.remove("harbour.txt", principal="ada")
    assert rows(database) == [], "a collection without documents leaves no row"


async def test_a_removed_document_is_restored_and_its_file_read_on_another_machine(
    machines: tuple[Client, Client], database: dict[str, Any]
) -> None:
    a, b = machines
    await a.knowledge.add(files=[note()], principal="ada")
    await a.knowledge.change("removed", "harbour.txt", principal="ada")
    assert await names(b, principal="ada") == []
    assert await names(b, principal="ada", removed=True) == ["harbour.txt"]
    await b.knowledge.change("restored", document_id("harbour.txt"), principal="ada")
    found = await a.knowledge.search(DEPTH, principal="ada")
    assert [passage.quote for passage in found.evidence] == [NINE]
    async with b.adhoc("read a file") as run:
        await b.knowledge.change("shared", "harbour.txt", principal="ada")
        (shared,) = (await a.knowledge.search(DEPTH)).sources
        blob = await run.download(FetchRequest(url=shared.hit.url))
    assert blob.data == NINE.encode()
    await a.knowledge.change("removed", "harbour.txt", principal="ada")
    await b.knowledge.remove(document_id("harbour.txt"), removed=True, principal="ada")
    assert {kind for kind, *_ in rows(database)} <= {"file"}


def machine(folder: Path, settings: dict[str, Any]) -> Client:
    """Return a client with a settings file, as a server or a worker has one: an order does not carry its values."""
    folder.mkdir()
    own = {**settings, "plugins.knowledge.folder": str(folder / "knowledge"), "ai.providers": ["embedded"]}
    file = folder / "leadline.toml"
    file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in own.items()))
    return Client(settings=file, folder=folder / "runs", cache=folder / "cache")


async def test_a_run_on_a_worker_finds_what_was_added_on_the_server(tmp_path: Path, database: dict[str, Any]) -> None:
    settings = {**database, "search.engines": ["knowledge"]}
    async with machine(tmp_path / "server", settings) as server, machine(tmp_path / "worker", settings) as worker:
        await worker.knowledge.warm()
        await server.knowledge.add(files=[note()], principal="ada")
        results = []
        for user in ("ada", "bob"):
            order = server.order(DEPTH, set={"knowledge.documents": [document_id("harbour.txt")]}, principal=user)
            assert database["plugins.knowledge.database"] not in order.model_dump_json()
            results.append(await (await worker.run(order, principal=user)).result())
    assert NINE in results[0].text, results[0].reason
    assert (results[0].status, results[1].status) == ("complete", "failed"), "bob has no such document"


async def test_additions_on_two_machines_at_once_wait_for_each_other(machines: tuple[Client, Client]) -> None:
    a, b = machines
    added = [
        client.knowledge.add(files=[note(f"Buoy {number} lies east of the mole.", f"{number % 6}.txt")])
        for number, client in enumerate([a, b] * 5)
    ]
    await asyncio.gather(*added)
    assert await names(a) == await names(b) == [f"{number}.txt" for number in range(6)]
    assert sorted(await quotes(a, limit=20)) == sorted(await quotes(b, limit=20))
    assert (await b.knowledge.documents()).unfinished == 0


async def test_documents_that_are_embedded_again_are_found_on_the_other_machine(
    machines: tuple[Client, Client],
) -> None:
    a, b = machines
    await a.knowledge.add(files=[note(), note("Tea was dear in the spring.", "tea.txt")])
    assert len(await quotes(b, limit=10)) == 2
    assert (await b.knowledge.add(reembed=True)).embedded_again == 2
    assert await quotes(a, limit=10) == await quotes(b, limit=10)
    assert len(await quotes(a, limit=10)) == 2, "one is near by its vector alone"


@pytest.mark.parametrize(("killed_at", "survives"), [("replace", False), ("_copy", True)])
async def test_an_addition_that_is_killed_is_whole_or_not_there(
    killed_at: str, survives: bool, tmp_path: Path, database: dict[str, Any]
) -> None:
    command = [sys.executable, "-c", _KILLED, killed_at, str(tmp_path / "a"), json.dumps(database)]
    process = await asyncio.to_thread(subprocess.run, command, cwd=Path(__file__).parents[3], check=False)
    assert process.returncode == -signal.SIGKILL
    for folder in ("b", "a"):
        async with client_in(tmp_path / folder, **database) as client:
            assert await names(client) == (["log.txt"] if survives else []), folder
    async with client_in(tmp_path / "b", **database) as client:
        await client.knowledge.add(files=[note()])
        assert len(await quotes(client, limit=10)) == 1 + survives
    assert not [row for row in rows(database) if row[0] == "unused"], "the next writer swept, on whichever machine"


async def test_a_restart_of_the_database_is_waited_for(machines: tuple[Client, Client], postgres: Cluster) -> None:
    a, b = machines
    await a.knowledge.add(files=[note()])
    assert await names(b) == ["harbour.txt"]
    postgres.restart()
    assert await quotes(b) == [NINE]
    assert (await a.knowledge.add(files=[note("Tea was dear.", "tea.txt")])).added == 1


async def test_the_copy_of_a_user_whose_documents_are_gone_is_deleted_at_the_next_start(
    machines: tuple[Client, Client], tmp_path: Path, database: dict[str, Any]
) -> None:
    a, b = machines
    await a.knowledge.add(files=[note()], principal="ada")
    assert await names(b, principal="ada") == ["harbour.txt"]
    copy = await b.knowledge.folder(principal="ada")
    await a.knowledge.remove("harbour.txt", principal="ada")
    for is_there, age in ((True, 0), (False, 7200)):
        for path in copy.iterdir():
            os.utime(path, (path.stat().st_mtime - age,) * 2)
        async with client_in(tmp_path / "b", **database) as again:
            await again.knowledge.warm()
        assert copy.exists() is is_there, "somebody may just begin"


async def test_vectors_in_a_folder_of_one_machine_are_refused(tmp_path: Path, database: dict[str, Any]) -> None:
    async with client_in(tmp_path, **{**database, "knowledge.store": "flat"}) as client:
        with pytest.raises(CallFailed, match=r"knowledge\.store is flat, whose vectors no other machine has"):
            await client.knowledge.add(files=[note()])
