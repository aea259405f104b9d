"""`leadline mcp` as its clients start it: a process, with its standard streams."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from leadline_server.commands.mcp import CLIENTS

mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: E402

LEADLINE = [sys.executable, "-m", "leadline"]
HOUSE = Path(__file__).parents[2] / "plugins" / "mcp" / "house_server.py"
QUESTION = "How many feet is a fathom of the lead line?"
URL = "http://127.0.0.1:8327/mcp"
# Seconds for what takes one or two on a machine with nothing else to do.
PATIENCE = 100.0
MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


def environment() -> dict[str, str]:
    """Return the environment of the test: its own home and cache, and the modules that are tested."""
    return dict(os.environ)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with documents."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "lengths.txt").write_text("A fathom is six feet. A cable is a hundred fathoms of the lead line.")
    return tmp_path


def held(folder: Path) -> list[str]:
    """Return options of a run whose searches wait until the file `gate` exists; `gate.reached` tells that they do."""
    (folder / "leadline.toml").write_text(
        f"""
        [search]
        engines = ["house"]
        timeout = 3600
        [plugins.house]
        use = "mcp"
        command = {json.dumps(sys.executable)}
        args = [{json.dumps(str(HOUSE))}]
        tool = "search"
        query = "q"
        results = "data.rows"
        fields = {{ url = "link", title = "heading", text = "body" }}
        env = {{ HOUSE_GATE = {json.dumps(str(folder / "gate"))} }}
        """
    )
    return ["--settings", str(folder / "leadline.toml")]


@asynccontextmanager
async def server(folder: Path, *options: str, mode: str = "auto", log: Path | None = None) -> AsyncIterator[Any]:
    """Provide a client of the SDK that has started the command, as Claude Desktop and others do."""
    words = ["-m", "leadline", "mcp", "--folder", str(folder / "runs"), *options]
    program = StdioServerParameters(command=sys.executable, args=words, env=environment(), cwd=folder)
    with (log or folder / "stderr.txt").open("w") as printed:
        async with mcp.Client(stdio_client(program, errlog=printed), mode=mode) as client:
            yield client


async def until(happens: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not happens():
            await asyncio.sleep(0.05)


def run_in(folder: Path) -> dict[str, Any]:
    """Return the metadata of the only run; empty before it has any."""
    for path in (folder / "runs").glob("*_*/metadata.json"):
        return dict(json.loads(path.read_text()))
    return {}


@pytest.mark.slow
@MODES
async def test_the_command_answers_from_documents_and_prints_nothing_else(folder: Path, mode: str) -> None:
    async with server(folder, "--docs", "docs", mode=mode) as client:
        result = await client.call_tool("research", {"question": QUESTION})
        assert result.structured_content["status"] == "complete"
        assert "A fathom is six feet." in result.structured_content["report"]
    assert (folder / "stderr.txt").read_text() == ""


@pytest.mark.slow
async def test_a_run_goes_on_when_its_client_kills_the_server(folder: Path) -> None:
    process = subprocess.Popen(
        [*LEADLINE, "mcp", "--folder", str(folder / "runs"), *held(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        env=environment(),
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    for message in (
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "research", "arguments": {"question": QUESTION}}},
    ):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()
    await until((folder / "gate.reached").exists)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(PATIENCE)
    process.stdin.close()
    process.stdout.close()
    (folder / "gate").touch()
    await until(lambda: run_in(folder)["status"] == "complete")
    assert run_in(folder)["sessions"] == 1


def test_wrong_settings_end_the_command_with_their_code(folder: Path) -> None:
    words = [*LEADLINE, "mcp", "--set", "search.engine=x"]
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (78, b"")
    assert b"search.engine" in done.stderr


def test_without_the_package_the_command_says_what_to_install(folder: Path) -> None:
    code = "import sys; sys.modules['mcp'] = None; from leadline.cli import main; sys.exit(main(['mcp']))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment(), capture_output=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stdout) == (64, b"")
    assert b"leadline plugins install 'leadline[mcp]'" in done.stderr


def test_other_commands_do_not_import_the_package() -> None:
    code = (
        "import sys; from leadline.cli import main; main(['plugins', 'list']); "
        "sys.exit(any(name in sys.modules for name in ('mcp', 'mcp_types', 'httpx2')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0


# --- install ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def installed(cli: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return the snippet for a client, as the command prints it in the folder."""
    monkeypatch.chdir(folder)
    return lambda *words: str(cli("mcp", "install", *words).out)


def command_in(client: str, snippet: str) -> list[str]:
    """Return the command line in a snippet."""
    if client == "claude-code":
        return shlex.split(snippet)[shlex.split(snippet).index("--") + 1 :]
    found: Any = tomllib.loads(snippet) if client == "codex" else json.loads(snippet)
    while "command" not in found:
        found = next(iter(found.values()))
    return [found["command"], *found["args"]]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_snippet_starts_the_server_from_any_folder(folder: Path, client: str, installed: Callable[..., str]) -> None:
    (folder / "leadline.toml").write_text("[report]\nlength = 200\n")
    before = sorted(folder.rglob("*"))
    command = command_in(client, installed(client, "--docs", "docs", "--set", "report.title=A B"))
    assert command[:4] == [*LEADLINE, "mcp"]
    options = dict(zip(command[4::2], command[5::2], strict=True))
    assert options == {
        "--docs": str(folder / "docs"),
        "--folder": str(folder / "runs"),
        "--settings": str(folder / "leadline.toml"),
        "--set": "report.title=A B",
    }
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("client", CLIENTS)
def test_a_snippet_for_a_server_has_its_address_and_a_place_for_the_token(
    client: str, installed: Callable[..., str]
) -> None:
    snippet = installed(client, "--url", "http://127.0.0.1:8327/mcp")
    if client == "codex":
        found: Any = tomllib.loads(snippet)["mcp_servers"]["leadline"]
        assert (found["url"], found["http_headers"]) == (URL, {"Authorization": "Bearer TOKEN"})
    elif client in ("claude-code", "claude-desktop"):
        words = (
            shlex.split(snippet) if client == "claude-code" else json.loads(snippet)["mcpServers"]["leadline"]["args"]
        )
        assert URL in words
        assert words[words.index("--header") + 1] == "Authorization: Bearer TOKEN"
    else:
        [servers] = json.loads(snippet).values()
        found = servers["leadline"]
        assert URL in (found.get("url"), found.get("serverUrl"))
        assert found["headers"] == {"Authorization": "Bearer TOKEN"}


def test_an_unknown_client_is_answered_with_the_known_ones(cli: Callable[..., Any]) -> None:
    done = cli("mcp", "install", "cusror")
    assert done.code == 64
    assert "cursor" in done.err
