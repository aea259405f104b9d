"""Packages of plugins ship defaults: settings, `auto` orders, pipelines and presets."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from tests.settings_from import load_settings

from leadline._hosting.catalog import PluginCatalog
from leadline._settings.load import Loaded
from leadline.errors import ConfigError
from leadline.hookspecs import DEFAULTS

Package = Callable[[str, str], EntryPoint]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """Write a package with a `defaults.toml`, and return its entry point."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(name: str, text: str) -> EntryPoint:
        folder = tmp_path / re.sub(r"\W", "_", f"{tmp_path.name}_{name}")
        folder.mkdir()
        (folder / "__init__.py").touch()
        (folder / "defaults.toml").write_text(text)
        monkeypatch.delitem(sys.modules, folder.name, raising=False)
        return EntryPoint(name, folder.name, DEFAULTS)

    return write


def load(host: PluginCatalog, *sets: str) -> Loaded:
    nowhere = Path("/nonexistent")
    return load_settings(host, sets=sets, cwd=nowhere, environ={}, user_file=nowhere, complete=False)


def with_defaults(*points: EntryPoint) -> PluginCatalog:
    host = PluginCatalog.discover()
    host.defaults = (*host.defaults, *points)
    return host


def test_another_package_overrides_the_built_in_defaults_and_is_named_as_the_origin(package: Package) -> None:
    loaded = load(with_defaults(package("acme", '[report]\nformats = ["html"]\n')))
    assert loaded.settings.report.formats == ("html",)
    assert loaded.origins["report.formats"] == "defaults of acme"
    assert loaded.origins["search.strategy"] == "default"


def test_a_package_may_bring_pipelines_presets_and_orders_of_its_own(package: Package) -> None:
    text = (
        '[pipelines.short]\nextends = "research"\nwithout = ["chart"]\n'
        "[presets.small]\nbudget.tokens = 9\n"
        '[auto."search.engines"]\nconfigured = ["wikipedia"]\n'
    )
    loaded = load(with_defaults(package("acme", text)), "pipeline=short", "preset=small", "plugins.wikipedia.limit=1")
    assert "chart" not in loaded.chosen["pipeline"]
    assert loaded.settings.budget.tokens == 9
    assert loaded.origins["budget.tokens"] == "preset small"
    assert loaded.defaults.auto["search.engines"].configured == ("wikipedia",)


@pytest.mark.parametrize("text", ["[auto.x]\nconfgured = ['a']\n", "auto = 3\n", "[report\n"])
def test_a_file_that_cannot_be_read_is_an_error_with_its_package(package: Package, text: str) -> None:
    with pytest.raises(ConfigError, match=r"defaults\.toml of .*acme(: | cannot be read)"):
        load(with_defaults(package("acme", text)))


def test_without_any_package_of_plugins_the_error_says_what_to_install() -> None:
    with pytest.raises(ConfigError, match="no plugins are installed: .*again, whole"):
        load(PluginCatalog({}))


def test_pipelines_may_be_files_of_their_own(package: Package) -> None:
    point = package("acme", "")
    folder = Path(str(sys.path[0])) / point.module / "pipelines"
    folder.mkdir()
    (folder / "short.toml").write_text('[pipelines.short]\nextends = "research"\nwithout = ["chart"]\n')
    loaded = load(with_defaults(point), "pipeline=short")
    assert "chart" not in loaded.chosen["pipeline"]
    assert loaded.origins["pipelines.short.extends"] == "defaults of acme"


@pytest.mark.parametrize("text", ["", "[pipelines.long]\n", "[pipelines.short]\n[report]\n", "pipelines = 3\n", "[x"])
def test_a_file_of_a_pipeline_has_its_table_and_no_other(package: Package, text: str) -> None:
    point = package("acme", "")
    folder = Path(str(sys.path[0])) / point.module / "pipelines"
    folder.mkdir()
    (folder / "short.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"pipelines/short\.toml of acme(: the file must have| cannot be read)"):
        load(with_defaults(point))


def test_a_pipeline_in_two_files_of_a_package_is_an_error(package: Package) -> None:
    point = package("acme", '[pipelines.short]\nextends = "research"\n')
    folder = Path(str(sys.path[0])) / point.module / "pipelines"
    folder.mkdir()
    (folder / "short.toml").write_text('[pipelines.short]\nextends = "research"\n')
    with pytest.raises(ConfigError, match=r"defaults\.toml has the table \[pipelines\.short\], too"):
        load(with_defaults(point))
