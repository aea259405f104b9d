"""The host lists plugins without importing them, and says of each that cannot be used what is wrong with it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, cast

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline.errors import PluginError
from leadline.hookspecs import GROUP, KINDS
from leadline.testing.plugins import plugin

HEAD = """
from leadline.plugin import PluginSettings, parser, search_provider

class Settings(PluginSettings):
    limit: int = 3
"""
GOOD = """
@search_provider("x", settings=Settings)
class Wiki: pass
"""
PARSER = "class Parses: pass\n"
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install distributions: folders with metadata and a module, as pip leaves them."""
    before = set(sys.modules)

    def install(
        name: str, source: str, *, plugin: str = "", group: str = GROUP, version: str = "1.2", requires: str = ""
    ) -> None:
        site = tmp_path / name
        module = "plugin_" + name.replace("-", "_")
        info = site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        needs = f"Requires-Dist: {requires}\n" if requires else ""
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}")
        (info / "entry_points.txt").write_text(f"[{group}]\n{plugin or name} = {module}\n")
        (site / f"{module}.py").write_text(HEAD + source)
        monkeypatch.syspath_prepend(str(site))

    yield install
    for module in set(sys.modules) - before:
        if module.startswith("plugin_"):
            del sys.modules[module]


def fault(name: str) -> str:
    with pytest.raises(PluginError) as caught:
        PluginCatalog.discover().load(name)
    return str(caught.value)


def test_listing_imports_nothing(install: Install) -> None:
    install("wiki", "raise RuntimeError('imported')")
    host = PluginCatalog.discover()
    assert "wiki" in host.names()
    assert "plugin_wiki" not in sys.modules


def test_a_plugin_is_loaded_once_with_where_it_comes_from(install: Install) -> None:
    install("leadline-wiki", GOOD, plugin="wiki")
    host = PluginCatalog.discover()
    wiki = host.load("wiki")
    assert (wiki.name, wiki.distribution, wiki.version) == ("wiki", "leadline-wiki", "1.2")
    assert wiki.settings.__name__ == "Settings"
    assert list(wiki.offers) == ["search_providers"]
    assert host.load("wiki") is wiki
    assert host.offer("search_providers", "wiki") is wiki.offers["search_providers"]
    assert "wiki" in host.offering("search_providers")


def test_an_unknown_name_lists_the_choices_and_the_nearest() -> None:
    host = PluginCatalog.discover([plugin(name, offered("search_providers")) for name in ("tavily", "exa")])
    with pytest.raises(PluginError) as caught:
        host.load("tavliy")
    assert str(caught.value) == (
        "no plugin 'tavliy' is installed: did you mean 'tavily'? (choose from: exa, tavily); see `leadline plugins`"
    )


def test_two_plugins_of_one_name_are_told_apart_by_their_distributions(install: Install) -> None:
    install("first", GOOD, plugin="wiki")
    install("second", GOOD, plugin="wiki", version="3.0")
    host = PluginCatalog.discover()
    with pytest.raises(PluginError) as caught:
        host.pick("search_providers", "wiki", asked=True)
    assert str(caught.value) == (
        "'wiki' among the search providers is offered by first 1.2 and second 3.0: write wiki@first or wiki@second"
    )
    assert host.pick("search_providers", "wiki@second").version == "3.0"
    assert host.pick("search_providers", "wiki", distribution="first").version == "1.2"
    with pytest.raises(PluginError, match=r"no plugin 'wiki@frist' is installed: did you mean 'wiki@first'\?"):
        host.load("wiki@frist")
    assert [entry.status for entry in host.entries() if entry.name == "wiki"] == ["ready", "ready"]


def test_one_name_may_be_of_two_kinds_and_one_of_two_may_be_broken(install: Install) -> None:
    install("first", GOOD, plugin="wiki")
    install("second", f"@parser('y', settings=Settings)\n{PARSER}", plugin="wiki")
    install("third", "raise RuntimeError", plugin="wiki")
    host = PluginCatalog.discover()
    assert host.pick("search_providers", "wiki").distribution == "first"
    assert host.pick("parsers", "wiki").distribution == "second"


