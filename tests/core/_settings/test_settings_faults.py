"""Faults of settings are reported with their place, all at once, and with advice that fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import model_validator
from tests.call_paths import FakeSearch
from tests.settings_from import load_settings

from leadline._hosting.catalog import PluginCatalog
from leadline.errors import ConfigError
from leadline.plugin import PluginSettings, search_provider
from leadline.testing.plugins import plugin


def problems(folder: Path, text: str = "", *, name: str = "leadline.toml", **more: Any) -> list[str]:
    (folder / name).write_text(text)
    sources: dict[str, Any] = {"environ": {}, "user_file": folder / "none.toml", **more}
    with pytest.raises(ConfigError) as caught:
        load_settings(PluginCatalog.discover(), cwd=folder, **sources)
    return str(caught.value).splitlines()


@pytest.mark.parametrize("keys", ["folders = ['docs']", "folders = ['docs']\nrefresh = 500"])
def test_a_second_instance_without_use_is_offered_the_plugin_with_its_keys(tmp_path: Path, keys: str) -> None:
    text = f"search.engines = ['papers']\n[plugins.papers]\n{keys}\n"
    assert problems(tmp_path, text) == [
        "plugins: no plugin 'papers' is installed: for a second instance of a plugin, add use = \"local\" to "
        "[plugins.papers] (leadline.toml:3)",
        "search.engines: no plugin 'papers' is installed, and [plugins.papers] names none with `use` (leadline.toml:1)",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[plugins.tavly]\napi_key = 'x'", "did you mean 'tavily'? For a second instance of a plugin, add use = "),
        ("[plugins.qqq]\nno_such_key = 'x'", "no plugin 'qqq' is installed: see `leadline plugins`"),
        ("[plugins.house]\nuse = 'lcal'", "plugins.house.use: no plugin 'lcal' is installed: did you mean 'local'?"),
    ],
)
def test_an_unknown_section_is_reported_without_a_list_of_all_plugins(tmp_path: Path, text: str, told: str) -> None:
    found = " ".join(problems(tmp_path, text))
    assert told in found
    assert "wikipedia" not in found


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("leadline.toml", 'preset = "lean"\n\nengines = [\n  "a",\n\n[search]\n', "the value that begins in line 3"),
        ("leadline.toml", '# a title\n[report]\ntitle = """My\n\n[search]\n', "the value that begins in line 3"),
        ("leadline.toml", "[report]\ntitle = My title\n", "TOML: Invalid value (at line 2,"),
        ("leadline.toml", "[report]\n[report]\n", "TOML: Cannot declare ('report',) twice (at line 2,"),
        ("leadline.yaml", "search:\n  engines: [a,\n    b\nreport:\n  length: 3\n", "begins in line 2"),
    ],
)
def test_a_value_that_is_not_closed_is_reported_with_its_line(tmp_path: Path, name: str, text: str, told: str) -> None:
    (found,) = problems(tmp_path, text, name=name)
    assert told in found


@pytest.mark.parametrize("engines", ["auto", "wikipedia", "local,wikipedia"])
def test_a_misspelt_folder_of_an_option_is_an_error_whatever_engines_are_named(tmp_path: Path, engines: str) -> None:
    (tmp_path / "papers").mkdir()
    docs = [str(tmp_path / "paprs")]
    assert problems(tmp_path, docs=docs, sets=[f"search.engines={engines}"]) == [
        f"--docs: no such folder: {docs[0]} (did you mean 'papers'?)"
    ]


def test_a_misspelt_folder_beside_an_existing_one_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    docs = [str(tmp_path / "papers"), str(tmp_path / "letters")]
    assert problems(tmp_path, docs=docs) == [f"--docs: no such folder: {docs[1]}"]


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("claify", "did you mean 'clarify', the table of a plugin? (choose from: ai, "),
        ("serch", "did you mean 'search'? (choose from: ai, "),
        ("qqqqq", "qqqqq: unknown setting: choose from: ai, "),
    ],
)
def test_the_choices_for_an_unknown_table_include_those_of_plugins(tmp_path: Path, key: str, meant: str) -> None:
    (found,) = problems(tmp_path, f"[{key}]\nmode = 'ask'\n", docs=[str(tmp_path)])
    assert meant in found
    assert "or the table of a plugin: see `leadline plugins`" in found


class Pair(PluginSettings):
    """Settings of a plugin that checks two keys together."""

    low: int = 1
    high: int = 2

    @model_validator(mode="after")
    def _ordered(self) -> Pair:
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


