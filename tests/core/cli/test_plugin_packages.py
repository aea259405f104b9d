"""`leadline plugins install|update|remove` change the environment that runs Leadline, or say what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from leadline.cli import main


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
        ("uv-receipt.toml", "instead: uv tool install leadline --with leadline-wiki"),
        ("pipx_metadata.json", "instead: pipx inject leadline leadline-wiki"),
        ("archive-v0/x/file", "instead: uvx --with leadline-wiki leadline"),
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
    assert main(["plugins", "install", "leadline-wiki"]) == 64
    assert advice in capsys.readouterr().err
    assert not calls


def test_leadline_itself_is_not_removed(calls: list[list[str]]) -> None:
    assert main(["plugins", "remove", "leadline"]) == 64
    assert not calls
