"""`leadline compare` answers a question with two pipelines and shows what each took and made."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.stating import install

Cli = Callable[..., Any]
QUESTION = "How deep was the harbour of Port Ellery sounded in 1871?"
ROWS = ("Run", "Status", "Time", "Cost", "Model calls", "Tokens", "Searches", "Sources", "Citations", "Claims")


def test_two_pipelines_are_shown_side_by_side(cli: Cli, docs: Path) -> None:
    done = cli("compare", QUESTION, "--pipelines", "research,oneshot", "--docs", "docs", "-q")
    assert done.code == 0
    assert re.search(r"^ +research +oneshot$", done.out, re.MULTILINE)
    for row in ROWS:
        assert re.search(rf"^{row} +\S.*  +\S", done.out, re.MULTILINE), row
    assert "Sources of both: " in done.out
    runs = json.loads(cli("runs", "list", "--json").out)
    assert {run["pipeline"] for run in runs} == {"research", "oneshot"}


def test_the_comparison_is_also_data(cli: Cli, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch)
    done = cli("compare", QUESTION, "--pipelines", "research,oneshot", "--docs", "docs", "-q", "--json")
    found = json.loads(done.out)
    first, second = found["runs"]
    assert (found["question"], first["pipeline"], second["pipeline"]) == (QUESTION, "research", "oneshot")
    assert first["searches"] == second["searches"] == 1
    assert second["claims"].keys() == {"supported"}
    stored = json.loads((Path("runs") / second["run"] / "metadata.json").read_text())
    assert (second["seconds"], second["tokens"]) == (stored["seconds"], stored["usage"]["tokens"])
    assert found["same"]
    again = json.loads(cli("compare", first["run"], second["run"], "--json").out)
    assert again["runs"] == found["runs"]


def test_the_second_pipeline_takes_no_reply_from_the_cache_of_the_first(cli: Cli, docs: Path) -> None:
    done = cli("compare", QUESTION, "--pipelines", "oneshot,search", "--docs", "docs", "-q", "--json")
    for run in json.loads(done.out)["runs"]:
        events = (Path("runs") / run["run"] / "events.jsonl").read_text()
        assert '"cached": true' not in events


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--pipelines", "research"), "name two, such as --pipelines research,oneshot"),
        (("--pipelines", "research,research"), "name two"),
        (("--pipelines", "research,oneshto"), "there is no pipeline 'oneshto': did you mean 'oneshot'?"),
        ((), "--pipelines is missing: name two, such as --pipelines research,oneshot"),
    ],
)
def test_anything_but_two_known_pipelines_is_refused(options: tuple[str, ...], says: str, cli: Cli, docs: Path) -> None:
    done = cli("compare", QUESTION, *options, "--docs", "docs")
    assert done.code == (78 if "there is no" in says else 64)
    assert says in done.err
    assert not Path("runs").exists()
