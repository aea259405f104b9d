"""The command line as a process: signals, pipes that close, terminals. A fake engine keeps the run waiting."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

Start = Callable[..., Any]
QUESTION = "How deep was the harbour of Port Ellery sounded in 1871?"
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and terminals as POSIX has them")


def until(process: Popen[str], word: str) -> str:
    """Read standard error up to the line with this word."""
    assert process.stderr is not None
    read = ""
    for line in process.stderr:
        read += line
        if word in line:
            return read
    raise AssertionError(f"{word!r} never came:\n{read}")


@pytest.fixture
def waiting(start: Start, docs: Path) -> Popen[str]:
    """Return a run that waits for an engine."""
    process: Popen[str] = start("research", QUESTION, "--docs", "docs", "--set", "search.engines=waiting")
    until(process, "asked")
    return process


def resumed(start: Start, err: str) -> tuple[int, str]:
    """Do what the last line says, with an engine that answers at once."""
    command = shlex.split(err.strip().splitlines()[-1].partition("Continue: ")[2])
    assert command[:2] == ["leadline", "resume"]
    process = start(*command[1:], "--set", "plugins.waiting.seconds=0", "--set", "search.engines=waiting,local")
    out, _ = process.communicate(timeout=60)
    return process.returncode, out


def test_ctrl_c_stops_says_how_to_go_on_and_that_works(start: Start, waiting: Popen[str]) -> None:
    waiting.send_signal(signal.SIGINT)
    _, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 130
    assert "Stopping: writing the report from the results so far." in err
    assert "Status    cancelled" in err
    assert "Traceback" not in err
    code, report = resumed(start, err)
    assert code == 0
    assert "nine fathoms" in report


def test_a_second_ctrl_c_ends_at_once(waiting: Popen[str]) -> None:
    waiting.send_signal(signal.SIGINT)
    waiting.send_signal(signal.SIGINT)
    _, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 130
    assert "Continue: leadline resume " in err
    assert "Traceback" not in err


@pytest.mark.parametrize("name", ["SIGTERM", pytest.param("SIGHUP", marks=pytest.mark.slow)])
def test_a_signal_cancels_and_says_how_to_go_on(waiting: Popen[str], name: str) -> None:
    waiting.send_signal(signal.Signals[name])
    _, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 130
    assert re.search(rf"Status    cancelled in [\d.]+ s: ended by {name}\n", err)
    assert "Continue: leadline resume " in err


@pytest.mark.parametrize("stream", ["stdout", pytest.param("stderr", marks=pytest.mark.slow)])
def test_a_reader_that_goes_away_ends_nothing(start: Start, docs: Path, stream: str) -> None:
    process = start("research", QUESTION, "--docs", "docs")
    getattr(process, stream).close()
    other = process.stderr if stream == "stdout" else process.stdout
    text = other.read()
    assert process.wait(timeout=60) == 0
    assert "Traceback" not in text
    assert "Broken" not in text
    assert ("nine fathoms" if stream == "stderr" else "complete") in text


def test_text_that_the_encoding_lacks_is_no_error(start: Start, docs: Path) -> None:
    process = start(
        "research", "属性港口有多深？", "--docs", "docs", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    )
    _, err = process.communicate(timeout=60)
    assert process.returncode == 5
    assert "Question  ????????" in err
    assert "Traceback" not in err


def at_terminal(start: Start, *argv: str, answer: str = "") -> tuple[int, str]:
    """Run a command at a terminal of its own, 72 cells wide; return its exit code and all that was on the screen."""
    import fcntl
    import struct
    import termios

    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 72, 0, 0))
    environ = {"TERM": "xterm", "PYTHONIOENCODING": "utf-8"}
    process = start(*argv, stdin=theirs, stdout=theirs, stderr=theirs, env=environ)
    os.close(theirs)
    if answer:
        os.write(ours, answer.encode())
    screen = b""
    while True:
        try:
            chunk = os.read(ours, 4096)
        except OSError:  # Linux says so when the other end has closed
            break
        if not chunk:
            break
        screen += chunk
    os.close(ours)
    return process.wait(timeout=60), screen.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_at_a_terminal_progress_changes_in_place_and_ends_in_a_line(start: Start, docs: Path) -> None:
    code, screen = at_terminal(start, "research", QUESTION, "--docs", "docs")
    assert code == 0
    assert "\x1b[?25l" in screen
    assert screen.rindex("\x1b[?25h") > screen.rindex("\x1b[?25l")
    assert "✓ complete · " in re.sub(r"\x1b\[[0-9;]*m", "", screen)
    assert "nine fathoms" in screen


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_at_a_terminal_an_unclear_question_is_asked_back(start: Start, docs: Path) -> None:
    asking = ("research", "how deep is it", "--docs", "docs", "--set", "clarify.mode=ask")
    code, screen = at_terminal(start, *asking, answer="the harbour of Port Ellery in 1871\n")
    assert code == 0
    assert "What exactly do you want to know?" in " ".join(screen.split())
    assert "nine fathoms" in screen


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_at_a_terminal_the_plan_is_shown_and_an_empty_line_follows_it(start: Start, docs: Path) -> None:
    asking = ("research", QUESTION, "--docs", "docs", "--set", "plan.approve=ask")
    code, screen = at_terminal(start, *asking, answer="\n")
    assert code == 0
    assert f"Section: {QUESTION}" in " ".join(screen.split())
    assert "Plan (@FILE, or Enter to go on without answering): " in screen
    assert "nine fathoms" in screen


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_before_the_run_exists_is_an_interruption(name: str) -> None:
    code = (
        "import os, signal, sys; from leadline import cli;"
        f"cli._run = lambda argv: os.kill(os.getpid(), signal.{name}) or 0; sys.exit(cli.main())"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "leadline: interrupted\n")
