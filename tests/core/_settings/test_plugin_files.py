"""A plugin of one file needs no packaging: the settings name the file, or the folder of several."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.settings_from import load_settings

from leadline import workers
from leadline._hosting.catalog import PluginCatalog
from leadline._settings.load import Loaded
from leadline._settings.redaction import public
from leadline._settings.sources import Sources
from leadline._settings.trust import trust
from leadline.client import Client
from leadline.errors import ConfigError, UntrustedSettings

WIKI = """
from pathlib import Path
from leadline.plugin import Call, Hit, PluginSettings, SearchRequest, search_provider

class Settings(PluginSettings):
    limit: int = 3

@search_provider("Our wiki", settings=Settings)
class Wiki:
    async def search(self, request: SearchRequest, call: Call, /) -> list[Hit]:
        return [Hit(url="https://wiki.example/tides", title="Tides", text="Tides follow the moon, twice a day.")]

Path(__file__).with_name("imported").touch()
"""
USE = '[search]\nengines = ["wiki"]\n[plugins.wiki]\nuse = "./wiki.py"\nlimit = 5\n'
Load = Callable[..., Loaded]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a project of a settings file and a plugin."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "wiki.py").write_text(WIKI)
    (folder / "leadline.toml").write_text(USE)
    return folder


@pytest.fixture
def load(tmp_path: Path, folder: Path) -> Load:
    """Load the settings of the project, which an option names, from another working folder."""

    def load(text: str = USE, **options: Any) -> Loaded:
        (folder / "leadline.toml").write_text(text)
        given = {"cwd": tmp_path, "file": folder / "leadline.toml", "environ": {}, "user_file": tmp_path / "none"}
        return load_settings(PluginCatalog.discover(), **given | options)

    return load


def test_a_section_names_a_file_relative_to_its_settings(load: Load, folder: Path) -> None:
    loaded = load()
    assert str(loaded.plugins["wiki"]) == f"plugin 'wiki' (wiki.py in {folder})"
    assert loaded.settings.plugin("wiki").limit == 5
    assert (
        load().plugins["wiki"].offers["search_providers"].make is loaded.plugins["wiki"].offers["search_providers"].make
    )
    with pytest.raises(ConfigError, match=r"plugins\.wiki\.limt: unknown setting: did you mean 'limit'\?"):
        load(USE + "limt = 3\n")


def test_a_path_that_begins_with_a_dot_is_relative_to_its_settings_and_a_style_needs_consent(
    load: Load, folder: Path, tmp_path: Path
) -> None:
    (folder / "house.css").touch()
    text = 'report.formats = ["html"]\n[html]\ncss = "./house.css"\n'
    assert load(text).settings.plugin("html").css == folder / "house.css"
    with pytest.raises(ConfigError, match=rf"plugins\.html\.css: there is no file {tmp_path}/house\.css; `\./` begins"):
        load(text, sets=["html.css=./house.css"])
    with pytest.raises(UntrustedSettings, match=r"html\.css = .*house\.css. \(a style sheet\)"):
        load(text, cwd=folder, file=None)


@pytest.mark.parametrize("found", [USE.partition("limit")[0], 'plugin_folder = "."\nsearch.engines = ["wiki"]\n'])
def test_a_file_has_a_short_section_and_variables_as_an_installed_plugin(load: Load, found: str) -> None:
    assert load(f"{found}[wiki]\nlimit = 7\n").settings.plugin("wiki").limit == 7
    assert load(found, sets=["wiki.limit=8"]).settings.plugin("wiki").limit == 8
    assert load(found, environ={"LEADLINE_WIKI__LIMIT": "9"}).settings.plugin("wiki").limit == 9
    with pytest.raises(ConfigError, match=r"^wikki: unknown setting: did you mean 'wiki', the table of a plugin\?"):
        load(found, sets=["wikki.limit=8"])


def test_a_decorator_without_settings_is_named_where_a_setting_is_given_or_read(load: Load, folder: Path) -> None:
    (folder / "wiki.py").write_text(WIKI.replace(", settings=Settings", ""))
    expected = "the decorator of the plugin names no settings model: settings=…"
    with pytest.raises(ConfigError, match=rf"^plugins\.wiki\.limit: unknown setting: {expected} \("):
        load()
    settings = load(USE.replace("limit = 5", "")).settings.plugin("wiki")
    with pytest.raises(AttributeError, match=f"there is no setting 'limit': {expected}"):
        _ = settings.limit


def test_an_edited_file_is_imported_again(load: Load, folder: Path) -> None:
    load()
    (folder / "wiki.py").write_text(WIKI.replace("Our wiki", "The new wiki"))
    assert load().plugins["wiki"].offers["search_providers"].summary == "The new wiki"


def test_a_folder_has_a_plugin_in_each_file(load: Load, folder: Path) -> None:
    (folder / "plugins").mkdir()
    for name in ("atlas", "exact", "_helper"):
        (folder / "plugins" / f"{name}.py").write_text(WIKI)
    loaded = load('plugin_folder = "plugins"\nsearch.engines = ["atlas", "exact"]\n')
    assert loaded.chosen["search.engines"] == ("atlas", "exact")
    assert loaded.plugins[loaded.section("claim_judges", "exact")].distribution == "leadline"
    with pytest.raises(ConfigError, match=r"plugin_folder: there is no folder /.*/plugin \(.*leadline\.toml:1\)"):
        load('plugin_folder = "plugin"\n')


@pytest.mark.parametrize("setting", ['[plugins.wiki]\nuse = "./wiki.py"\n', 'plugin_folder = "."\n'])
def test_a_found_file_is_not_imported_without_consent(load: Load, folder: Path, setting: str) -> None:
    found = {"cwd": folder, "file": None}
    with pytest.raises(UntrustedSettings) as caught:
        load(setting, **found)
    assert str(folder) in str(caught.value)
    shown = load(f'search.engines = ["wiki"]\nlimits.wiki.at_once = 1\n{setting}', **found, complete=False)
    assert shown.untrusted
    assert shown.problems == (str(shown.untrusted),)
    assert not (folder / "imported").exists()
    trust(Sources(folder, {}, user_file=folder.parent / "none"), shown.untrusted.digests)
    load(setting, **found, sets=["search.engines=wiki"])
    assert (folder / "imported").exists()


@pytest.mark.parametrize("setting", [USE, 'search.engines = ["wiki"]\nplugin_folder = "."\n[plugins.wiki]\n'])
def test_consent_to_a_file_covers_its_section_and_stays_beside_that_of_an_environment(
    load: Load, folder: Path, setting: str
) -> None:
    code = 'limit: int = 3\n    url: str = ""\n    token: SecretStr = SecretStr("")'
    (folder / "wiki.py").write_text(
        WIKI.replace("limit: int = 3", code).replace("PluginSettings,", "PluginSettings, SecretStr,")
    )
    text = f'{setting}url = "https://wiki.example"\n[environments.prod.plugins.wiki]\nurl = "https://prod.example"\n'
    found: dict[str, Any] = {"cwd": folder, "file": None, "environ": {"LEADLINE_SECRETS": str(folder)}}
    (folder / "wiki_token").write_text("of this machine")
    for environment, addresses in (("", ["https://wiki.example"]), ("prod", ["https://prod.example"]), ("", [])):
        found["environ"] = found["environ"] | {"LEADLINE_ENV": environment}
        untrusted = load(text, **found, complete=False).untrusted
        assert re.findall(r"https://[\w.]+", str(untrusted)) == addresses
        if untrusted:
            trust(Sources(folder, {}, user_file=folder.parent / "none"), untrusted.digests)
            load(text, **found)


def test_a_run_is_no_source_of_a_file(load: Load, folder: Path) -> None:
    run = load()
    (folder / "imported").unlink()
    stored = {"stored": public(run.settings), "tags": run.tags, "plugins": run.distributions}
    with pytest.raises(ConfigError, match=r"plugins\.wiki\.use = .*: a run is no source of it: to use it, add --set"):
        load("", **stored)
    assert not (folder / "imported").exists()
    assert load("", **stored, sealed=True).chosen["search.engines"] == ("wiki",)
    moved = folder.with_name("moved")
    moved.mkdir()
    (moved / "wiki.py").write_text(WIKI)
    (moved / "leadline.toml").write_text(USE)
    again = load(cwd=moved, file=moved / "leadline.toml", **stored)
    assert again.plugins["wiki"].file == moved / "wiki.py"
    assert not [notice for notice in again.notices if "differ" in notice]


def test_a_missing_file_is_the_only_message(load: Load, folder: Path) -> None:
    (folder / "wiki.py").unlink()
    with pytest.raises(ConfigError, match=r"^plugins\.wiki\.use: no file .*/wiki\.py \([^\n]*\)$"):
        load()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\nraise ValueError('no')\n", "cannot be imported: wiki.py raised ValueError: no (line 2); correct it"),
        ("x = 1\n", "offers nothing: wiki.py has no class with a decorator"),
        ('requires_leadline = ">=99"\nimport leadline.ledger', "is made for Leadline 99 or later, and this is "),
    ],
)
def test_a_file_at_fault_is_named_with_its_line(load: Load, folder: Path, source: str, message: str) -> None:
    (folder / "wiki.py").write_text(source)
    with pytest.raises(ConfigError, match=re.escape(message)) as caught:
        load()
    assert f"plugin 'wiki' (wiki.py in {folder})" in str(caught.value)


async def test_workers_import_a_file(tmp_path: Path) -> None:
    (tmp_path / "parse.py").write_text("def shout(text):\n    return text.upper()\n")
    module = __import__(workers.module_of(tmp_path / "parse.py"))
    assert await workers.run(module.shout, "tide", timeout=20) == "TIDE"


async def test_a_run_with_a_file_is_resumed(load: Load, folder: Path, own_folders: Path) -> None:
    async with Client(settings=folder / "leadline.toml", folder=folder / "runs") as client:
        handle = await client.start("When do tides come?")
        first = await handle.result()
        again = await (await client.resume(first.folder)).result()
    assert (first.status, again.status) == ("complete", "complete")
    assert "Tides follow the moon" in first.text
