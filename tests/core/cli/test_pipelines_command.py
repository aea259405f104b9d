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


def test_a_pipeline_that_is_shown_works_as_settings_under_another_name(cli: Cli, tmp_path: Path) -> None:
    copied = cli("pipelines", "show", "research").out.replace("[pipelines.research]", "[pipelines.brief]")
    (tmp_path / "leadline.toml").write_text(f'ai.providers = ["embedded"]\n{copied}')
    assert cli("explain", "--pipeline", "brief").code == 0
    (brief,) = (it for it in json.loads(cli("pipelines", "list", "--json").out) if it["name"] == "brief")
    assert brief["from"].startswith("leadline.toml:")


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["show", "serch"], "there is no pipeline 'serch': did you mean 'search'?"),
        (["show", "research", "--settings", "x.yaml"], "there is no such settings file"),
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
