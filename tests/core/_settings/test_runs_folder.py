"""The folder of the runs is the same as in the whole settings, and is found without loading a plugin."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.settings_from import load_settings

from leadline._hosting.catalog import PluginCatalog
from leadline._settings import defaults
from leadline._settings.defaults import runs_settings
from leadline.errors import ConfigError
from leadline.hookspecs import DEFAULTS


@pytest.mark.parametrize(
    ("options", "environ", "file", "expected"),
    [
        ({}, "", "", "runs"),
        ({}, "", '[runs]\nfolder = "filed"', "filed"),
        ({}, "named", '[runs]\nfolder = "filed"', "named"),
        ({"sets": ["runs.folder=set"]}, "named", "", "set"),
        ({"sets": ['runs.folder="a b"']}, "", "", "a b"),
        ({"sets": ["runs.folder=one", "runs.folder=two"]}, "", "", "two"),
        ({"sets": ["runs.folder=set"], "arguments": {"runs.folder": "argued"}}, "named", "", "argued"),
        ({}, "", '[search]\nengines = ["nothing"]\n[runs]\nfolder = "filed"', "filed"),
    ],
)
def test_the_folder_is_that_of_the_settings(
    monkeypatch: pytest.MonkeyPatch, own_folders: Path, options: dict[str, Any], environ: str, file: str, expected: str
) -> None:
    if environ:
        monkeypatch.setenv("LEADLINE_RUNS__FOLDER", environ)
    Path("leadline.toml").write_text(file)
    assert runs_settings(**options).folder == Path(expected)
    assert load_settings(PluginCatalog.discover(), complete=False, **options).settings.runs.folder == Path(expected)


def test_a_value_that_is_no_path_is_refused(own_folders: Path) -> None:
    Path("leadline.toml").write_text("[runs]\nfolder = 3")
    with pytest.raises(ConfigError, match=r"runs.folder: must be the path of a folder \(leadline.toml:2\)"):
        runs_settings()


@pytest.mark.parametrize(
    ("sets", "environ", "file", "origin"),
    [
        (["runs.queue=x"], "", "", "--set"),
        ([], "x", "", "environment LEADLINE_RUNS__QUEUE"),
        ([], "", '[runs]\nqueue = "x"', "leadline.toml:2"),
    ],
)
def test_the_queue_of_earlier_versions_is_refused_with_the_name_of_now(
    monkeypatch: pytest.MonkeyPatch, own_folders: Path, sets: list[str], environ: str, file: str, origin: str
) -> None:
    if environ:
        monkeypatch.setenv("LEADLINE_RUNS__QUEUE", environ)
    Path("leadline.toml").write_text(file)
    with pytest.raises(ConfigError, match="runs.queue: the setting is runs.database now") as refused:
        runs_settings(sets=sets)
    assert origin in str(refused.value)
    with pytest.raises(ConfigError, match="runs.queue: the setting is runs.database now"):
        load_settings(PluginCatalog.discover(), sets=sets)


def test_the_entry_point_group_is_that_of_the_hooks() -> None:
    assert defaults.DEFAULTS == DEFAULTS


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["runs", "list"], ["runs", "search", "x"], ["runs"]])
def test_looking_at_runs_imports_no_plugin(own_folders: Path, argv: list[str]) -> None:
    code = (
        "import sys; from leadline.cli import main; main(sys.argv[1:])\n"
        "print(*(m for m in sys.modules if m.startswith('leadline_plugins.') or m in "
        "('leadline.client', 'leadline.contracts', 'pluggy', 'asyncio', 'httpx', 'pydantic_settings')), "
        "file=sys.stderr)\n"
        "print(len(sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, text=True, timeout=100, check=True)
    *_, imported, count = done.stderr.splitlines()
    assert imported == ""
    assert int(count) < 400
