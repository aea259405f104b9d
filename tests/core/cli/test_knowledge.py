"""`leadline knowledge`: what each command prints, and its exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leadline.cli import main

QUESTION = "How deep is the harbour at the mole?"


@pytest.fixture
def docs() -> Path:
    folder = Path("docs")
    folder.mkdir()
    (folder / "harbour.md").write_text("# Harbour\n\nThe harbour is nine fathoms deep at the mole.\n")
    (folder / "tea.txt").write_text("Tea was dear in the spring of 1802.\n")
    return folder


def test_documents_are_added_listed_asked_and_removed(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["knowledge", "add", "docs"]) == 0
    assert "2 added; 2 passages" in capsys.readouterr().err
    assert main(["knowledge"]) == 0
    listed = capsys.readouterr()
    assert "docs/harbour.md (Harbour)" in listed.out
    assert "2 documents, 2 passages; embedder: static" in listed.err
    assert main(["knowledge", "search", *QUESTION.split()]) == 0
    assert "1. Harbour  [p" in capsys.readouterr().out
    assert main(["knowledge", "ask", QUESTION, "-q"]) == 0
    answer = capsys.readouterr()
    assert "The harbour is nine fathoms deep at the mole. [1]" in answer.out
    assert "passages found, not judged" in answer.err
    assert main(["knowledge", "remove", "harbour.md"]) == 5
    assert "did you mean 'docs/harbour.md'?" in capsys.readouterr().err
    assert main(["knowledge", "remove", "docs"]) == 0
    assert "Removed 2 documents." in capsys.readouterr().err
    assert main(["knowledge", "remove", "docs"]) == 5


def test_a_file_that_cannot_be_read_is_named_and_the_exit_code_says_so(
    docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (docs / "empty.txt").touch()
    assert main(["knowledge", "add", "docs", "-q"]) == 4
    told = capsys.readouterr().err
    assert "not added: docs/empty.txt: it is empty" in told
    assert "2 added, 1 not readable" in told


def test_a_path_that_does_not_exist_is_refused(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["knowledge", "add", "docs", "doc"]) == 64
    assert "no such file or folder: doc (did you mean 'docs'?); nothing was added" in capsys.readouterr().err


def test_a_question_without_documents_says_how_to_add_some(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["knowledge", "search", "harbour"]) == 1
    assert "add some with `leadline knowledge add PATH`" in capsys.readouterr().err
    assert main(["knowledge", "ask", "How deep is the harbour?", "-q"]) == 1
    assert "leadline knowledge add PATH" in " ".join("".join(capsys.readouterr()).split())


@pytest.mark.slow
def test_a_killed_addition_loses_no_document_and_is_finished_by_the_next(
    docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same files are replaced again and again while the process is killed at other moments."""
    for number in range(300):
        (docs / f"{number}.txt").write_text(f"Sounding {number} of the harbour is {number} fathoms.\n" * 20)
    assert main(["knowledge", "add", "docs", "-q"]) == 0
    for turn, seconds in enumerate((1.2, 1.6, 2.0, 2.5, 3.0)):
        for path in docs.glob("*.txt"):
            path.write_text(f"{path.read_text()}Turn {turn}.\n")
        adding = subprocess.Popen([sys.executable, "-m", "leadline", "knowledge", "add", "docs", "-q"])
        time.sleep(seconds)
        os.kill(adding.pid, signal.SIGKILL)
        adding.wait()
        capsys.readouterr()
        assert main(["knowledge", "list", "--json"]) == 0
        assert len(json.loads(capsys.readouterr().out)["documents"]) == 302
        assert main(["knowledge", "search", "Sounding 123 of the harbour", "--limit", "50"]) == 0
        assert capsys.readouterr().out.count("[p") == 50
    assert main(["knowledge", "add", "docs", "-q"]) == 0
    capsys.readouterr()
    assert main(["knowledge", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert (len(listed["documents"]), listed["unfinished"]) == (302, 0)
    assert len([path for path in Path("leadline-knowledge/shared/files").rglob("*") if path.is_file()]) == 302


def test_a_folder_without_a_readable_type_says_so(own_folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = own_folders / "work" / "pictures"
    folder.mkdir()
    (folder / "a.gif").touch()
    assert main(["knowledge", "add", "pictures", "-q"]) == 0
    assert "nothing to add: no file that a parser of read.parsers reads" in capsys.readouterr().err
