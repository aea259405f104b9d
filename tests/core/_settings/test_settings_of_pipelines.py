"""The settings of a pipeline: weaker than everything that the user sets, stronger than presets and defaults."""

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

Load = Callable[..., Loaded]
STRICT = """
[pipelines.strict]
extends = "research"
[pipelines.strict.settings]
"verify.require_support" = true
"report.formats" = "markdown"
clarify.rules = "literal"
"chart.mode" = "off"
"""


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Load settings over the built-in plugins and a pipeline with settings."""
    (tmp_path / "leadline.toml").write_text(STRICT)

    def load(*sets: str, environ: Mapping[str, str] | None = None, **more: Any) -> Loaded:
        nowhere = tmp_path / "none.toml"
        return load_settings(
            PluginCatalog.discover(), sets=sets, environ=environ or {}, cwd=tmp_path, user_file=nowhere, **more
        )

    return load


def test_a_pipeline_sets_what_nobody_set_and_is_the_origin(load: Load) -> None:
    loaded = load("pipeline=strict")
    assert loaded.settings.verify.require_support
    assert loaded.settings.report.formats == ("markdown",)
    assert loaded.settings.plugin("clarify").rules == "literal"
    for key in ("verify.require_support", "report.formats", "plugins.clarify.rules"):
        assert loaded.origins[key] == "pipeline strict"


def test_the_settings_of_another_pipeline_have_no_effect(load: Load) -> None:
    loaded = load()
    assert not loaded.settings.verify.require_support
    assert loaded.origins["verify.require_support"] == "default"


def test_whatever_the_user_sets_is_stronger(load: Load) -> None:
    loaded = load("pipeline=strict", "verify.require_support=false", environ={"LEADLINE_REPORT__FORMATS": "html"})
    assert not loaded.settings.verify.require_support
    assert loaded.settings.report.formats == ("html",)


def test_a_preset_is_weaker_and_may_be_set_by_a_pipeline(load: Load, tmp_path: Path) -> None:
    assert load("pipeline=strict", "preset=full").settings.plugin("chart").mode == "off"
    with (tmp_path / "leadline.toml").open("a") as file:
        file.write('preset = "full"\n')
    loaded = load("pipeline=strict")
    assert loaded.origins["preset"] == "pipeline strict"
    assert loaded.settings.report.analysis
    assert loaded.settings.plugin("chart").mode == "off"


def test_a_pipeline_that_extends_another_has_its_settings_too(load: Load, tmp_path: Path) -> None:
    with (tmp_path / "leadline.toml").open("a") as file:
        file.write('[pipelines.mine]\nextends = "strict"\nsettings = { "chart.mode" = "on" }\n')
    loaded = load("pipeline=mine")
    assert loaded.settings.verify.require_support
    assert loaded.settings.plugin("chart").mode == "on"
    assert loaded.origins["plugins.chart.mode"] == "pipeline mine"


def test_settings_of_a_built_in_pipeline_are_changed_key_by_key(load: Load, tmp_path: Path) -> None:
    (tmp_path / "leadline.toml").write_text('[pipelines.research.settings]\n"research.max_queries" = 7\n')
    loaded = load()
    assert loaded.settings.research.max_queries == 7
    assert "clarify" in loaded.chosen["pipeline"]


def test_errors_name_the_pipeline_as_their_place(load: Load, tmp_path: Path) -> None:
    (tmp_path / "leadline.toml").write_text(
        '[pipelines.mine]\nextends = "research"\n[pipelines.mine.settings]\n"verify.judge" = "exact"\n'
        '"budget.tokens" = -1\n"chart.mod" = "on"\npipeline = "research"\n'
    )
    with pytest.raises(ConfigError) as caught:
        load("pipeline=mine")
    said = str(caught.value)
    assert "verify.judge: unknown setting: did you mean 'judges'?" in said
    assert "budget.tokens: input should be greater than or equal to 0, got -1 (pipeline mine)" in said
    assert "plugins.chart.mod: unknown setting" in said
    assert "pipelines.mine.settings: a pipeline cannot set 'pipeline'" in said


def test_settings_of_a_run_that_this_version_does_not_have_are_ignored_and_named(load: Load) -> None:
    stored: Any = public(load().settings)
    stored["budget"] = {**stored["budget"], "patience": 3}
    stored["plugins"] = {**stored["plugins"], "gone": {"x": 1}, "local": {"passage": 2, "chunk": 900}}
    stored["loops"] = {"most": 2}
    loaded = load(stored=stored)
    [notice] = [notice for notice in loaded.notices if "ignored" in notice]
    names = "budget.patience, loops, plugins.gone, plugins.local.chunk, plugins.local.passage"
    assert notice == f"settings of the run that this version of Leadline does not have are ignored: {names}"
    assert loaded.settings.budget.tokens == stored["budget"]["tokens"]
    stored["budget"] = {**stored["budget"], "tokens": -1}
    with pytest.raises(ConfigError, match="budget.tokens: input should be") as caught:
        load(stored=stored)
    assert "patience" not in str(caught.value)
    with pytest.raises(ConfigError, match="budget.patience: unknown setting"):
        load("budget.patience=3", stored=stored)


def test_a_resumed_run_keeps_what_the_user_had_set(load: Load) -> None:
    stored = public(load("pipeline=strict", "verify.require_support=false").settings)
    assert not load("pipeline=strict", stored=stored).settings.verify.require_support
    research = public(load().settings)
    assert load("pipeline=strict", stored=research).settings.verify.require_support
