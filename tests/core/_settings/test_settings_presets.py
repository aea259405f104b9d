"""Presets: they set what nobody set by name, from any source, and say so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.settings_from import load_settings

from leadline._hosting.catalog import PluginCatalog
from leadline._settings.load import Loaded
from leadline._settings.redaction import public
from leadline.errors import ConfigError

KEYS = ("report.analysis", "plugins.chart.mode")
Load = Callable[..., Loaded]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Load settings over the built-in plugins, in an empty folder."""

    def load(*sets: str, environ: Mapping[str, str] | None = None, **more: Any) -> Loaded:
        nowhere = tmp_path / "none.toml"
        return load_settings(
            PluginCatalog.discover(), sets=sets, environ=environ or {}, cwd=tmp_path, user_file=nowhere, **more
        )

    return load


def values(loaded: Loaded) -> list[bool | str]:
    return [loaded.settings.report.analysis, loaded.settings.plugin("chart").mode]


def test_lean_is_what_the_defaults_are(load: Load) -> None:
    assert public(load().settings) == public(load("preset=lean").settings)
    assert values(load()) == [False, "auto"]
    assert load().origins["report.analysis"] == "default"


def test_full_sets_what_nobody_set_and_says_so(load: Load, tmp_path: Path) -> None:
    (tmp_path / "leadline.toml").write_text('preset = "full"\n')
    loaded = load()
    assert values(loaded) == [True, "on"]
    assert loaded.origins["preset"] == "leadline.toml:1"
    assert {loaded.origins[key] for key in KEYS} == {"preset full"}


def test_what_is_set_by_name_stands_over_a_preset_of_any_source(load: Load, tmp_path: Path) -> None:
    (tmp_path / "leadline.toml").write_text('[plugins.chart]\nmode = "off"\n')
    loaded = load("preset=full")
    assert values(loaded) == [True, "off"]
    assert loaded.origins["plugins.chart.mode"] == "leadline.toml:2"


def test_the_strongest_source_names_the_preset(load: Load, tmp_path: Path) -> None:
    (tmp_path / "leadline.toml").write_text('preset = "full"\n')
    assert values(load(environ={"LEADLINE_PRESET": "lean"})) == [False, "auto"]


def test_a_typo_is_refused_with_the_nearest_name(load: Load) -> None:
    with pytest.raises(ConfigError, match=r"preset: .* did you mean 'full'\? .*\(--set preset\)"):
        load("preset=ful")
    with pytest.raises(ConfigError, match="preset: "):
        load("preset=[1]")


def test_plugins_that_are_not_installed_are_not_spoken_of(tmp_path: Path) -> None:
    loaded = load_settings(
        PluginCatalog.discover([]),
        sets=["preset=full"],
        environ={},
        cwd=tmp_path,
        user_file=tmp_path / "x",
        complete=False,
    )
    assert not [problem for problem in loaded.problems if problem.startswith("plugins")]


def test_a_run_keeps_its_preset_until_another_is_asked_for(load: Load) -> None:
    lean, full = public(load().settings), public(load("preset=full", "plugins.chart.mode=off").settings)
    assert values(load(stored=full)) == [True, "off"]
    assert values(load("preset=full", stored=lean)) == [True, "on"]
    assert values(load(stored=full, environ={"LEADLINE_PRESET": "lean"})) == [True, "off"]
