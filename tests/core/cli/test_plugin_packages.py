"""`leadline plugins install|update|remove` change the environment that runs Leadline, or say what to do."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from leadline.cli import main

WHEEL, PDF = (f"leadline{extra} @ file:///w/leadline-0.2.0-py3-none-any.whl" for extra in ("", "[pdf]"))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the commands that would be executed."""
    made: list[list[str]] = []

    def call(command: list[str]) -> int:
        made.append(command)
        return 0

    monkeypatch.setattr(subprocess, "call", call)
    return made


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["install", "leadline-wiki", "./mine"], ["install", "leadline-wiki", "./mine"]),
        (["install", "leadline[pdf]"], ["install", "leadline[pdf]"]),  # of the installed version: no index is asked
        (["update", "leadline-wiki"], ["install", "--upgrade", "leadline-wiki"]),
        (["remove", "leadline-wiki"], ["uninstall", "--yes", "leadline-wiki"]),
    ],
)
def test_packages_are_changed_by_the_pip_of_this_python(
    calls: list[list[str]], arguments: list[str], expected: list[str]
) -> None:
    assert main(["plugins", *arguments]) == 0
    assert calls == [[sys.executable, "-m", "pip", *expected]]


@pytest.mark.parametrize(
    ("made", "advice"),
    [
        ("uv-receipt.toml", f"uv tool install '{WHEEL}' --with leadline-wiki --with '{PDF}'"),
        ("pipx_metadata.json", f"pipx inject leadline leadline-wiki '{PDF}'"),
        ("archive-v0/x/file", f"uvx --from '{WHEEL}' --with leadline-wiki --with '{PDF}' leadline"),
    ],
)
def test_an_environment_of_another_tool_is_left_to_it(
    calls: list[list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    made: str,
    advice: str,
) -> None:
    (tmp_path / made).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / made).touch()
    monkeypatch.setattr(sys, "prefix", str((tmp_path / made).parent))
    record = json.dumps({"url": "file:///w/leadline-0.2.0-py3-none-any.whl", "archive_info": {}})
    monkeypatch.setattr(PathDistribution, "read_text", lambda self, name: record)
    assert main(["plugins", "install", "leadline-wiki", "leadline[pdf]"]) == 64
    assert f"instead: {advice}\n" in capsys.readouterr().err
    assert not calls


@pytest.mark.parametrize("words", [["remove", "leadline"], ["update", "leadline[pdf]"]])
def test_leadline_itself_is_neither_removed_nor_updated_from_an_index(calls: list[list[str]], words: list[str]) -> None:
    assert main(["plugins", *words]) == 64
    assert not calls
