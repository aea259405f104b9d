"""Tables that a source gives as a whole replace those of weaker sources; sections are merged key by key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from tests.settings_from import load_settings

from leadline._hosting.catalog import PluginCatalog
from leadline._settings.load import Loaded
from leadline._settings.redaction import public
from leadline._settings.schema import commented_toml
from leadline.plugin import PluginSettings, ai_provider
from leadline.testing.plugins import plugin

FILE = 'ai.roles = { thinking = "openai:big", task = "openai:small" }\n'
NONE: Mapping[str, str] = {}


class Chatty(PluginSettings):
    model: str = ""
    extra: dict[str, Any] = {}
    names: list[str] = []


def load(folder: Path, text: str = "", *, user: str = "", **more: Any) -> Loaded:
    (folder / "leadline.toml").write_text(text)
    (folder / "user.toml").write_text(user)
    offer = ai_provider("x", settings=Chatty)(lambda: cast("Any", None))
    catalog = PluginCatalog.discover(extra=[plugin("chatty", offer)])
    sources: dict[str, Any] = {"environ": {}, "user_file": folder / "user.toml", "complete": False} | more
    return load_settings(catalog, cwd=folder, **sources)


EMPTYINGS: list[tuple[dict[str, Any], str]] = [
    ({"sets": ["ai.roles={}"]}, "--set ai.roles"),
    ({"sets": ["ai={ roles = {} }"]}, "--set ai"),
    ({"environ": {"LEADLINE_AI__ROLES": "{}"}}, "environment LEADLINE_AI__ROLES"),
    ({"arguments": {"ai.roles": {}}}, "argument"),
    ({"arguments": {"ai": {"roles": {}}}}, "argument"),
]


@pytest.mark.parametrize(("sources", "origin"), EMPTYINGS)
@pytest.mark.parametrize("weaker", ["project", "user"])
def test_an_empty_table_replaces_the_table_of_a_file(
    tmp_path: Path, sources: dict[str, Any], origin: str, weaker: str
) -> None:
    files = {"text": FILE} if weaker == "project" else {"user": FILE}
    loaded = load(tmp_path, **files, **sources)
    assert loaded.settings.ai.roles == NONE
    assert loaded.origins["ai.roles"] == origin


ONE = "openai:one"
GIVEN: list[dict[str, Any]] = [
    {"sets": [f'ai.roles={{ task = "{ONE}" }}']},
    {"environ": {"LEADLINE_AI__ROLES": f'{{ task = "{ONE}" }}'}},
    {"arguments": {"ai.roles": {"task": ONE}}},
]


@pytest.mark.parametrize("sources", GIVEN)
def test_an_inline_table_replaces_the_whole_table_of_a_file(tmp_path: Path, sources: dict[str, Any]) -> None:
    assert load(tmp_path, FILE, **sources).settings.ai.roles == {"task": ONE}


@pytest.mark.parametrize(
    "sources",
    [
        {"sets": [f"ai.roles.task={ONE}"]},
        {"environ": {"LEADLINE_AI__ROLES__TASK": ONE}},
        {"arguments": {"ai.roles.task": ONE}},
    ],
)
def test_a_single_key_is_merged_into_the_table_of_a_file(tmp_path: Path, sources: dict[str, Any]) -> None:
    loaded = load(tmp_path, FILE, **sources)
    assert loaded.settings.ai.roles == {"thinking": "openai:big", "task": ONE}
    assert loaded.origins["ai.roles.thinking"] == "leadline.toml:1"
    assert loaded.origins["ai.roles.task"] != "leadline.toml:1"


def test_a_stronger_source_adds_to_a_table_that_was_replaced(tmp_path: Path) -> None:
    environ = {"LEADLINE_AI__ROLES": "{}"}
    loaded = load(tmp_path, FILE, environ=environ, sets=[f"ai.roles.task={ONE}"])
    assert loaded.settings.ai.roles == {"task": ONE}


def test_tables_of_two_files_are_merged_but_an_empty_one_replaces(tmp_path: Path) -> None:
    merged = load(tmp_path, '[ai.roles]\ntask = "openai:one"\n', user=FILE)
    assert merged.settings.ai.roles == {"thinking": "openai:big", "task": ONE}
    assert merged.origins["ai.roles.thinking"].endswith("user.toml:1")
    emptied = load(tmp_path, "ai.roles = {}\n", user=FILE)
    assert emptied.settings.ai.roles == NONE
    assert emptied.origins["ai.roles"] == "leadline.toml:1"


@pytest.mark.parametrize(
    ("sets", "money", "tokens"),
    [(["budget={ money = 1 }"], 1.0, 7), (["budget.money=1"], 1.0, 7)],
)
def test_a_section_is_merged_key_by_key(tmp_path: Path, sets: Sequence[str], money: float, tokens: int) -> None:
    budget = load(tmp_path, "[budget]\nmoney = 9\ntokens = 7\n", sets=sets).settings.budget
    assert (budget.money, budget.tokens) == (money, tokens)


def test_an_entry_of_a_table_is_replaced_as_a_whole(tmp_path: Path) -> None:
    text = "[ai.prices.big]\ninput = 1\ncached = 0.5\noutput = 2\n[ai.prices.small]\ninput = 1\noutput = 1\n"
    prices = load(tmp_path, text, sets=["ai.prices.big={ input = 3, output = 4 }"]).settings.ai.prices
    assert (prices["big"].input, prices["big"].cached) == (3, None)
    assert "small" in prices


def test_the_built_in_pipelines_stay(tmp_path: Path) -> None:
    text = '[pipelines.old]\nextends = "research"\n'
    new = {"extends": "research", "without": ["chart"]}
    loaded = load(tmp_path, text, arguments={"pipelines": {"mine": new}, "pipeline": "mine"})
    assert {"mine", "research"} <= loaded.settings.pipelines.keys()
    assert "old" not in loaded.settings.pipelines
    assert loaded.problems == ()


@pytest.mark.parametrize(
    "sources",
    [
        {"sets": ["plugins.chatty.extra={}"]},
        {"sets": ["chatty.extra={}"]},
        {"environ": {"LEADLINE_CHATTY__EXTRA": "{}"}},
        {"arguments": {"plugins.chatty.extra": {}}},
        {"arguments": {"chatty": {"extra": {}}}},
    ],
)
def test_a_table_of_a_plugin_is_replaced_and_its_section_is_merged(tmp_path: Path, sources: dict[str, Any]) -> None:
    text = 'ai.providers = ["chatty"]\n[chatty]\nmodel = "m"\nextra = { user = "me" }\n'
    section = load(tmp_path, text, **sources).settings.plugin("chatty")
    assert (section.model, section.extra) == ("m", NONE)


def test_a_section_of_a_plugin_given_inline_is_merged(tmp_path: Path) -> None:
    text = 'ai.providers = ["chatty"]\n[plugins.chatty]\nmodel = "m"\n'
    section = load(tmp_path, text, sets=['plugins.chatty={ extra = { user = "me" } }']).settings.plugin("chatty")
    assert (section.model, section.extra) == ("m", {"user": "me"})


def test_a_resumed_run_keeps_the_table_that_it_emptied(tmp_path: Path) -> None:
    stored = public(load(tmp_path, FILE, sets=["ai.roles={}"]).settings)
    assert load(tmp_path, FILE, stored=stored).settings.ai.roles == NONE


def test_headers_without_keys_set_nothing(tmp_path: Path) -> None:
    text = commented_toml(load(tmp_path).settings)
    user = '[pipelines.mine]\nextends = "research"\n[pipelines.research]\ntools = ["respond"]\n'
    loaded = load(tmp_path, text, user=user)
    assert loaded.settings.pipelines["research"].tools == ("respond",)
    assert not [key for key, origin in loaded.origins.items() if origin.startswith("leadline.toml")]


QUOTED = [
    ("report.title", '"My title"', "My title"),
    ("report.title", "'My \"own\" title'", 'My "own" title'),
    ("report.title", r'"caf\u00e9"', "café"),
    ("report.title", "plain", "plain"),
    ("report.title", '"A" and "B"', '"A" and "B"'),
    ("report.title", "it's", "it's"),
    ("report.title", '""', ""),
    ("report.title", "[draft] {x}", "[draft] {x}"),
    ("report.formats", '"json"', ("json",)),
    ("report.formats", '"json", "html"', ("json", "html")),
    ("report.formats", '["json"]', ("json",)),
    ("budget.money", '"3"', 3.0),
    ("preset", '"full"', "full"),
    ("verify.unsupported", "'drop'", "drop"),
    ("plugins.chatty.model", '"m:1"', "m:1"),
    ("plugins.chatty.names", '"a,b", "c"', ["a,b", "c"]),
    ("plugins.chatty.extra.user", '"me"', "me"),
]


@pytest.mark.parametrize("source", ["set", "environment"])
@pytest.mark.parametrize(("key", "text", "value"), QUOTED)
def test_quotes_are_those_of_toml(tmp_path: Path, key: str, text: str, value: Any, source: str) -> None:
    variable = f"LEADLINE_{key.upper().replace('.', '__')}"
    given: Any = {"sets": [f"{key}={text}"]} if source == "set" else {"environ": {variable: text}}
    found: Any = load(tmp_path, 'ai.providers = ["chatty"]\n', **given).settings
    for name in key.split("."):
        found = found[name] if isinstance(found, Mapping) else getattr(found, name)
    assert found == value


def test_a_second_instance_may_be_named_in_quotes(tmp_path: Path) -> None:
    loaded = load(tmp_path, sets=['plugins.mine.use="chatty"', "ai.providers=mine", 'plugins.mine.model="m"'])
    assert loaded.problems == ()
    assert loaded.settings.plugin("mine").use == "chatty"
