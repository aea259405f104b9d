"""What one machine keeps goes into the database of several, and back."""

from __future__ import annotations

import asyncio
import fcntl
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from tests.server.conftest import Gate, events, finish, order, running
from tests.server.queue.cluster import Cluster

from leadline import Client
from leadline.cli import main
from leadline.events import utc_now
from leadline.files import private_folder
from leadline.plugin import middleware
from leadline.runs import Metadata
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin
from leadline_server.queue import open_queue
from leadline_server.store import Store

pytestmark = pytest.mark.slow
TEXT = b"# Aunt\n\nIn 1901 the barometer of Alice's aunt fell to 960."
# Imports, and kills the process once a run was copied.
_KILLED = """
import os, signal, sys
from leadline.cli import main
from leadline_server.fleet import transfer

def once(*values):
    before(*values)
    os.kill(os.getpid(), signal.SIGKILL)

before = transfer._import_rows
transfer._import_rows = once
main(sys.argv[1:])
"""


@pytest.fixture
def url(postgres: Cluster) -> str:
    return postgres.database(uuid4().hex)


def tables(url: str) -> dict[str, list[Any]]:
    """Return all rows of the database, but for what differs with each process."""
    with psycopg.connect(url) as db:
        names = db.execute("SELECT tablename FROM pg_tables WHERE tablename LIKE 'leadline_%'").fetchall()
        rows = {name: db.execute(f"SELECT * FROM {name}").fetchall() for (name,) in names}
    rows["leadline_audit"] = [row for row in rows["leadline_audit"] if "imported" not in row[-1]]
    return {name: sorted(values, key=str) for name, values in rows.items()}


def client(folder: Path, **settings: Any) -> Client:
    gate = plugin("gate", middleware("For a test")(lambda: Gate()))
    return Client(plugins=[fake_web(), gate], folder=folder, set={"retry.base": 0, **settings})


def reports(folder: Path, principal: str, **settings: Any) -> dict[str, str]:
    """Replay the runs of a principal offline; return their reports."""

    async def replay() -> dict[str, str]:
        async with client(folder, **settings) as machine:
            runs = machine.runs(principal=principal)
            return {run.id: (await machine.replay(run.folder, principal=principal)).text for run in runs}

    return asyncio.run(replay())


def continued(folder: Path, run: str, principal: str, **settings: Any) -> tuple[str, int, bool]:
    """Continue a run; return its status, its sessions, and whether every event is there once."""

    async def resume() -> tuple[str, int, bool]:
        async with client(folder, **settings) as machine:
            result = await (await machine.resume(run, principal=principal)).result()
            numbers = [event.seq async for event in machine.events(run, principal=principal)]
            return result.status, result.metadata.sessions, numbers == [*range(len(numbers))]

    return asyncio.run(resume())


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, dict[str, Any]]:
    """Return the folder of a server that was ended while a run was at work, and what it had."""
    here = tmp_path / "here"
    with running(here, "alice", "bob", plugins__knowledge__folder=str(here / "leadline-knowledge")) as server:
        http = server.client("alice")
        done, other = order(http), order(server.client("bob"), "How deep was the harbour in 1850?")
        finish(http, done)
        finish(server.client("bob"), other)
        link = http.post(f"/v1/runs/{done}/share", json={"audience": "anyone"}).json()["url"]
        server.gate.is_open.clear()
        left = order(http, "How deep was the harbour in 1900?")
        events(http, left, until="call.started")
        assert http.post("/v1/knowledge?name=aunt.txt", content=TEXT).status_code == 200
    monkeypatch.chdir(here)
    return here, {"done": done, "left": left, "other": other, "link": link, "token": server.tokens["alice"]}


def test_a_machine_joins_several_and_one_goes_on_alone(
    machine: tuple[Path, dict[str, Any]], url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, known = machine
    before = reports(here / "runs", "alice")
    fleet = ["--set", f"runs.database={url}", "--set", f"plugins.knowledge.database={url}"]
    command = ["serve", *fleet, "import", str(here / "runs")]
    process = subprocess.run([sys.executable, "-c", _KILLED, *command], check=False)
    assert process.returncode == -signal.SIGKILL
    assert len(tables(url)["leadline_runs"]) == 1
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)  # documents are found beside the folder of runs
        assert main([*command, "--folder", str(tmp_path / "c")]) == 0
    assert "Imported 2 runs" in (said := capsys.readouterr().err)
    assert "1 documents" in said
    copied = tables(url)
    assert main(command) == 0
    assert "Imported 0 runs" in capsys.readouterr().err
    assert tables(url) == copied, "repeated, it changes nothing"
    # Another machine has it all.
    for folder in (here / "runs", tmp_path / "c"):
        assert reports(folder, "alice", **{"runs.database": url})[known["done"]] == before[known["done"]]
    with closing(Store(tmp_path / "c", url)) as store, closing(open_queue(url, tmp_path / "c")) as queue:
        token, share = store.token(known["token"]), store.shared(known["link"].rpartition("/")[2])
        assert [token and token.principal, share and share.run_id] == ["alice", known["done"]]
        states = {run.run_id: run.state for run in queue.orders("alice")}
        assert states == {known["done"]: "ended", known["left"]: "waiting"}
        assert store.key() == (here / "runs" / ".server.key").read_bytes()
        assert store.audit.records("alice")
    assert main(["serve", *fleet, "backup", str(tmp_path / "all.tar.gz")]) == 0
    assert continued(tmp_path / "c", known["left"], "alice", **{"runs.database": url}) == ("complete", 2, True)
    # And back.
    alone = tmp_path / "alone"
    alone.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(alone)
        assert main(["serve", "restore", str(tmp_path / "all.tar.gz")]) == 0
    assert reports(alone / "runs", "alice")[known["done"]] == before[known["done"]]
    assert continued(alone / "runs", known["other"], "bob") == ("complete", 2, True)
    with running(alone) as restored:
        http = restored.client()
        http.headers["Authorization"] = f"Bearer {known['token']}"
        assert finish(http, known["left"])["status"] == "complete"
    assert any(path.read_bytes() == TEXT for path in (alone / "leadline-knowledge").rglob("files/*/*"))
    # A backup is imported like a folder.
    capsys.readouterr()
    assert main(["serve", *fleet, "import", "--folder", str(tmp_path / "b"), str(tmp_path / "all.tar.gz")]) == 0
    assert "Imported 0 runs" in capsys.readouterr().err


def test_a_folder_at_work_is_not_imported(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["serve", "--database", url, "import", "--folder", str(tmp_path / "b"), str(tmp_path / "runs")]
    assert main(command) == 64
    assert "there is neither a folder of runs nor a backup at" in capsys.readouterr().err
    with running(tmp_path):
        assert main(command) == 64
        assert "another server uses the folder of runs" in capsys.readouterr().err
    run = private_folder(tmp_path / "runs" / "1a2b")
    state = Metadata(run_id="1a2b", trace_id="1a2b", question="?", pipeline="p", status="running", began=utc_now())
    (run / "metadata.json").write_text(state.model_dump_json())
    (run / "journal.sqlite").touch()
    with (run / "journal.sqlite.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(command) == 64
    assert f"active in {run.parent}: 1a2b; cancel them" in capsys.readouterr().err
    assert main(command) == 1
    assert f"{run}: no such table: entries" in capsys.readouterr().err
    shutil.rmtree(run)
    assert main(command) == 0
    assert tables(url)["leadline_runs"] == []
