"""`--continue` asks a follow-up question, and `leadline memory` lists and forgets what new questions remember."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
Made = Callable[[Callable[[], object]], None]
QUESTION = "How deep was the harbour of Port Ellery sounded in 1871?"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def ask(cli: Cli, *words: str) -> dict[str, Any]:
    done = cli("research", *words, "--docs", "docs", "--json", "-q")
    found: dict[str, Any] = json.loads(done.out)
    return found


def follows(run: dict[str, Any]) -> str:
    metadata = json.loads((Path(run["folder"]) / "metadata.json").read_text())
    followed: str = metadata["follows"]
    return followed


@pytest.fixture
def first(cli: Cli, docs: Path, made_once: Made) -> str:
    made_once(lambda: ask(cli, QUESTION))
    (metadata,) = Path("runs").glob("*/metadata.json")
    return metadata.parent.name


def test_a_follow_up_continues_the_last_run_or_the_named_one(cli: Cli, first: str) -> None:
    second = ask(cli, "And the lighthouse?", "--continue")
    assert (second["question"], follows(second)) == ("And the lighthouse?", first)
    third = ask(cli, "And the trade?", "--continue", first[:8])
    assert (third["question"], follows(third)) == ("And the trade?", first)
    shown = cli("runs", "show", second["run"]).out
    assert f"Follows   {first} (conversation {first})" in shown
    listed = json.loads(cli("runs", "list", "--json").out)
    assert {run["conversation"] for run in listed} == {None, first}


def test_a_text_after_the_option_is_the_question_and_the_run_that_it_continues_is_told(cli: Cli, first: str) -> None:
    done = cli("research", "--continue", "And the lighthouse?", "--docs", "docs", "--json", "-q")
    assert (json.loads(done.out)["question"], follows(json.loads(done.out))) == ("And the lighthouse?", first)
    assert f"Continues {first}: {QUESTION}" in done.err


@pytest.mark.parametrize("words", [["0123abcd", "And the lighthouse?"], ["0123abcd"], ["And", "the", "lighthouse?"]])
def test_an_unknown_run_to_continue_is_refused(words: list[str], cli: Cli, first: str) -> None:
    done = cli("research", "--continue", *words, "--docs", "docs")
    assert done.code == 64
    assert f"there is no run '{words[0]}'" in done.err
    assert "to continue the last run: leadline ask" in done.err


def test_without_a_run_there_is_nothing_to_continue(cli: Cli, docs: Path) -> None:
    done = cli("research", "--continue", "And the lighthouse?", "--docs", "docs")
    assert done.code == 64
    assert "there is no run in" in done.err


def test_memory_is_listed_and_forgotten_but_runs_stay(cli: Cli, first: str) -> None:
    assert [one["question"] for one in json.loads(cli("memory", "list", "--json").out)] == [QUESTION]
    listed = cli("memory")
    assert first in listed.out
    assert "--set memory=3" in listed.err
    assert cli("memory", "delete", first, "--yes").code == 0
    assert json.loads(cli("memory", "list", "--json").out) == []
    assert first in cli("runs", "list").out


def test_forgetting_is_confirmed(cli: Cli, first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "leadline memory delete --all --yes" in cli("memory", "delete", "--all").err
    assert "name the runs to forget" in cli("memory", "delete").err
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    monkeypatch.setattr("leadline.commands.interactive", lambda: True)
    done = cli("memory", "delete", "--all")
    assert (done.code, "Nothing was forgotten." in done.err) == (1, True)
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert f"Forgot {first}" in cli("memory", "delete", "--all").err
