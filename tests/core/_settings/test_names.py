"""Names are unique per kind: Leadline's defaults mean Leadline's plugins, names that a user writes prefer others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.settings_from import load_settings

from leadline._hosting.catalog import PluginCatalog
from leadline._settings.load import Loaded
from leadline._settings.redaction import public
from leadline.errors import ConfigError
from leadline.hookspecs import GROUP

MODULE = """
from leadline.plugin import (
    PluginSettings, ai_provider, claim_judge, observer, report_formatter, search_provider, search_strategy, stage,
    synthesizer,
)

class Settings(PluginSettings):
    depth: int = 1

@claim_judge("A judge", settings=Settings)
class Judge: pass

def ready(own, settings):
    if own.depth > 100 * len(settings.search.engines):
        return "depth is too much for so few engines"

@search_provider("An engine", settings=Settings, ready=ready)
class Engine: pass

@stage("A stage", settings=Settings)
class Stage: pass

@search_strategy("A strategy", settings=Settings)
class Strategy: pass

@ai_provider("A model", settings=Settings)
class Model: pass

@report_formatter("A format", settings=Settings)
class Format: pass

@observer("An observer", settings=Settings)
class Observer: pass

@synthesizer("A synthesizer", settings=Settings)
class Synthesizer: pass
"""
AFTER = 'pipeline = "mine"\n[pipelines.mine]\nextends = "research"\nafter = { plan = ["chart"] }'
Load = Callable[..., Loaded]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Load settings where the distribution `acme-judge` has plugins named like some of Leadline's."""
    site, names = tmp_path / "site", ("exact", "html", "chart", "batch", "embedded", "markdown", "jsonl", "prose")
    info = site / "acme_judge-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme_judge\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n" + "".join(f"{name} = acme_names\n" for name in names))
    (site / "acme_names.py").write_text(MODULE)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("# A page")
    monkeypatch.syspath_prepend(str(site))

    def load(*sets: str, file: str = "", **options: Any) -> Loaded:
        settings = tmp_path / "settings.toml"
        settings.write_text(file)
        given: dict[str, Any] = {"environ": {}, "user_file": tmp_path / "none", "cwd": tmp_path, "file": settings}
        return load_settings(
            PluginCatalog.discover(), sets=[f"plugins.local.folders={tmp_path}/docs", *sets], **given | options
        )

    yield load
    sys.modules.pop("acme_names", None)


def distribution(loaded: Loaded, kind: str, name: str) -> str:
    return loaded.plugins[loaded.section(kind, name)].distribution


def test_a_dependency_replaces_no_plugin_of_the_defaults(load: Load) -> None:
    loaded = load()
    assert "acme_judge" not in {plugin.distribution for plugin in loaded.plugins.values()}
    assert distribution(loaded, "claim_judges", "exact") == "leadline"
    assert not [notice for notice in loaded.notices if "acme" in notice]


def test_a_name_that_a_user_writes_prefers_the_plugin_of_another_distribution_and_says_so(load: Load) -> None:
    loaded = load("verify.judges=exact", "plugins.exact.depth=3")
    assert distribution(loaded, "claim_judges", "exact") == "acme_judge"
    assert loaded.settings.plugin("exact").depth == 3


@pytest.mark.parametrize(
    ("name", "key", "given"),
    [
        ("exact", "verify.judges", {"file": 'verify.judges = ["exact"]'}),
        ("batch", "search.strategy", {"environ": {"LEADLINE_SEARCH__STRATEGY": "batch"}}),
        ("batch", "search.strategy", {"arguments": {"search.strategy": "batch"}}),
        ("batch", "plugins.mine.use", {"file": 'search.strategy = "mine"\nplugins.mine.use = "batch"'}),
        ("embedded", "ai.providers", {"file": 'ai.providers = ["embedded"]'}),
        ("embedded", "ai.roles.task", {"file": 'ai.roles.task = "embedded:small"'}),
        ("markdown", "report.formats", {"file": 'report.formats = ["markdown"]'}),
        ("jsonl", "observers", {"file": 'observers = ["jsonl"]'}),
        ("prose", "research.synthesizer", {"file": 'research.synthesizer = "prose"'}),
        ("chart", "pipelines.mine.after.plan", {"file": AFTER}),
    ],
)
def test_every_key_of_a_user_names_the_other_plugin_of_its_name(
    load: Load, name: str, key: str, given: dict[str, Any]
) -> None:
    notices = [notice for notice in load(complete=False, **given).notices if "to use the other" in notice]
    assert notices == [
        f"{key}: {name} is plugin '{name}' (acme_judge 1.0); to use the other of this name, write {name}@leadline"
    ]


def test_a_file_that_the_settings_name_precedes_an_installed_plugin(load: Load, tmp_path: Path) -> None:
    (tmp_path / "batch.py").write_text(MODULE)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "batch.py").write_text(MODULE)
    loaded = load(file='search.strategy = "batch"\nplugin_folder = "folder"\nplugins.batch.use = "./batch.py"')
    assert loaded.plugins["batch"].file == tmp_path / "batch.py"
    assert loaded.notices == (
        f"search.strategy: batch is plugin 'batch' (batch.py in {tmp_path}); to use the other of this name, "
        "write batch@acme-judge or batch@leadline",
    )