def test_the_same_distribution_found_twice_is_one(install: Install) -> None:
    install("wiki", GOOD)
    found = list(entry_points(group=GROUP, name="wiki"))
    assert PluginCatalog.discover(found * 2).load("wiki").name == "wiki"


@pytest.mark.parametrize(
    ("source", "raised"),
    [
        ("raise RuntimeError('no network')", "RuntimeError: no network"),
        ("import not_installed_sdk", "ModuleNotFoundError: No module named 'not_installed_sdk'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise SystemExit", "SystemExit"),
    ],
)
def test_a_plugin_that_raises_on_import_is_named_and_the_others_work(
    install: Install, source: str, raised: str
) -> None:
    install("broken", source)
    install("wiki", GOOD)
    assert fault("broken") == (
        f"plugin 'broken' (broken 1.2) cannot be imported: plugin_broken raised {raised}; "
        "update or uninstall broken, or take it out of the settings"
    )
    status = {entry.name: (entry.status, entry.lacks) for entry in PluginCatalog.discover().entries()}
    assert status["wiki"] == ("ready", "")
    assert status["broken"] == ("broken", fault("broken"))


def test_a_broken_plugin_is_executed_once(install: Install) -> None:
    install("broken", "import sys; sys.plugin_count = getattr(sys, 'plugin_count', 0) + 1; raise ValueError")
    host = PluginCatalog.discover()
    for _ in range(2):
        with pytest.raises(PluginError):
            host.load("broken")
    count = vars(sys).pop("plugin_count")
    assert count == 1


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("X = 1", "offers nothing: plugin_broken has no class with a decorator of leadline.plugin, such as @search_"),
        ("@search_provider\nclass Wiki: pass", "offers nothing: plugin_broken has no class with a decorator"),
        (
            "from leadline.testing.fakes import FakeEngine",
            "offers nothing: plugin_broken has no class with a decorator",
        ),
        (
            f"{GOOD}@search_provider('y', settings=Settings)\nclass Other: pass",
            "has two search providers, Wiki and Other: give each an entry point of its own, such as plugin_b",
        ),
        (
            f"class Own(PluginSettings): ...\n@parser('y', settings=Own)\n{PARSER}{GOOD}",
            "has 2 settings models: its offers share one, and it has plugin_",
        ),
        (
            f"@parser('y', settings=dict)\n{PARSER}",
            "has settings <class 'dict'>: they must be a subclass of PluginSettings",
        ),
        (
            f"class Own(PluginSettings):\n    path: 'Path'\n@parser('y', settings=Own)\n{PARSER}",
            "has settings Own whose annotations are not defined at run time: import them outside of TYPE_CHECKING",
        ),
        (
            f"class Own(PluginSettings):\n    use: str = ''\n@parser('y', settings=Own)\n{PARSER}",
            "has a settings field `use`: that name is reserved for second instances",
        ),
        (
            f"@parser('y', settings=Settings, env={{'limt': 'LIMIT'}})\n{PARSER}",
            "names a settings field 'limt' that does not exist: did you mean 'limit'? (choose from: limit)",
        ),
        (
            f"@parser('y', settings=Settings, cache_key=('*', 'limt'))\n{PARSER}",
            "names a settings field 'limt' that does not exist: did you mean 'limit'? (choose from: limit)",
        ),
    ],
)
def test_a_plugin_at_fault_is_named_with_what_is_wrong(install: Install, source: str, text: str) -> None:
    install("broken", source)
    assert f"plugin 'broken' (broken 1.2) {text}" in fault("broken")


