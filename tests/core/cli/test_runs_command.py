"""`leadline runs` lists, shows, opens and deletes what was run."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.stating import install

Cli = Callable[..., Any]
Made = Callable[[Callable[[], object]], None]
QUESTION = "How deep was the harbour of Port Ellery sounded in 1871?"
CHINESE = "那座大桥是谁设计的，当时的港口怎样？"


class Terminal(io.StringIO):
    """Somebody who answers."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def runs(cli: Cli, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_once: Made) -> list[str]:
    """Make two runs, a complete one with claims and one without evidence; return their ids."""
    install(tmp_path, monkeypatch)
    made_once(lambda: [cli("research", question, "--docs", "docs", "-q") for question in (QUESTION, CHINESE)])
    made = [json.loads(path.read_text()) for path in Path("runs").glob("*/metadata.json")]
    return [run["run_id"] for question in (QUESTION, CHINESE) for run in made if run["question"] == question]


def test_runs_are_listed_in_columns_whatever_the_script(cli: Cli, runs: list[str]) -> None:
    header, *rows = cli("runs", "list").out.splitlines()
    assert header.split() == ["RUN", "STATUS", "BEGAN", "QUESTION"]
    place = header.index("QUESTION")
    assert {row[place:] for row in rows} == {QUESTION, CHINESE}
    assert {row.split()[0] for row in rows} == set(runs)


def test_runs_are_chosen_by_status_and_number(cli: Cli, runs: list[str]) -> None:
    complete = json.loads(cli("runs", "list", "--status", "complete", "--json").out)
    assert [run["run"] for run in complete] == runs[:1]
    assert complete[0]["question"] == QUESTION
    assert len(json.loads(cli("runs", "list", "--limit", "1", "--json").out)) == 1


def test_no_runs_say_how_to_begin(cli: Cli) -> None:
    done = cli("runs", "list")
    assert (done.code, done.out) == (0, "")
    assert "leadline research" in done.err
    assert json.loads(cli("runs", "list", "--json").out) == []


def test_a_run_is_shown_with_its_calls(cli: Cli, runs: list[str]) -> None:
    done = cli("runs", "show", runs[0])
    assert f"Question  {QUESTION}" in done.out
    assert "search/local" in done.out
    assert "Go on with it" not in done.out
    assert f"leadline resume {runs[1]}" in cli("runs", "show", runs[1]).out
    assert json.loads(cli("runs", "show", runs[0], "--json").out)["calls"]["search/local"] >= 1


def test_a_run_that_was_killed_is_called_interrupted(cli: Cli, runs: list[str]) -> None:
    path = Path("runs") / runs[0] / "metadata.json"
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "status": "running", "ended": None}))
    assert "Status    interrupted" in cli("runs", "show", runs[0]).out


def test_metadata_that_cannot_be_read_says_what_to_do(cli: Cli, runs: list[str]) -> None:
    (Path("runs") / runs[0] / "metadata.json").write_text("{")
    done = cli("runs", "show", runs[0])
    assert done.code == 1
    assert f"`leadline resume {runs[0]}` restores it" in done.err
    assert "unreadable" in cli("runs", "list").out


def test_open_prints_where_the_html_report_is_or_else_another(cli: Cli, runs: list[str]) -> None:
    folder = Path("runs").absolute() / runs[0]
    assert cli("runs", "open", runs[0]).out == f"{folder / 'report.html'}\n"
    (folder / "report.html").unlink()
    assert cli("runs", "open", runs[0]).out == f"{folder / 'report.md'}\n"
    done = cli("runs", "open", runs[1])
    assert done.code == 1
    assert "has no report" in done.err


def test_search_finds_runs_by_question_and_report(cli: Cli, runs: list[str]) -> None:
    done = cli("runs", "search", "nine", "fathoms")
    assert done.out.startswith(f"{runs[0]}  complete  ")
    assert "found a depth of nine fathoms" in done.out
    assert [run["run"] for run in json.loads(cli("runs", "search", "港口", "--json").out)] == runs[1:]
    done = cli("runs", "search", "camels")
    assert (done.code, done.out) == (0, "")
    assert "No run in runs contains all of these words." in done.err
    assert json.loads(cli("runs", "search", "camels", "--json").out) == []
    done = cli("runs", "search", "?!")
    assert done.code == 64
    assert "nothing to search for" in done.err


def test_compare_shows_what_two_reports_share(cli: Cli, docs: Path, runs: list[str]) -> None:
    other = json.loads(cli("research", "When was the lighthouse of Port Ellery lit?", "--docs", "docs", "--json").out)
    done = cli("compare", runs[0], other["run"])
    assert done.code == 0
    assert re.search(
        rf"Only in {runs[0]} \(research\): 3 claims\n  - supported: The harbour of Port Ellery was sounded", done.out
    )
    assert re.search(r"Sources of both: \d\n  - \S+\.md", done.out)
    data = json.loads(cli("compare", runs[0], runs[0], "--json").out)
    assert (data["first"], data["only_first"], len(data["same"])) == (runs[0], [], 3)
    done = cli("compare", runs[0], runs[1])
    assert done.code == 0
    assert re.search(r"^Status +complete +no evidence: ", done.out, re.MULTILINE)
    done = cli("compare", runs[1], runs[1])
    assert done.code == 1
    assert "has a report, so there is nothing to compare" in done.err


def test_delete_asks_nobody_without_a_terminal(cli: Cli, runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    done = cli("runs", "delete", runs[0])
    assert done.code == 64
    assert f"leadline runs delete --yes {runs[0]}" in done.err
    assert (Path("runs") / runs[0]).is_dir()


def test_delete_with_yes_deletes_all_that_are_named(cli: Cli, runs: list[str]) -> None:
    assert cli("runs", "delete", "--yes", *runs).code == 0
    assert list(Path("runs").iterdir()) == []


def test_delete_of_an_unknown_run_deletes_none(cli: Cli, runs: list[str]) -> None:
    assert cli("runs", "delete", "--yes", runs[0], "nothing").code == 64
    assert (Path("runs") / runs[0]).is_dir()


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("\n", 1), ("no\n", 1), ("", 1)])
def test_delete_asks_at_a_terminal(
    cli: Cli, runs: list[str], monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr("leadline.commands.interactive", lambda: True)
    done = cli("runs", "delete", runs[0])
    assert done.code == code
    assert f"{runs[0]}  complete  {QUESTION}" in done.err
    assert (Path("runs") / runs[0]).is_dir() is (code == 1)
