"""`leadline pipelines`: list, show, and write one that works."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
BUILT_IN = {"auto", "chat", "oneshot", "requirements", "research", "search", "thinking"}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_all_pipelines_are_listed_with_their_level(cli: Cli) -> None:
    found = {one["name"]: one for one in json.loads(cli("pipelines", "list", "--json").out)}
    assert found.keys() >= BUILT_IN
    assert found["chat"]["level"] == "fast"
    assert found["research"]["level"] == "agent"
    assert all(one["description"] for one in found.values())
    assert {one["from"] for one in found.values()} == {"built in"}
    assert "Answers in one model call" in cli("pipelines").out


def test_a_pipeline_is_shown_as_settings_with_the_summaries_of_its_stages(cli: Cli) -> None:
    shown = cli("pipelines", "show", "search").out
    settings = tomllib.loads(shown)["pipelines"]["search"]
    assert settings["stages"][3]["at_most"] == 2
    assert settings["settings"]["verify.claims_per_call"] == 3
    assert "# answer: Answers the question from the passages found, in one call" in shown
    assert "needs a model" in cli("pipelines", "show", "chat").out


@pytest.mark.parametrize("extends", ["", "research"])
def test_a_new_pipeline_can_be_run(cli: Cli, tmp_path: Path, extends: str) -> None:
    (tmp_path / "leadline.toml").write_text('[ai]\nproviders = ["embedded"]')
    done = cli("pipelines", "new", "brief", *(["--extends", extends] if extends else []))
    assert done.code == 0
    written = (tmp_path / "leadline.toml").read_text()
    assert written.startswith('[ai]\nproviders = ["embedded"]\n[pipelines.brief]')
    assert cli("explain", "--pipeline", "brief").code == 0
    (one,) = (one for one in json.loads(cli("pipelines", "list", "--json").out) if one["name"] == "brief")
    assert one["from"].startswith("leadline.toml:")
    assert "already" in cli("pipelines", "new", "brief").err


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["show", "serch"], "there is no pipeline 'serch': did you mean 'search'?"),
        (["new", "mine", "--extends", "reserch"], "there is no pipeline 'reserch': did you mean 'research'?"),
        (["new", "My Own"], "'My Own' is no name for a pipeline"),
        (["new", "mine", "--settings", "x.yaml"], "there is no such settings file"),
    ],
)
def test_a_wrong_name_is_an_error(cli: Cli, argv: list[str], told: str) -> None:
    done = cli("pipelines", *argv)
    assert done.code in (64, 78)
    assert told in done.err


@pytest.mark.parametrize("command", ["chat", "think"])
def test_short_forms_choose_their_pipeline(cli: Cli, command: str) -> None:
    done = cli(command, "Why is the sky blue?", "--set", "ai.providers=embedded")
    assert done.code == 78
    assert "needs a language model" in done.err
