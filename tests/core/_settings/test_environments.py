"""Settings for one environment, files that extend others, and values from variables and files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from tests.settings_from import load_settings

from leadline._hosting.catalog import PluginCatalog
from leadline._settings.load import Loaded
from leadline._settings.sources import Sources
from leadline._settings.trust import trust
from leadline.cli import main
from leadline.errors import ConfigError, UntrustedSettings
from leadline.plugin import Call, Hit, PluginSettings, SearchRequest, search_provider
from leadline.testing.plugins import plugin

Load = Callable[..., Loaded]
SECRET = "a-secret-of-the-wiki-of-32-chars"


class WikiSettings(PluginSettings):
    url: str = ""
    token: SecretStr
    cert_file: str = ""


class Wiki:
    async def search(self, request: SearchRequest, call: Call, /) -> list[Hit]:
        return []


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Load settings of a file that an option names, with the engine `wiki`."""
    wiki = search_provider("A wiki", settings=WikiSettings, env={"token": "WIKI_TOKEN"})(Wiki)
    catalog = PluginCatalog.discover(extra=[plugin("wiki", wiki)])

    def load(text: str = "", environ: dict[str, str] | None = None, **options: Any) -> Loaded:
        file = tmp_path / "leadline.toml"
        file.write_text(text)
        given = {"cwd": tmp_path, "file": file, "user_file": tmp_path / "none", "sets": ["search.engines=wiki"]}
        return load_settings(catalog, environ={"WIKI_TOKEN": SECRET, **(environ or {})}, **given | options)

    return load


ENVIRONMENTS = """
report.length = 100
budget.money = 1
[environments.dev.report]
length = 200
[environments.prod]
"report.length" = 300
budget.money = 5
"""


def test_an_environment_overrides_the_file_that_has_it(load: Load) -> None:
    def length(**environ: str) -> tuple[int, float]:
        settings = load(ENVIRONMENTS, environ).settings
        return settings.report.length, settings.budget.money

    assert length() == (100, 1)
    assert length(LEADLINE_ENV="dev") == (200, 1)
    assert length(LEADLINE_ENV="prod") == (300, 5)
    assert length(LEADLINE_ENV="prod", LEADLINE_REPORT__LENGTH="400") == (400, 5)
    assert load(ENVIRONMENTS, {"LEADLINE_ENV": "dev"}).origins["report.length"] == "leadline.toml:5"
    with pytest.raises(ConfigError) as caught:
        load(ENVIRONMENTS, {"LEADLINE_ENV": "prd"})
    assert str(caught.value) == (
        "no settings file has a table [environments.prd]: did you mean 'prod'? (choose from: dev, prod) "
        "(--env, or LEADLINE_ENV)"
    )


def test_a_check_names_the_faults_of_every_environment(
    own_folders: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (own_folders / "leadline.toml").write_text("[environments.prod]\nreport.lenght = 3\n")
    monkeypatch.setenv("LEADLINE_ENV", "")
    monkeypatch.chdir(own_folders)
    assert main(["config", "check"]) == 78
    assert "[environments.prod] report.lenght: unknown setting: did you mean 'length'?" in capsys.readouterr().err


def test_a_file_extends_another_one(load: Load, tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "base.toml").write_text('extends = "more.yaml"\nreport.length = 1\nbudget.money = 1\n')
    (tmp_path / "team" / "more.yaml").write_text("budget: {money: 2, tokens: 3}\nenvironments: {dev: {memory: 4}}\n")
    loaded = load('extends = "team/base.toml"\nreport.length = 5\n', {"LEADLINE_ENV": "dev"})
    settings = loaded.settings
    assert (settings.report.length, settings.budget.money, settings.budget.tokens, settings.memory) == (5, 1, 3, 4)
    assert loaded.origins["budget.money"] == "team/base.toml:3"


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ('extends = "base.toml"', r"extends: the files extend each other: leadline\.toml -> base\.toml -> base\.toml"),
        ('extends = "leadline.toml"', r"each other: leadline\.toml -> base\.toml -> leadline\.toml \(base\.toml:1\)"),
        ('extends = "no.toml"', r"extends: there is no file /.*/no\.toml \(base\.toml:1\)"),
        ("extends = 3", r"extends: the name of another settings file, a text \(base\.toml:1\)"),
    ],
)
def test_files_that_cannot_be_extended_are_named(load: Load, tmp_path: Path, base: str, message: str) -> None:
    (tmp_path / "base.toml").write_text(base)
    with pytest.raises(ConfigError, match=message):
        load('extends = "base.toml"')


REFERENCES = """
report.title = "${env:TEAM} report"
report.length = "${env:LENGTH}"
[plugins.wiki]
url = "https://${file:host.txt}/wiki"
"""


