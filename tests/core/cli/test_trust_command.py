"""A folder of somebody else's starts nothing and moves no key before the user says yes."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leadline._runtime.journal.rows import put_entry
from leadline._runtime.journal.storage import FileRecords

Cli = Callable[..., Any]
QUESTION = "How deep was the harbour of Port Ellery sounded in 1871?"
PROGRAM = """[search]
engines = ["evil", "local"]
[plugins.evil]
use = "mcp"
command = "./x.sh"
tool = "t"
[retry]
attempts = 1
[limits.evil]
timeout = 1
"""


@pytest.fixture
def program(docs: Path) -> Path:
    """Put a program into the folder, and settings that start it; return the file that it writes."""
    (docs.parent / "x.sh").write_text("#!/bin/sh\necho ran >> ran\n")
    (docs.parent / "x.sh").chmod(0o755)
    (docs.parent / "leadline.toml").write_text(PROGRAM)
    return docs.parent / "ran"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    "command",
    [["research", QUESTION], ["explain", QUESTION], ["config", "show"], ["doctor"], ["runs", "list"], ["verify", "-"]],
)
def test_no_command_starts_the_program_of_a_folder(
    cli: Cli, program: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("# A report\n\nIt is so [1].\n\n[1] https://a.example\n"))
    done = cli(*command, *([] if command[0] in ("runs", "config", "verify") else ["--docs", "docs"]))
    assert not program.exists()
    if command[0] not in ("runs", "verify"):
        assert f'leadline.toml:5 plugins.evil.command = "{program.parent}/x.sh" (a program)' in done.out + done.err
        assert "leadline trust" in done.out + done.err


@pytest.mark.parametrize(("answer", "runs"), [("y\n", True), ("\n", False), ("", False)])
def test_one_yes_on_a_terminal_is_remembered(
    cli: Cli, program: Path, monkeypatch: pytest.MonkeyPatch, answer: str, *, runs: bool
) -> None:
    monkeypatch.setattr("leadline.cli.config.interactive", lambda: True)
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    done = cli("research", QUESTION, "--docs", "docs", "-q")
    assert f'plugins.evil.command = "{program.parent}/x.sh"' in done.err
    assert (program.exists(), done.code == 78) == (runs, not runs)
    monkeypatch.setattr("leadline.cli.config.interactive", lambda: False)
    assert (cli("research", QUESTION, "--docs", "docs", "-q").code == 78) is not runs


def test_the_command_trusts_what_it_shows(cli: Cli, program: Path) -> None:
    shown = cli("trust")
    command = f'leadline.toml:5 plugins.evil.command = "{program.parent}/x.sh" (a program)'
    assert (shown.code, command in shown.out) == (0, True)
    assert "need no consent" in cli("trust").out
    assert cli("config", "check", "--set", "plugins.local.folders=docs").code == 0
    (program.parent / "leadline.toml").write_text(PROGRAM.replace("x.sh", "y.sh"))
    assert "y.sh" in cli("config", "check").err


def test_a_resumed_run_starts_no_program_that_its_journal_names(cli: Cli, program: Path) -> None:
    done = cli("research", QUESTION, "--docs", "docs", "-q", "--json", "--settings", "leadline.toml")
    run = program.parent / "runs" / json.loads(done.out)["run"]
    assert program.exists(), "a file that the user names is trusted"
    program.unlink()
    (program.parent / "leadline.toml").unlink()
    assert cli("resume", run.name, "-q").code == 0, (
        "this machine wrote the settings, and nothing sets the program today"
    )
    with sqlite3.connect(run / "journal.sqlite") as journal:
        (value,) = journal.execute("select value from entries where name = 'order'").fetchone()
        order = json.loads(value)
        order["settings"]["plugins"]["evil"]["command"] = "./x.sh"
        put_entry(FileRecords(journal), "meta", "order", json.dumps(order))
    journal.close()
    done = cli("resume", run.name, "-q")
    assert (done.code, program.exists()) == (78, False)
    assert "plugins.evil.command" in done.err
    assert "--set plugins.evil.command=…" in done.err


def test_names_of_runs_are_quoted_and_tags_are_one_line(cli: Cli, docs: Path) -> None:
    run = docs.parent / "runs" / "a$(touch ran)b"
    run.mkdir(parents=True)
    (run / "journal.sqlite").touch()
    times = {"began": "2026-01-01T00:00:00Z", "ended": "2026-01-01T00:00:01Z", "status": "failed"}
    about = {"run_id": run.name, "trace_id": "a" * 32, "question": "q", "pipeline": "research"}
    (run / "metadata.json").write_text(json.dumps({**about, **times, "tags": {"a": "x\nStatus    complete"}}))
    shown = cli("runs", "show", "a").out
    assert "leadline resume 'a$(touch ran)b'" in shown
    assert "Status    complete" not in shown.splitlines()
    assert "delete --yes 'a$(touch ran)b'" in cli("runs", "delete", "a").err
    (run / "metadata.json").write_text("{")
    assert "`leadline resume 'a$(touch ran)b'`" in cli("runs", "show", "a").err
    assert "`leadline resume 'a$(touch ran)b'`" in cli("compare", "a", "a").err