@pytest.mark.parametrize(("name", "expected"), [("exact@leadline", "leadline"), ("exact@Acme.Judge", "acme_judge")])
def test_a_distribution_selects_either(load: Load, name: str, expected: str) -> None:
    loaded = load(f"verify.judges={name}")
    assert loaded.chosen["verify.judges"] == (name,)
    assert distribution(loaded, "claim_judges", name) == expected
    assert loaded.notices == ()


def test_a_plugin_refuses_what_other_settings_rule_out(load: Load) -> None:
    with pytest.raises(ConfigError, match="html: depth is too much for so few engines"):
        load("search.engines=html", file='[plugins."html@acme-judge"]\ndepth = 101\n')
    load("search.engines=html,local", file='[plugins."html@acme-judge"]\ndepth = 101\n')


def test_one_name_serves_two_kinds(load: Load) -> None:
    loaded = load("search.engines=local,html")
    assert distribution(loaded, "search_providers", "html") == "acme_judge"
    assert distribution(loaded, "report_formatters", "html") == "leadline"


def test_a_section_must_fit_the_plugin_that_is_selected_under_its_name(load: Load) -> None:
    with pytest.raises(ConfigError, match=r"plugins\.exact\.depth: unknown setting"):
        load("plugins.exact.depth=3", "verify.judges=exact@leadline")
    load("plugins.html.depth=3", "report.formats=markdown", "read.parsers=text")  # neither is chosen: it fits one
    with pytest.raises(ConfigError, match=r"plugins\.exact\.dept: unknown setting"):
        load("plugins.exact.dept=3", "verify.judges=model")


def test_two_chosen_plugins_of_one_name_need_sections_with_their_distributions(load: Load) -> None:
    with pytest.raises(ConfigError) as caught:
        load("search.engines=local,html", file="[plugins.html]\ndepth = 3\n")
    assert str(caught.value) == (
        'plugins.html: two plugins of this name are chosen: write [plugins."html@acme-judge"] or '
        '[plugins."html@leadline"] (settings.toml:2)'
    )
    loaded = load("search.engines=local,html", file='[plugins."html@acme-judge"]\ndepth = 3\n')
    assert loaded.settings.plugin("html@acme-judge").depth == 3
    assert loaded.origins["plugins.html@acme-judge.depth"] == "settings.toml:2"


def test_what_a_preset_sets_is_not_for_the_plugin_of_another_distribution(load: Load) -> None:
    file = '[pipelines.mine]\nextends = "research"\nreplace = { chart = ["chart"] }\n'
    loaded = load("pipeline=mine", "preset=full", file=file)
    assert distribution(loaded, "stages", "chart") == "acme_judge"
    assert loaded.settings.plugin("chart").model_dump() == {"depth": 1}


def test_a_broken_file_is_an_error_though_an_installed_plugin_has_its_name(load: Load, tmp_path: Path) -> None:
    (tmp_path / "batch.py").write_text("raise OSError('no share')")
    with pytest.raises(ConfigError, match=r"search\.strategy: .*batch\.py raised OSError: no share"):
        load(file='search.strategy = "batch"\nplugins.batch.use = "./batch.py"')


def test_a_resumed_run_keeps_its_plugins(load: Load) -> None:
    for sets, expected in ((["verify.judges=exact"], "acme_judge"), ([], "leadline")):
        run = load(*sets)
        assert run.distributions == ({"claim_judges/exact": "acme_judge"} if sets else {})
        again = load(stored=public(run.settings), tags=run.tags, plugins=run.distributions, sealed=True)
        assert distribution(again, "claim_judges", "exact") == expected


def test_a_resumed_second_instance_keeps_its_plugin(load: Load) -> None:
    mine = ["search.strategy=mine", "plugins.mine.use=batch"]
    for use, expected in (("batch", "acme_judge"), ("batch@leadline", "leadline")):
        run = load(mine[0], f"plugins.mine.use={use}")
        again = load(stored=public(run.settings), tags=run.tags, plugins=run.distributions, sealed=True)
        assert distribution(again, "search_strategies", "mine") == expected
    stored = public(load(mine[0], "plugins.mine.use=batch@leadline").settings)
    stored["plugins"]["mine"]["use"] = "batch"  # of a run before the other distribution was installed
    again = load(stored=stored, sealed=True)
    assert distribution(again, "search_strategies", "mine") == "leadline"


def test_a_second_instance_may_have_the_name_of_an_installed_plugin(load: Load, tmp_path: Path) -> None:
    loaded = load("search.engines=html,local", "plugins.html.use=local", f"plugins.html.folders={tmp_path}/docs")
    assert loaded.plugins[loaded.section("search_providers", "html")].name == "local"
    assert distribution(loaded, "report_formatters", "html") == "leadline"