def test_a_run_stores_a_reference_and_never_its_value(load: Load, tmp_path: Path) -> None:
    (tmp_path / "host.txt").write_text("wiki.example\n")
    environ = {"TEAM": "Harbour", "LENGTH": "300"}
    run = load(REFERENCES, environ)
    assert (run.settings.report.title, run.settings.report.length) == ("Harbour report", 300)
    assert run.settings.plugin("wiki").url == "https://wiki.example/wiki"
    assert run.stored["report"]["title"] == "${env:TEAM} report"
    assert run.stored["report"]["length"] == "${env:LENGTH}"
    assert "Harbour" not in str(run.stored)
    again = load(REFERENCES, environ, stored=run.stored, tags=run.tags)
    assert again.settings.report.title == "Harbour report"
    assert again.stored == run.stored
    assert not [notice for notice in again.notices if "differ" in notice]
    with pytest.raises(ConfigError, match=r"report\.length = \$\{env:LENGTH\}: a run is no source of it"):
        load("", environ, stored=run.stored, tags=run.tags)
    assert load("", environ, stored=run.stored, tags=run.tags, sealed=True).settings.report.length == 300


def test_a_reference_is_resolved_only_where_nothing_stronger_sets_the_value(load: Load) -> None:
    text = 'report.title = "${env:NOBODY}"\n[environments.dev]\nreport.title = "mine"\n'
    assert load(text, {"LEADLINE_ENV": "dev"}).settings.report.title == "mine"


def test_a_found_file_is_no_witness_for_the_reference_of_a_run(load: Load, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("private")
    text = 'report.title = "${file:key}"'
    run = load(text)
    with pytest.raises(ConfigError, match=r"report\.title = \$\{file:key\}: a run is no source of it"):
        load(text, file=None, stored=run.stored, tags=run.tags)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("report.title = '${env:NOBODY}'", r"report\.title: the variable NOBODY is not set \(leadline\.toml:1\)"),
        ("report.title = '${file:no.txt}'", r"report\.title: no\.txt cannot be read: .* \(leadline\.toml:1\)"),
        ("report.length = '${env:NOBODY}'", r"report\.length: the variable NOBODY is not set \(leadline\.toml:1\)"),
        ("search.strategy = '${env:NOBODY}'", r"search\.strategy: the variable NOBODY is not set \(leadline\.toml:1\)"),
        ("plugins.wiki.url = '${env:NOBODY}'", r"plugins\.wiki\.url: the variable NOBODY is not set \(.*:1\)"),
        ("plugins.wiki.use = '${env:NOBODY}/a.py'", r"plugins\.wiki\.use: the variable NOBODY is not set \(.*:1\)"),
    ],
)
def test_what_a_reference_lacks_is_the_only_message_with_its_place(load: Load, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text)
    assert re.fullmatch(message, str(caught.value))


@pytest.mark.parametrize(
    "text",
    ['extends = "base.toml"', 'report.title = "${env:TEAM}"', '[report]\ntitle = "${file:base.toml}"'],
)
def test_what_a_found_file_takes_from_elsewhere_needs_consent(load: Load, tmp_path: Path, text: str) -> None:
    (tmp_path / "base.toml").write_text("")
    with pytest.raises(UntrustedSettings) as caught:
        load(text, {"TEAM": "x"}, file=None)
    trust(Sources(tmp_path, {}, user_file=tmp_path / "none"), caught.value.digests)
    load(text, {"TEAM": "x"}, file=None)


def test_variables_and_a_folder_name_the_files_of_secrets(load: Load, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{SECRET}2\n")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "wiki_token").write_text(f"{SECRET}3\n")

    def token(**environ: str) -> str:
        value = load("", {"WIKI_TOKEN": "", "LEADLINE_SECRETS": str(tmp_path / "secrets"), **environ})
        found: str = value.settings.plugin("wiki").token.get_secret_value()
        return found

    assert token() == f"{SECRET}3"
    assert token(WIKI_TOKEN_FILE=str(tmp_path / "token")) == f"{SECRET}2"
    assert token(WIKI_TOKEN=SECRET, WIKI_TOKEN_FILE=str(tmp_path / "token")) == SECRET
    assert token(LEADLINE_PLUGINS__WIKI__TOKEN_FILE=str(tmp_path / "token")) == f"{SECRET}2"
    with pytest.raises(ConfigError, match="WIKI_TOKEN_FILE: /no/file cannot be read"):
        token(WIKI_TOKEN_FILE="/no/file")
    loaded = load(
        "", {"LEADLINE_PLUGINS__WIKI__CERT_FILE": "a.pem", "LEADLINE_RUNS__DATABASE_FILE": str(tmp_path / "token")}
    )
    assert loaded.settings.plugin("wiki").cert_file == "a.pem"
    assert loaded.settings.runs.database.get_secret_value() == f"{SECRET}2"
    (tmp_path / ".env").write_text(f"LEADLINE_PLUGINS__WIKI__TOKEN_FILE={tmp_path}/token\n")
    with pytest.raises(ConfigError, match=r"plugins\.wiki\.token_file: unknown setting"):
        load("")


@pytest.mark.parametrize(
    "text",
    [
        '"search.timeout" = 7',
        "search.timeout = 7",
        'pipeline = "mine"\n[pipelines.mine]\nextends = "research"\nsettings = { "search.timeout" = 7 }',
        'pipeline = "mine"\n[pipelines.mine]\nextends = "research"\nsettings = { search.timeout = 7 }',
        'pipeline = "mine"\n[pipelines.mine]\nextends = "research"\n[pipelines.mine.settings.search]\ntimeout = 7',
    ],
)
def test_a_key_is_written_dotted_or_nested_everywhere(load: Load, text: str) -> None:
    assert load(text).settings.search.timeout == 7
