"""Closed streams, full disks, deleted folders and too little memory: a clear message and the right exit code."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import DEVNULL, run
from typing import Any

import pytest

from leadline.commands import LEAST, exhaustion

Start = Callable[..., Any]
QUESTION = "How deep was the harbour of Port Ellery sounded in 1871?"
RESEARCH = ("research", QUESTION, "--docs", "docs")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="streams and limits as POSIX has them")


def in_shell(redirection: str, *argv: str) -> tuple[int, str]:
    """Run a command with a redirection; return its exit code and what it wrote to the streams that are left."""
    script = f'exec "$@" {redirection}'
    command = ["sh", "-c", script, "sh", sys.executable, "-m", "leadline", *argv]
    done = run(command, stdin=DEVNULL, capture_output=True, text=True, timeout=100, check=False)
    return done.returncode, done.stdout + done.stderr


needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")


@pytest.mark.parametrize(
    ("redirection", "argv", "code", "told"),
    [
        ("<&- 2>&-", RESEARCH, 0, "nine fathoms"),
        pytest.param(">/dev/full", RESEARCH, 0, "cannot write to standard output: No space left", marks=needs_full),
        pytest.param("2>/dev/full", ("runs", "list"), 0, "", marks=needs_full),
        pytest.param(">/dev/full", ("runs", "list", "--json"), 1, "No space left on device", marks=needs_full),
        ("<&-", ("research", "-", "--docs", "docs"), 64, "the question is empty"),
        (">&-", ("runs", "list"), 0, "No runs in"),
        (">&-", ("--help",), 0, ""),
        (">&- 2>&-", ("--version",), 0, ""),
        ("2>&-", ("runs", "show", "nothing"), 64, ""),
    ],
)
def test_a_stream_that_is_closed_or_full_changes_no_exit_code(
    docs: Path, redirection: str, argv: tuple[str, ...], code: int, told: str
) -> None:
    returned, output = in_shell(redirection, *argv)
    assert returned == code, output
    assert told in output
    assert "Traceback" not in output
    assert "This is a bug" not in output


def test_a_file_never_takes_the_number_of_a_closed_stream(docs: Path) -> None:
    """Otherwise what is printed would be written into the journal."""
    assert in_shell("<&- >&- 2>&-", *RESEARCH)[0] == 0
    (journal,) = Path("runs").glob("*/journal.sqlite")
    assert journal.read_bytes().startswith(b"SQLite format 3")
    assert in_shell("", "resume", journal.parent.name, "--offline")[0] == 0


def test_a_deleted_working_folder_is_told(tmp_path: Path) -> None:
    script = 'mkdir gone; cd gone; rmdir ../gone; exec "$@"'
    command = ["sh", "-c", script, "sh", sys.executable, "-m", "leadline", "runs", "list"]
    done = run(command, capture_output=True, text=True, timeout=100, check=False, cwd=tmp_path)
    assert done.returncode == 64
    assert "the working folder was deleted; change to another one" in done.stderr
    assert "This is a bug" not in done.stderr


def test_a_working_folder_may_be_deleted_while_a_run_goes_on(start: Start, docs: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    folder = tmp_path / "kept"
    options = ("--folder", str(folder), "--set", "search.engines=waiting")
    process = start("research", QUESTION, "--docs", str(docs), *options, cwd=gone)
    assert any("asked" in line for line in process.stderr)
    shutil.rmtree(gone)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 130
    assert "Status    cancelled" in err
    assert f"Continue: leadline resume {next(folder.iterdir()).name}" in err
    assert "This is a bug" not in err


def test_a_limit_of_memory_that_no_run_can_keep_is_refused(start: Start, docs: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))

    process = start(*RESEARCH, preexec_fn=limit)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 1
    assert f"not enough address space: the limit is 300 MB, and a run needs {LEAST >> 20} MB" in err
    assert "ulimit -v unlimited" in err


@pytest.mark.parametrize(
    "error",
    [MemoryError(), RuntimeError("can't start new thread"), OSError(12, "Cannot allocate memory")],
)
def test_errors_of_too_little_memory_are_recognised(error: Exception) -> None:
    assert "not enough memory" in exhaustion(ExceptionGroup("several", [ValueError("x"), error]))
    wrapped = ValueError("x")
    wrapped.__cause__ = error
    assert "not enough memory" in exhaustion(wrapped)
    assert exhaustion(RuntimeError("x")) == ""
