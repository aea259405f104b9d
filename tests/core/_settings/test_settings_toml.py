"""The commented settings file: valid as it stands, and with every comment taken away the defaults again."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field, SecretStr
from tests.settings_from import load_settings

from leadline._hosting.catalog import PluginCatalog
from leadline._settings.load import compose
from leadline._settings.schema import commented_toml
from leadline.hookspecs import PluginSettings
from leadline.settings import Settings


class Wiki(PluginSettings):
    """A wiki of the house."""

    api_key: SecretStr = Field(description="Of the service account.")
    folders: list[str]
    words: dict[str, str] = {"a b": 'say "x"'}
    depth: int | None = None


def uncommented(text: str) -> dict[str, Any]:
    return tomllib.loads(re.sub(r"^# (?=[a-z_]+ = )", "", text, flags=re.MULTILINE))


@pytest.fixture(scope="module")
def defaults() -> Settings:
    nowhere = Path("/nonexistent")
    loaded = load_settings(PluginCatalog.discover(), cwd=nowhere, environ={}, user_file=nowhere, complete=False)
    return Settings.model_validate({**dict(loaded.settings), "plugins": {}})


def test_the_file_sets_nothing_as_it_is_written(defaults: Settings) -> None:
    def empty(table: Any) -> bool:
        return isinstance(table, dict) and all(map(empty, table.values()))

    assert empty(tomllib.loads(commented_toml(defaults)))


def test_without_its_comment_marks_it_is_the_defaults(defaults: Settings) -> None:
    plain = uncommented(commented_toml(defaults))
    assert Settings.model_validate({**plain, "plugins": {}}) == defaults
    for name in Settings.model_fields.keys() - {"plugins"}:
        assert name in plain


def test_every_key_has_its_description_once(defaults: Settings) -> None:
    first, *others = re.split(r"(?m)^\[pipelines\.\w+\]\n", commented_toml(defaults))
    pipelines = [text.partition("\n\n")[0] for text in others]
    keys = [line for line in f"{first}{others[0]}".splitlines() if re.match(r"# [a-z_]+ = ", line)]
    assert len(keys) > 50
    assert [line for line in keys if not re.search(r" # [\w{].*[.}]$", line)] == []
    assert pipelines[1:]
    assert all("# level = " in text or "# stages = " in text for text in pipelines[1:])
    assert [text for text in pipelines[1:] if "# without = []" in text] == []


def test_the_sections_of_plugins_stand_in_it() -> None:
    plugins = {"wiki": {"api_key": "", "folders": []}, "json": {}}
    text = commented_toml(compose(("wiki", Wiki), ("json", PluginSettings)).model_validate({"plugins": plugins}))
    assert "\n# A wiki of the house.\n[plugins.wiki]\n" in text
    assert re.search(r'^# api_key = "" +# Required\. Of the service account\.$', text, re.MULTILINE)
    assert uncommented(text)["plugins"]["wiki"] == {
        "api_key": "",
        "folders": [],
        "words": {"a b": 'say "x"'},
        "depth": "",
    }
    assert "[plugins.json]" not in text
