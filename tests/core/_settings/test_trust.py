"""Settings that Leadline finds in a folder, or in a stored run, act with the user's rights only with consent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import SecretStr
from tests.settings_from import load_settings

from leadline._hosting.catalog import PluginCatalog
from leadline._settings.load import Loaded, seal_of
from leadline._settings.redaction import public
from leadline._settings.sources import Sources
from leadline._settings.trust import can_be_address, is_outside, trust
from leadline.errors import ConfigError, UntrustedSettings
from leadline.plugin import PluginSettings, search_provider
from leadline.testing.plugins import plugin

Load = Callable[..., Loaded]
MODEL = '[ai]\nproviders = ["openai", "embedded"]\n[plugins.openai]\n'
BASE = 'base_url = "http://127.0.0.1:9/v1"\n'
KEY = {"OPENAI_API_KEY": "sk-of-the-user-0001"}


class Keyless(PluginSettings):
    url: str = ""
    token: SecretStr = SecretStr("")


class Socket(PluginSettings):
    authority = {"host": "a socket"}

    host: str = ""


contacted: list[str] = []


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def load(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Load the settings of the folder `work`, which has these files, with documents of its own."""
    work = tmp_path / "work"
    (work / "docs").mkdir(parents=True)
    (work / "docs" / "a.md").write_text("# Bridge\n")
    monkeypatch.chdir(work)
    found = search_provider("x", settings=Keyless)(lambda: cast("Any", None))
    contacts = search_provider("x", settings=Socket, ready=lambda it: contacted.append(it.host))
    acting = contacts(lambda: cast("Any", None))
    catalog = PluginCatalog.discover(extra=[plugin("ambient", found), plugin("acting", acting)])
    contacted.clear()

    def run(*sets: str, toml: str = "", env: str = "", environ: Any = (), user: str = "", **more: Any) -> Loaded:
        (work / "leadline.toml").write_text(toml)
        (work / ".env").write_text(env)
        home.mkdir(exist_ok=True)
        (home / "leadline.toml").write_text(user)
        places = {"cwd": work, "environ": dict(environ), "user_file": home / "leadline.toml", "cache": home}
        return load_settings(catalog, sets=["plugins.local.folders=docs", *sets], **{**places, **more})

    return run


@pytest.mark.parametrize(
    ("toml", "env", "what"),
    [
        ('[search]\nengines = ["m"]\n[plugins.m]\nuse = "mcp"\ncommand = "./x.sh"\ntool = "t"\n', "", "a program"),
        ('[plugins.web]\nallow = ["10.0.0.0/8"]\n', "", "hosts of your network"),
        ('[runs]\ndatabase = "postgresql://evil/db"\n', "", "a database"),
        ('[runs]\nfolder = "../elsewhere"\n', "", "a path outside"),
        ("", "LEADLINE_RUNS__FOLDER=~/elsewhere\n", "a path outside"),
        ('[prompts]\nplan = "plan.md.j2"\n', "", "a code file"),
        ('[prompts]\nplan = "../plan.md"\n', "", "a path outside"),
        (MODEL + BASE, "", "an address"),
        (MODEL + 'headers = { x = "evil.example" }\n', "", "an address"),
        (MODEL + 'proxy = "http://evil:8080"\n', "", "an address"),
        (MODEL + BASE + 'headers = { own = "secret" }\n', "", "an address"),
        ("", "OPENAI_BASE_URL=http://127.0.0.1:9/v1\n", "an address"),
        ("", "LEADLINE_SETTINGS=other.toml\n", "an address"),
        ('[search]\nengines = ["ambient", "local"]\n[ambient]\nurl = "http://evil"\n', "", "an address"),
        ('[pipelines.research.settings]\n"plugins.openai.base_url" = "http://evil.example"\n', "", "an address"),
    ],
)
def test_found_values_that_act_with_the_users_rights_are_refused_with_their_lines(
    load: Load, tmp_path: Path, toml: str, env: str, what: str
) -> None:
    (tmp_path / "work" / "other.toml").write_text(MODEL + BASE)
    with pytest.raises(UntrustedSettings, match="leadline trust") as raised:
        load(toml=toml, env=env, environ=KEY)
    assert any(what in line for line in raised.value.lines)
    assert all(line.startswith(("leadline.toml:", ".env", "other.toml:", "pipeline ")) for line in raised.value.lines)
    assert load(toml=toml, env=env, environ=KEY, complete=False).untrusted is not None, "it is listed, not raised"
    assert load(toml=toml, env=env, environ={**KEY, "LEADLINE_TRUST": "1"}, complete=False).untrusted is None
    with pytest.raises(UntrustedSettings):
        load(toml=toml, env=f"{env}LEADLINE_TRUST=1\n", environ=KEY)


