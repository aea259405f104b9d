"""The commands that look at runs, where several machines share them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.server.queue.cluster import Cluster

from leadline import Client
from leadline.cli import main
from leadline.runs import Result

pytestmark = pytest.mark.slow


def made(folder: Path, url: str, docs: Path, count: int = 1) -> list[Result]:
    """Make runs on a machine."""

    async def make() -> list[Result]:
        async with Client(folder=folder, docs=docs, set={"runs.database": url}) as client:
            return [await client.research("How deep is the harbour?") for _ in range(count)]

    return asyncio.run(make())


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "harbour.md").write_text("# Harbour\n\nThe harbour is nine fathoms deep at the mole.\n")
    return tmp_path / "docs"


def test_every_command_works_on_the_runs_of_another_machine_or_says_that_the_database_is_away(
    tmp_path: Path, docs: Path, postgres: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    url = postgres.database(uuid4().hex)
    first, second = (result.metadata.run_id for result in made(tmp_path / "a", url, docs, 2))
    options = ["--folder", str(tmp_path / "b"), "--set", f"runs.database={url}"]

    def leadline(*command: str) -> tuple[Any, str]:
        code = main([*command, *options])
        shown = capsys.readouterr()
        return code, shown.out + shown.err

    commands = {
        "list": ["runs", "list"],
        "search": ["runs", "search", "fathoms"],
        "show": ["runs", "show", first],
        "open": ["runs", "open", first],
        "replay": ["resume", "--offline", first],
        "resume": ["resume", first, "--docs", str(docs)],
        "verify": ["verify", first],
        "compare": ["compare", first, second],
        "memory": ["memory", "list"],
        "forget": ["memory", "delete", "--yes", first],
        "usage": ["usage"],
        "delete": ["runs", "delete", "--yes", first],
        "old": ["runs", "delete", "--older-than", "1d"],
    }
    replies = {name: leadline(*command) for name, command in commands.items()}
    assert {name: code for name, (code, _) in replies.items() if code} == {}
    texts = {name: text for name, (_, text) in replies.items()}
    for name in ("list", "search", "show", "open", "compare", "memory"):
        assert first[:8] in texts[name], name
    assert "fathoms" in texts["replay"]
    assert "No run of the queue" in texts["usage"]
    assert "Deleted" in texts["delete"]
    assert first not in leadline("runs", "list")[1]
    assert second in leadline("runs", "list")[1]
    postgres.stop()
    try:
        for name, command in commands.items():
            code, text = leadline(*command)
            assert code == 75, (name, text)
            assert "repair or start it and try again" in text, name
            assert "Traceback" not in text
    finally:
        postgres.start()
