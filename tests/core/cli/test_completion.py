"""Shell completion: the choices for a word, and the script in bash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


def choices(*words: str, shell: str = "fish") -> list[str]:
    """Return the choices for the last of some words, as a shell receives them."""
    line, answer = " ".join(("leadline", *words)), Path("answer.txt")
    form = {"_ARGCOMPLETE_DFS": "\t", "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_SHELL": shell}
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_SUPPRESS_SPACE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    environ = {**os.environ, **form, **asked, "_ARGCOMPLETE_STDOUT_FILENAME": str(answer)}
    subprocess.run([sys.executable, "-m", "leadline"], env=environ, timeout=100, check=True)
    return answer.read_text("utf-8").splitlines()


@pytest.mark.usefixtures("cli")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ru"], ["runs"]),
        (["runs", "s"], ["search", "show"]),
        (["runs", "list", "--status", "comp"], ["complete"]),
        (["research", "x", "--set", "search.engines=a", "--set", "search.eng"], ["search.engines="]),
        (["research", "x", "--se"], ["--settings", "--set"]),
        (["completion", "z"], ["zsh"]),
        (["runs", "show", ""], []),
    ],
)
def test_a_word_has_its_choices(words: list[str], expected: list[str]) -> None:
    assert [line.split("\t")[0] for line in choices(*words)] == expected


def test_runs_are_offered_with_their_questions(cli: Cli, docs: Path) -> None:
    cli("research", "How deep was the harbour of Port Ellery?", "--docs", "docs", "-q", "--folder", "mine")
    (name,) = (path.name for path in Path("mine").glob("*_*"))
    line = f"{name}\tHow deep was the harbour of Port Ellery?"
    assert choices("runs", "show", "--folder", "mine", "") == [line]
    assert choices("resume", name[:4]) == []
    assert choices("resume", "--folder", "mine", name[:4]) == [line]


def test_names_of_runs_are_quoted(cli: Cli) -> None:
    run = Path("runs") / "a$(touch ran)b"
    run.mkdir(parents=True)
    (run / "journal.sqlite").touch()
    assert [line.split("\t")[0] for line in choices("runs", "show", "a", shell="bash")] == [r"a\$\(touch\ ran\)b"]


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the command `leadline` on the path."""
    command = tmp_path / "bin" / "leadline"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m leadline "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
@pytest.mark.usefixtures("on_path")
def test_bash_completes() -> None:
    script = (
        'eval "$(leadline completion bash)"; COMP_LINE="leadline runs s"; COMP_POINT=${#COMP_LINE}; '
        '_python_argcomplete leadline; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout.split() == ["search", "show"]