@pytest.mark.parametrize(
    ("toml", "env", "environ"),
    [
        (MODEL + 'model = "gpt-4.1"\n[report]\nlength = 300\nformats = ["json"]\n', "", KEY),
        (MODEL + 'model = "qwen2.5:7b"\n' + BASE, "", {}),
        (MODEL + BASE, "OPENAI_API_KEY=of-the-folder\n", {}),
        ('[runs]\nfolder = "output"\n[search.tiers]\n1 = ["who.int"]\n', "", KEY),
        ('[prompts]\nplan = "Ask example.org first. See /etc/hosts.\\n"\n', "", KEY),
    ],
)
def test_other_values_ask_nothing(load: Load, toml: str, env: str, environ: dict[str, str]) -> None:
    assert load(toml=toml, env=env, environ=environ).untrusted is None


def test_what_the_user_names_asks_nothing(load: Load, tmp_path: Path) -> None:
    (tmp_path / "named.toml").write_text(MODEL + BASE)
    named = tmp_path / "named.toml"
    assert load(file=named, environ=KEY).origins["plugins.openai.base_url"].endswith("named.toml:4")
    assert load(environ={**KEY, "LEADLINE_SETTINGS": str(named)}).untrusted is None
    assert load(user=MODEL + BASE, environ=KEY).untrusted is None
    assert load("plugins.openai.base_url=http://127.0.0.1:9/v1", "ai.providers=openai", environ=KEY).untrusted is None
    assert load(environ={**KEY, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}).untrusted is None


def test_trust_is_remembered_for_exactly_these_values_of_this_folder(load: Load, tmp_path: Path, home: Path) -> None:
    gateway = {"toml": MODEL + BASE, "environ": KEY}
    untrusted = load(**gateway, complete=False).untrusted
    assert untrusted is not None
    path = trust(Sources(tmp_path / "work", {}, user_file=home / "leadline.toml"), untrusted.digests)
    assert path.stat().st_mode & 0o777 == 0o600
    load(**gateway)
    load(toml=MODEL + BASE + 'model = "gpt-4.1"\n[report]\nlength = 9\n', environ=KEY)
    with pytest.raises(UntrustedSettings):
        load(toml=MODEL + BASE.replace("127.0.0.1", "127.0.0.2"), environ=KEY)
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "leadline.toml").write_text(MODEL + BASE)
    with pytest.raises(UntrustedSettings):
        load(**gateway, cwd=tmp_path / "copy")


def test_no_plugin_acts_on_a_value_before_the_consent(load: Load) -> None:
    """`ready` of a sandbox asks the engine that a file names, and that of a format reads the files of a style sheet."""
    found: dict[str, Any] = {"toml": '[search]\nengines = ["acting"]\n[plugins.acting]\nhost = "tcp://evil:2375"\n'}
    with pytest.raises(UntrustedSettings, match=r"tcp://evil:2375.*a socket"):
        load(**found)
    assert load(**found, complete=False).untrusted is not None
    stored = {"search": {"engines": ["acting"]}, "plugins": {"acting": {"host": "tcp://evil:2375"}}}
    with pytest.raises(ConfigError, match="a run is no source of it"):
        load(stored=stored)
    assert contacted == []
    assert load(**found, environ={"LEADLINE_TRUST": "1"}).plugins["acting"]
    assert contacted == ["tcp://evil:2375"]


