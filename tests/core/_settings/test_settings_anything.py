"""Whatever stands in the settings: they are read, or a `ConfigError` says what is wrong, and nothing else is raised."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from pydantic import SecretStr
from tests.settings_from import load_settings

from leadline._hosting.catalog import PluginCatalog
from leadline._settings.redaction import public
from leadline.errors import ConfigError, UsageError
from leadline.plugin import PluginSettings, fetcher, search_provider
from leadline.settings import Settings
from leadline.testing.plugins import plugin

SECTIONS = [name for name, field in Settings.model_fields.items() if hasattr(field.annotation, "model_fields")]
CORE = [f"{section}.{key}" for section in SECTIONS for key in Settings.model_fields[section].annotation.model_fields]  # type: ignore[union-attr]
KEYS = [
    *Settings.model_fields,
    *CORE,
    *(
        f"plugins.{name}{key}"
        for name in ("wiki", "second", "none", "my-own")
        for key in ("", ".use", ".api_key", ".x")
    ),
    *(f"limits.wiki{key}" for key in ("", ".at_once")),
    *(f"pipelines.{name}{key}" for name in ("research", "mine") for key in ("", ".extends", ".stages", ".after")),
    *("ai.roles.thinking", "ai.tasks.write", "search.engines.0", "..", "search."),
]
VALUES: list[Any] = [
    *(0, -1, 2.5, float("nan"), True, None, b"x", object(), "", "x", "auto", "wiki", "wiki,second", "日本", "\ud800"),
    *("[", "{", "[1, 2]", "{a = 1}", "['wiki']", ":", "wiki:x", "research", "a" * 9999),
    *([], ["wiki"], [None], [["a"]], {}, {"a": 1}, {1: 2}, {"x": {"y": {"z": [1]}}}),
    *({"loop": ["plan"]}, [{"loop": []}], ["plan", {"loop": ["query"], "at_most": 0}], {"write": ["x"]}),
]


class Wiki(PluginSettings):
    api_key: SecretStr
    headers: dict[str, str] = {}


@pytest.fixture(scope="module")
def host() -> PluginCatalog:
    env = {"api_key": "WIKI_KEY"}
    wiki = search_provider("x", settings=Wiki, env=env)(fetcher("x", settings=Wiki, env=env)(lambda: cast("Any", None)))
    return PluginCatalog.discover([plugin("wiki", wiki)])


@pytest.mark.parametrize("seed", range(150))
def test_anything_at_all(host: PluginCatalog, tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    sources: dict[str, dict[str, Any]] = {"arguments": {}, "sets": {}, "environ": {"WIKI_KEY": "k"}}
    for _ in range(chance.randint(1, 4)):
        key, value = chance.choice(KEYS), chance.choice(VALUES)
        source = chance.choice(list(sources))
        name = "LEADLINE_" + key.upper().replace(".", "__") if source == "environ" else key
        sources[source][name] = value if source == "arguments" else str(value)
    sets = [f"{key}={value}" for key, value in sources["sets"].items()]
    with suppress(ConfigError, UsageError):
        loaded = load_settings(
            host,
            arguments=sources["arguments"],
            sets=sets,
            environ=sources["environ"],
            cwd=tmp_path,
            user_file=tmp_path / "none",
            complete=False,
        )
        assert public(loaded.settings)["pipeline"] == loaded.settings.pipeline
