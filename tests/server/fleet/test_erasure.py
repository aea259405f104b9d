"""What is deleted or erased on one machine is gone on all of them."""

from __future__ import annotations

import asyncio
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from tests.plugins.vectors.qdrant_server import KEY, qdrant_server
from tests.server.queue.cluster import Cluster

from leadline import Client
from leadline.errors import JournalBusy
from leadline.events import utc_now
from leadline.records import Blob
from leadline_server import users
from leadline_server.queue import Queue, open_queue
from leadline_server.store import Store

pytestmark = pytest.mark.slow
SECRET = "the quicksilver barometer of {}"


@pytest.fixture
def settings(postgres: Cluster, tmp_path: Path) -> Iterator[dict[str, Any]]:
    pytest.importorskip("qdrant_client")
    (tmp_path / "files").mkdir()
    url = postgres.database(uuid4().hex)
    with qdrant_server() as (vectors, _):
        yield {
            "runs.database": url,
            "runs.files": f"file://{tmp_path / 'files'}",
            "plugins.knowledge.database": url,
            "knowledge.store": "qdrant",
            "plugins.qdrant.url": vectors,
            "plugins.qdrant.api_key": KEY,
        }


def machine(folder: Path, settings: dict[str, Any]) -> Client:
    places = {"plugins.knowledge.folder": str(folder / "knowledge"), "search.engines": ["knowledge"], "memory": 3}
    return Client(folder=folder / "runs", cache=folder / "cache", set={**settings, **places})


@contextmanager
def server(folder: Path, url: str) -> Iterator[tuple[Store, Queue]]:
    with closing(Store(folder / "runs", url)) as store, closing(open_queue(url, folder / "runs")) as queue:
        yield store, queue


def places_of(text: str, top: Path, url: str) -> list[str]:
    """Return the files and tables that have a text."""
    with psycopg.connect(url) as db:
        names = db.execute("SELECT tablename FROM pg_tables WHERE tablename LIKE 'leadline_%'").fetchall()
        rows = {name: db.execute(f"SELECT t::text FROM {name} t").fetchall() for (name,) in names}
    tables = [name for name, values in rows.items() if any(text in row for (row,) in values)]
    return tables + [str(path) for path in top.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


async def ask(client: Client, user: str) -> str:
    note = Blob(name=f"{user}.txt", media_type="text/plain", data=f"In 1901 {SECRET.format(user)} fell.".encode())
    await client.knowledge.add(files=[note], principal=user)
    result = await client.research(f"When did {SECRET.format(user)} fall?", principal=user)
    assert result.report
    return result.metadata.run_id


async def test_a_user_is_exported_and_erased_everywhere(
    tmp_path: Path, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, here, there = settings["runs.database"], tmp_path / "a", tmp_path / "b"
    async with machine(there, settings) as other:
        with server(here, url) as (store, queue):
            for user in ("alice", "bob"):
                store.add_token(user, user)
                await ask(other, user)
                await ask(other, user)  # it remembers the first: the copies and their index are there
            [first, *_] = other.runs(text="barometer", principal="alice")
            assert places_of(SECRET.format("alice"), there, url)
            # Of a machine that has no copy yet.
            count = await users.export("alice", machine(here, settings), store, queue, tmp_path / "alice.tar.gz")
            with tarfile.open(tmp_path / "alice.tar.gz") as archive:
                names = archive.getnames()
            assert count == len(names)
            for name in ("report.md", "journal.sqlite", "events.jsonl"):
                assert f"runs/{first.id}/{name}" in names
            assert any(name.startswith("documents/files/") for name in names)
            monkeypatch.setattr("leadline_plugins.knowledge.replica._IDLE", -1.0)
            await users.erase("alice", machine(here, settings), store, queue)
            other.runs(principal="bob")
            await other.knowledge.documents(principal="bob")
            assert len(other.runs(principal="bob")) == 2
    (tmp_path / "alice.tar.gz").unlink()
    # The names of erased runs stay for a month: so machines that were off learn of it.
    assert places_of(SECRET.format("alice"), tmp_path, url) == []
    assert [path for top in (here, there) for path in top.rglob("*alice*")] == []
    assert places_of("alice", tmp_path / "files", url) == ["leadline_audit", "leadline_runs"]
    assert places_of(SECRET.format("bob"), there, url)


async def test_what_was_deleted_long_ago_is_deleted_by_a_machine_that_was_off(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    async with machine(tmp_path / "a", settings) as client, machine(tmp_path / "b", settings) as other:
        runs = [await ask(client, user) for user in ("alice", "bob")]
        copies = [other.find(run, principal=user).folder for run, user in zip(runs, ("alice", "bob"), strict=True)]
        [old, *_] = client.ended_before(utc_now() + timedelta(days=1))
        client.delete(old.folder)  # as `runs.keep_days`
        with psycopg.connect(settings["runs.database"]) as db:
            db.execute("UPDATE leadline_runs SET touched = touched - interval '40 days' WHERE deleted")
        [last] = client.ended_before(utc_now() + timedelta(days=1))
        client.delete(last.folder)
        with psycopg.connect(settings["runs.database"]) as db:
            assert len(db.execute("SELECT FROM leadline_runs").fetchall()) == 1
        assert all(copy.exists() for copy in copies)
    async with machine(tmp_path / "b", settings) as again:
        assert again.ended_before(utc_now() + timedelta(days=1)) == []
    assert not any(copy.parent.exists() for copy in copies)


async def test_an_active_run_is_not_erased_nor_deleted(tmp_path: Path, settings: dict[str, Any]) -> None:
    async with machine(tmp_path / "a", settings) as client, machine(tmp_path / "b", settings) as other:
        await ask(client, "alice")
        run = await client.start("When did the barometer fall?", principal="alice")
        while other.find(run.id, principal="alice").status != "running":
            await asyncio.sleep(0.01)
        with pytest.raises(JournalBusy, match="stop it first"):
            other.delete(run.id, principal="alice")
        await run.result()
        other.delete(run.id, principal="alice")