def test_an_entry_point_may_name_a_class(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("wiki", GOOD + GOOD.replace("Wiki", "Other"))
    (point,) = entry_points(group=GROUP, name="wiki")
    catalog = PluginCatalog.discover([EntryPoint("other", f"{point.value}:Other", GROUP)])
    assert catalog.offer("search_providers", "other").make.__qualname__ == "Other"


@pytest.mark.parametrize(
    ("group", "advice"),
    [
        ("leadline.v1", "or move it: docs/how-to/move-a-plugin.md"),
        ("leadline.v3", "or a newer Leadline"),
    ],
)
def test_a_plugin_of_another_version_is_reported_and_not_imported(install: Install, group: str, advice: str) -> None:
    install("other", "raise RuntimeError('imported')", group=group)
    assert fault("other") == (
        f"plugin 'other' (other 1.2) is made for {group}, this is leadline.v2: "
        f"install a version of it for leadline.v2, {advice}"
    )
    host = PluginCatalog.discover()
    assert "other" not in host.names()
    assert fault("other") in host.refused.values()
    assert [(e.status, e.version) for e in host.entries() if e.name == "other"] == [("other API", "1.2")]
    assert "plugin_other" not in sys.modules


@pytest.mark.parametrize("group", ["leadline.plugins", "leadline", "leadline_v2"])
def test_a_misspelt_group_is_named(install: Install, group: str) -> None:
    install("wiki", GOOD, group=group)
    assert fault("wiki") == (
        f"plugin 'wiki' (wiki 1.2) is in the group '{group}', which Leadline does not read: "
        "its author writes 'leadline.v2' instead"
    )


@pytest.mark.parametrize(
    ("source", "raised"),
    [
        ("@search_provider('x', streaming=True)\nclass Wiki: pass", "an unexpected keyword argument 'streaming'"),
        ("from leadline.plugin import ledger", "ImportError: cannot import name 'ledger' from 'leadline.plugin'"),
        ("import leadline.ledger", "ModuleNotFoundError: No module named 'leadline.ledger'"),
    ],
)
def test_what_only_another_version_of_leadline_has_is_not_called_a_bug(
    install: Install, source: str, raised: str
) -> None:
    install("wiki", source)
    assert raised in fault("wiki")
    assert "; it may be made for another version of Leadline than " in fault("wiki")
    assert "bug" not in fault("wiki")


def test_a_plugin_that_requires_a_later_leadline_is_told_so_and_not_imported(install: Install) -> None:
    install("wiki", "raise RuntimeError('imported')", requires="leadline>=99.1,<100")
    assert "plugin 'wiki' (wiki 1.2) is made for Leadline 99.1 or later, and this is " in fault("wiki")
    assert fault("wiki").endswith(": update Leadline")
    install("other", GOOD, requires="leadline[pdf] >= 0.0.1")
    assert PluginCatalog.discover().load("other").name == "other"


def test_a_plugin_for_two_versions_is_used(install: Install) -> None:
    install("wiki", GOOD)
    install("wiki-next", "raise RuntimeError", plugin="wiki", group="leadline.v3")
    assert PluginCatalog.discover().load("wiki").distribution == "wiki"


@pytest.mark.parametrize("name", ["open-alex", "OpenAlex", "9gag", "_x"])
def test_a_name_that_no_variable_can_hold_is_refused(install: Install, name: str) -> None:
    install("wiki", GOOD, plugin=name)
    assert fault(name) == (
        f"plugin {name!r} (wiki 1.2) has a name that cannot be used: "
        "lower-case letters, digits and _ only, a letter first"
    )


def test_a_kind_that_a_plugin_does_not_offer_lists_who_does() -> None:
    host = PluginCatalog.discover(
        [plugin("html", offered("parsers"), offered("report_formatters")), plugin("exa", offered("embedders"))]
    )
    with pytest.raises(PluginError) as caught:
        host.offer("embedders", "html")
    assert str(caught.value) == (
        "plugin 'html' is not among the embedders: it offers report formatters, parsers; choose from: exa"
    )


def test_a_missing_sdk_names_what_to_install(install: Install) -> None:
    needs = "requires=('json', 'xml.dom', 'no_such_sdk=leadline[wiki]', 'no_such.other=other')"
    offers = (f"@{kind}('y', settings=Settings, {needs})\n" for kind in ("parser", "search_provider"))
    install("wiki", f"{''.join(offers)}class Wiki: pass")
    (entry,) = [e for e in PluginCatalog.discover().entries() if e.name == "wiki"]
    assert entry.status == "incomplete"
    assert len(entry.kinds) == 2
    assert (
        entry.lacks == "plugin 'wiki' (wiki 1.2) lacks what it needs: leadline plugins install 'leadline[wiki]' 'other'"
    )


def test_every_kind_can_be_offered() -> None:
    assert set(PluginCatalog.discover([plugin("all", *map(offered, KINDS))]).load("all").offers) == set(KINDS)


def offered(kind: str) -> Any:
    return KINDS[kind]("x")(lambda: cast("Any", None))