def test_documents_outside_the_folder_go_to_no_address_of_the_folder(load: Load, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "diary.md").write_text("# Monday\n")
    own = MODEL + BASE + "api_key = 'of-the-folder'\n"
    assert load(toml=own).untrusted is None
    with pytest.raises(UntrustedSettings, match=r"base_url.*an address"):
        load(toml=own, docs=[str(tmp_path / "private")])
    with pytest.raises(UntrustedSettings, match=r"base_url.*an address"):
        load(f"plugins.local.folders={tmp_path}/private", toml=own)
    with pytest.raises(UntrustedSettings, match=r"base_url.*an address"):
        load(toml=own, reads=["../private/diary.md"])  # as `leadline knowledge add` and `verify` do


def test_links_lead_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "docs").symlink_to(tmp_path)
    (tmp_path / "work" / "loop").symlink_to("loop")
    outside = ("docs", "docs/a", "/etc/passwd", "~", "~/x", "..", "a/../../b", "static:../model", " /etc ")
    assert [text for text in outside if not is_outside(text, tmp_path / "work")] == []
    inside = ("", ".", "a", "./a", "a/../b", "http://a/b", "gpt-5", "~nobody*", "*~", "Two\nlines /etc", "loop")
    assert [text for text in inside if is_outside(text, tmp_path / "work")] == []


def test_addresses_are_known_by_scheme_host_name_or_ip() -> None:
    addresses = (
        *("http://x", "//x", "https:evil.example", "evil.example", "evil.example/v1", "u@evil.example:8", "localhost"),
        *(
            "gateway:8080",
            "127.0.0.1",
            "10.0.0.0/8",
            "[::1]:80",
            "::1",
            "evil。example",
            "ｅｖｉｌ．example",
            "a, b.org",
        ),
    )
    assert [text for text in addresses if not can_be_address(text)] == []
    others = ("gpt-4.1", "qwen2.5:7b", "meta.llama3-70b-v1:0", "openai/gpt-5", "llama3.2:latest", "2024-10-21", "de")
    assert [text for text in others if can_be_address(text)] == []


# --- stored runs -----------------------------------------------------------------------------------------------------


def test_a_run_is_no_source_of_an_address_or_a_program(load: Load, home: Path) -> None:
    own = load("ai.providers=openai,embedded", f"plugins.openai.{BASE.replace(' ', '')}".strip(), environ=KEY)
    stored = public(own.settings)
    with pytest.raises(ConfigError, match=r"base_url = .*nothing sets it today.*--set plugins.openai.base_url=…"):
        load(stored=stored, environ=KEY)
    assert load("plugins.openai.base_url=http://127.0.0.1:9/v1", stored=stored, environ=KEY).untrusted is None
    assert load(stored=stored, environ=KEY, user=MODEL + BASE).notices == (), "today's settings have it, too"
    assert load(stored=stored, environ=KEY, sealed=seal_of(stored, home) == own.seal), "this machine wrote it"
    with pytest.raises(ConfigError, match="today's settings have http://127.0.0.1:8/v1"):
        load(stored=stored, environ={**KEY, "OPENAI_BASE_URL": "http://127.0.0.1:8/v1"}, sealed=True)
    stored["plugins"]["openai"]["base_url"] = "http://evil.example"
    assert seal_of(stored, home) != own.seal
    stored["ai"]["providers"], stored["prompts"] = ["embedded"], {"plan": "/etc/passwd"}
    with pytest.raises(ConfigError, match=r"prompts.plan = .*a path outside"):
        load(stored=stored, environ=KEY)


def test_a_replay_executes_no_code_file_of_a_run(load: Load) -> None:
    stored = public(load("ai.providers=openai", "plugins.openai.base_url=http://a.example", environ=KEY).settings)
    assert load(stored=stored, environ=KEY, offline=True).untrusted is None
    stored["prompts"] = {"plan": "plan.md.j2"}
    with pytest.raises(ConfigError, match=r"prompts.plan = .*a code file"):
        load(stored=stored, environ=KEY, offline=True)
    with pytest.raises(ConfigError, match=r"prompts.plan = .*a code file"):
        load("ai.roles={}", stored=stored, environ=KEY, offline=True)
    stored["prompts"] = {"plan": "/etc/passwd"}
    assert load(stored=stored, environ=KEY, offline=True).settings.prompts == {"plan": "/etc/passwd"}, "it is not read"
