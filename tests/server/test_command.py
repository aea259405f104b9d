"""`leadline serve` as a process: start, tokens, signals, kills."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from tests.server.conftest import PATIENCE
from tests.server.queue.cluster import Cluster

from leadline.cli import main
from leadline_server.queue import open_queue
from leadline_server.queue.database import secret_of
from leadline_server.store import Store

# An installed plugin: a search that waits until the file `go` exists. The workers are processes of their own.
_GATE = """
import asyncio, os
from leadline.plugin import middleware

@middleware("For a test")
class Gate:
    live = True
    async def around(self, request, call, proceed, /):
        while type(request).__name__ == "SearchRequest" and not os.path.exists("go"):
            await asyncio.sleep(0.02)
        return await proceed(request)
"""
_COMMAND = [sys.executable, "-m", "leadline", "serve", "--port", "0", "--docs", "docs", "--set", "middleware=gate"]


@pytest.fixture(autouse=True)
def gate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the plugin for this test and its processes."""
    info = Path("plugins/gate-1.dist-info")
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gate\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[leadline.v2]\ngate = gate_of_a_test\n")
    Path("plugins/gate_of_a_test.py").write_text(_GATE)
    monkeypatch.setenv("PYTHONPATH", str(Path("plugins").absolute()))


@contextmanager
def process() -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """Run the server in the working folder; it is killed at the end if it still runs."""
    Path("docs").mkdir(exist_ok=True)
    Path("docs/lengths.txt").write_text("A fathom is six feet. A cable is a hundred fathoms.", encoding="utf-8")
    server = subprocess.Popen(_COMMAND, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr
        url = re.search(r"http://\S+", server.stderr.readline())
        assert url
        with httpx.Client(base_url=url[0], timeout=PATIENCE, trust_env=False) as http:
            yield server, http
    finally:
        server.kill()
        server.communicate()


def test_a_second_server_cannot_use_the_same_folder() -> None:
    with process() as (_, http):
        http.get("/healthz")
        second = subprocess.run(_COMMAND, capture_output=True, text=True, timeout=PATIENCE)
        assert (second.returncode, "another server uses the folder" in second.stderr) == (64, True)


def test_tokens_are_added_listed_and_removed(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LEADLINE_RUNS__DATABASE", url)
    assert main(["serve", "token", "add", "alice"]) == 0
    token = capsys.readouterr().out.strip()
    assert len(token) > 43
    assert main(["serve", "token", "add", "alice"]) == 64
    assert "remove alice" in capsys.readouterr().err
    assert main(["serve", "token", "add", "phone", "--principal", "alice"]) == 0
    capsys.readouterr()
    assert main(["serve", "token", "list", "--json"]) == 0
    shown = capsys.readouterr().out
    assert [(one["name"], one["principal"]) for one in json.loads(shown)] == [("alice", "alice"), ("phone", "alice")]
    assert token not in shown
    assert main(["serve", "token", "remove", "phone"]) == 0
    assert main(["serve", "token", "remove", "phone"]) == 64


def test_usage_shows_sums_and_tokens_with_expiry_and_last_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "token", "add", "alice", "--days", "30"]) == 0
    store, queue = Store(Path("runs")), open_queue("", Path("runs").absolute())
    assert main(["usage"]) == 0
    assert "No run of the queue has ended" in capsys.readouterr().err
    queue.spend("r1", "alice", {"house:large": (1_000, 0.25)})
    queue.spend("r2", "alice", {"house:large": (500, 0.25), "other": (1, 0.0)})
    queue.spend("r3", None, {})
    assert main(["usage", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    alice = {"runs": 2, "tokens": 1501, "cost": 0.5}
    assert shown["by_user"] == {"-": {"runs": 1, "tokens": 0, "cost": 0.0}, "alice": alice}
    assert shown["by_model"]["house:large"] == {"runs": 2, "tokens": 1500, "cost": 0.5}
    assert [total["runs"] for total in shown["by_day"].values()] == [3]
    assert main(["usage", "--days", "1"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^alice +2 +1,501 +0.50$", text, re.MULTILINE)
    assert re.search(r"^alice +alice +user +20\S+ +20\S+ +never$", text, re.MULTILINE)
    queue.close()
    store.close()


def test_a_token_expires_and_its_use_is_noted(monkeypatch: pytest.MonkeyPatch, stores: Callable[..., Store]) -> None:
    store = stores()
    secret = store.add_token("alice", "alice", days=2)
    token = store.token(secret)
    assert token
    session = store.add_session(token)
    assert store.session(session)
    [seen] = store.tokens()
    assert seen.used > 0
    now = time.time() + 2 * 86_400 + 1
    monkeypatch.setattr("leadline_server.store.time.time", lambda: now)
    assert (store.token(secret), store.session(session)) == (None, None)
    assert store.has_tokens()  # the server stays closed


@pytest.mark.slow
def test_the_secret_of_the_first_machine_replaces_those_of_others(
    postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, files = postgres.database(uuid4().hex), [Path(name, "leadline", "settings.key").absolute() for name in "abc"]
    first, _ = (secret_of(file) for file in files[:2])
    assert first != files[1].read_bytes()
    for file in files:
        monkeypatch.setenv("XDG_CACHE_HOME", str(file.parents[1]))
        assert main(["usage", "--database", url, "--folder", file.parents[1].name]) == 0
    assert {file.read_bytes() for file in files} == {first}
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_the_folder_may_stand_before_or_after_the_subcommand() -> None:
    assert main(["serve", "--folder", "a", "token", "add", "alice"]) == 0
    assert main(["serve", "token", "add", "alice", "--folder", "b"]) == 0
    assert [Path(name, ".server.sqlite").is_file() for name in ("a", "b")] == [True, True]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--host", "0.0.0.0"], 64, "leadline serve token add NAME"),
        (["--allow-host", "research.example"], 64, "leadline serve token add NAME"),
        (["--host", "192.0.2.1", "--port", "1"], 64, ""),
        (["--port", "70000"], 64, "is not a port"),
        (["--max-money-day=-1"], 64, "--max-money-day"),
        (["--access", "nowhere.toml"], 64, "cannot read nowhere.toml: No such file"),
        (["--set", "search.engines=nothing"], 78, "nothing"),
        (["--port", "0", "--set", "knowledge.store=qdrant"], 64, "set plugins.qdrant.url"),
        (["--port", "0", "--access", "access.toml"], 78, "access.toml: models.roles.user: no run can use 'nix:large'"),
    ],
)
def test_settings_that_cannot_work_are_refused_at_the_start(
    options: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("access.toml").write_text('[models.roles]\nuser = ["nix:large"]')
    assert main(["serve", *options]) == code
    error = capsys.readouterr().err
    assert message in error
    assert "Leadline serves" not in error


def test_missing_packages_are_named_with_the_command_that_installs_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("leadline_server.commands.serve.find_spec", lambda name: None)
    assert main(["serve"]) == 64
    assert "leadline plugins install 'leadline[serve]'" in capsys.readouterr().err


def test_the_help_of_the_command_imports_nothing_heavy() -> None:
    code = "import sys; from leadline.cli import main; main(['serve', '--help']); print('uvicorn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.endswith("False\n")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_database_without_a_dispatcher_or_with_wrong_files_is_refused(
    command: str, postgres: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = postgres.database(uuid4().hex)
    assert main([command, "--database", url, "--folder", str(tmp_path)]) == 64
    assert "runs.dispatcher is empty: --set runs.dispatcher=temporal" in capsys.readouterr().err
    wrong = ["--set", "runs.dispatcher=temporal", "--set", "runs.files=s4://bucket/runs"]
    assert main([command, "--database", url, *wrong, "--folder", str(tmp_path)]) == 64
    said = capsys.readouterr().err
    assert "runs.files: s4://bucket/runs" in said
    assert "; write s3://BUCKET/PREFIX, or leave it empty" in said


@pytest.mark.slow
def test_documents_of_several_machines_without_a_store_of_vectors_are_refused(
    postgres: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = postgres.database(uuid4().hex)
    options = ["runs.dispatcher=temporal", f"runs.database={url}", f"plugins.knowledge.database={url}"]
    command = ["serve", "--port", "0", "--workers", "0", "--folder", str(tmp_path)]
    assert main([*command, *(text for option in options for text in ("--set", option))]) == 64
    assert "knowledge.store: flat keeps vectors in the folder of one machine" in capsys.readouterr().err
