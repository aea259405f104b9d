"""Wrong commands are told by their nearest right one, with exit code 64; help and version cost next to nothing."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from leadline import __version__
from leadline.cli import main
from leadline.cli.commands import STATUSES
from leadline.runs import Status

Cli = Callable[..., Any]


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["reserch", "x"], "no such command: 'reserch'; did you mean 'research'?"),
        (["runs", "lst"], "no such command: 'lst'; did you mean 'list'?"),
        (["research", "--jsn", "x"], "unrecognized arguments: --jsn (did you mean '--json'?); see `leadline research"),
        (["research"], 'no question given; write one, such as: leadline research "How does …?"'),
        (["research", " "], "the question is empty"),
        (["research", "x" * 20_001], "the question has 20,001 characters"),
        (["research", "x", "--set", "nothing"], "--set 'nothing': write KEY=VALUE"),
        (["research", "x", "--tag", "ticket"], "--tag 'ticket': write KEY=VALUE"),
        (["resume"], "required: RUN; see `leadline resume --help`"),
        (["resume", "x", "--offline", "--retry-failed"], "--offline makes no calls"),
        (["resume", "nothing"], "there is no run 'nothing' in runs"),
        (["runs", "list", "--limit", "many"], "'many' is not a positive number"),
        (["runs", "list", "--status", "complet"], "no such STATUS: 'complet'; did you mean 'complete'?"),
        (["plugins", "list", "--kind", "stage"], "no such kind: 'stage'; did you mean 'stages'?"),
        (["config"], "required: command; see `leadline config --help`"),
        ([], 'no command given; for example: leadline research "How does …?"'),
    ],
)
def test_a_wrong_command_is_told_and_exits_64(cli: Cli, argv: list[str], told: str) -> None:
    done = cli(*argv)
    assert done.code == 64
    assert told in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


@pytest.mark.parametrize("argv", [["--version"], ["version"]])
def test_the_version_is_printed(cli: Cli, argv: list[str]) -> None:
    done = cli(*argv)
    assert (done.code, done.out) == (0, f"leadline {__version__}\n")


@pytest.mark.parametrize(
    "argv",
    [
        [],
        *([name] for name in ("research", "runs", "plugins", "doctor")),
    ],
)
def test_help_imports_nothing_heavy(argv: list[str]) -> None:
    code = (
        "import sys; from leadline.cli import main; code = main([*sys.argv[1:], '--help'])\n"
        "import json; print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, text=True, check=True)
    status, modules = json.loads(ran.stderr)
    assert status == 0
    assert f"usage: {' '.join(['leadline', *argv])}" in ran.stdout
    assert {"pydantic", "asyncio", "rich", "pluggy", "httpx", "leadline.client"} & set(modules) == set()


@pytest.mark.parametrize("argv", [[], ["runs"]])
def test_help_lists_the_commands_and_nothing_else(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*argv, "--help"]) == 0
    listed = capsys.readouterr().out.partition("commands:\n")[2].partition("\n\n")[0].splitlines()
    assert listed
    assert all(len(line.split("  ", 2)) == 3 for line in listed), listed


def test_python_m_runs_the_same_command_line() -> None:
    ran = subprocess.run([sys.executable, "-m", "leadline", "nothing"], capture_output=True, text=True, check=False)
    assert ran.returncode == 64
    assert ran.stderr.startswith("leadline: no such command: 'nothing'")


def test_every_status_can_be_asked_for() -> None:
    assert set(STATUSES) == {*get_args(Status), "interrupted", "unreadable"}


def test_a_bug_is_one_line_and_a_traceback_when_wanted(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> int:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("leadline.cli.doctor.run", broken)
    done = cli("doctor")
    assert done.code == 1
    assert done.err.startswith(
        "leadline: ZeroDivisionError: by nothing\nThis is a bug in Leadline. Run the command again"
    )
    monkeypatch.setenv("LEADLINE_DEBUG", "1")
    assert "Traceback (most recent call last)" in cli("doctor").err
    monkeypatch.delenv("LEADLINE_DEBUG")
    Path(".env").write_text("LEADLINE_DEBUG=1\n")
    assert "Traceback (most recent call last)" in cli("doctor").err


class Odd(BaseException):
    """No `Exception`."""


@pytest.mark.parametrize("error", [SystemExit(0), SystemExit("bye"), Odd("odd"), asyncio.CancelledError()], ids=repr)
def test_an_exit_from_within_a_command_is_reported_as_a_bug(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def broken(*_: object) -> int:
        raise error

    monkeypatch.setattr("leadline.cli.doctor.run", broken)
    done = cli("doctor")
    assert done.code == 1
    assert done.err.startswith(f"leadline: {type(error).__name__}")


@pytest.mark.parametrize(
    "argv", [["config", "check"], ["runs", "list"], ["research", "How deep is the harbour of Port Ellery?", "-q"]]
)
@pytest.mark.parametrize("place", ["environment", ".env"])
def test_asking_for_tracebacks_is_no_setting(
    cli: Cli, docs: Path, monkeypatch: pytest.MonkeyPatch, argv: list[str], place: str
) -> None:
    if place == "environment":
        monkeypatch.setenv("LEADLINE_DEBUG", "1")
    else:
        Path(".env").write_text("LEADLINE_DEBUG=1\n")
    done = cli(*argv, "--set", f"plugins.local.folders={docs}")
    assert done.code == 0
    assert "unknown setting" not in done.err