def test_a_check_of_a_whole_section_is_reported_at_its_table(tmp_path: Path) -> None:
    engine = plugin("pair", search_provider("For a test", settings=Pair)(lambda: FakeSearch()))
    (tmp_path / "leadline.toml").write_text("[search]\nengines = ['pair']\n[plugins.pair]\nlow = 3\n")
    sources: dict[str, Any] = {"environ": {}, "user_file": tmp_path / "none.toml"}
    with pytest.raises(ConfigError, match=r"^plugins\.pair: low is above high"):
        load_settings(PluginCatalog.discover(extra=[engine]), cwd=tmp_path, **sources)


def test_a_folder_with_the_name_of_the_settings_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "leadline.toml").mkdir()
    with pytest.raises(ConfigError, match="leadline.toml cannot be read"):
        load_settings(PluginCatalog.discover(), cwd=tmp_path, environ={}, user_file=tmp_path / "none.toml")


@pytest.mark.parametrize("engine", ["openai", "tavily", "brave", "exa", "serper"])
@pytest.mark.parametrize("key", ["“key-abcdef”", "key-abcdef\u200b", "key-abcdef\nsecond line"])
def test_a_key_that_no_header_can_carry_stops_the_run_with_the_name_of_its_variable(
    tmp_path: Path, engine: str, key: str
) -> None:
    variable = f"{engine.upper()}_API_KEY"
    names = {"openai": "ai.providers=auto"}.get(engine, f"search.engines=wikipedia,{engine}")
    found = problems(tmp_path, environ={variable: key}, sets=[names])
    assert [line for line in found if "cannot work" not in line] == found[:1]
    assert found[0].startswith(f"plugins.{engine}.api_key: the value has a character that no header can carry: ")
    assert found[0].endswith(f"paste the key again (environment {variable})")
    assert "abcdef" not in found[0]


def test_a_key_of_a_plugin_that_the_run_does_not_use_stops_nothing(tmp_path: Path) -> None:
    environ = {"GEMINI_API_KEY": "“x”", "BRAVE_API_KEY": "“x”", "OPENAI_API_KEY": "sk-abcdef\n"}
    loaded = load_settings(
        PluginCatalog.discover(),
        cwd=tmp_path,
        environ=environ,
        sets=["search.engines=wikipedia"],
        user_file=tmp_path / "none.toml",
    )
    assert loaded.chosen["ai.providers"] == ("openai",)


NO_ADDRESS = "ai.providers: openai is set up, but cannot work: base_url 'api.example.org/v1' is not an address"


def test_a_model_that_the_environment_sets_up_and_that_cannot_work_is_a_notice(tmp_path: Path) -> None:
    environ = {"OPENAI_API_KEY": "sk-abcdef", "OPENAI_BASE_URL": "api.example.org/v1"}
    catalog = PluginCatalog.discover()
    loaded = load_settings(catalog, cwd=tmp_path, environ=environ, user_file=tmp_path / "none.toml")
    assert loaded.chosen["ai.providers"] == ("embedded",)
    assert [
        text for text in loaded.notices if text.startswith(NO_ADDRESS) and text.endswith("embedded is used instead")
    ]
    assert "is not an address" in loaded.dropped["openai"]


def test_a_model_that_is_set_up_and_that_auto_never_chooses_is_a_notice(tmp_path: Path) -> None:
    settings = tmp_path / "leadline.toml"
    settings.write_text("[plugins.gateway]\nuse = 'openai'\nbase_url = 'http://127.0.0.1:9/v1'\n")
    loaded = load_settings(PluginCatalog.discover(), cwd=tmp_path, environ={}, user_file=tmp_path / "none.toml")
    notice = "ai.providers: gateway is set up, but not chosen: to use it, --set ai.providers=gateway"
    assert notice in loaded.notices


@pytest.mark.parametrize("address", ["http://[::1", "127.0.0.1:8080", "ftp://a", "http://", "http://a b"])
def test_an_engine_without_a_usable_address_is_refused_before_the_run(tmp_path: Path, address: str) -> None:
    text = f"[search]\nengines = 'searxng'\n[plugins.searxng]\nbase_url = {address!r}\n"
    _, found = problems(tmp_path, text)
    assert f"searxng: base_url {address!r} is not an address" in found


def test_a_model_that_a_settings_file_names_and_that_cannot_work_is_an_error(tmp_path: Path) -> None:
    text = "[plugins.openai]\nbase_url = 'api.example.org/v1'\n"
    (found,) = problems(tmp_path, text, environ={"OPENAI_API_KEY": "sk-abcdef", "LEADLINE_TRUST": "1"})
    assert found.startswith(NO_ADDRESS)
    assert found.endswith("to do without it: --set ai.providers=embedded")
