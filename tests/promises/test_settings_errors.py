"""A mistake in the settings is an error that names what is wrong, where it was set, and the nearest right name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import leadline

Cli = Callable[..., Any]


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        ("leadline.toml", "leadline.toml:2"),
        ("leadline.yaml", "leadline.yaml:2"),
        ("config/leadline/leadline.toml", "leadline.toml:2"),
        (".env", ".env LEADLINE_SEARCH__STRATEGI"),
        ("environment", "environment LEADLINE_SEARCH__STRATEGI"),
        ("--set", "--set search.strategi"),
    ],
)
def test_a_misspelt_key_has_its_origin_and_the_nearest_key(
    cli: Cli, own_folders: Path, monkeypatch: pytest.MonkeyPatch, source: str, origin: str
) -> None:
    option: list[str] = []
    variable = "LEADLINE_SEARCH__STRATEGI"
    match source:
        case "--set":
            option = ["--set", "search.strategi=race"]
        case "environment":
            monkeypatch.setenv(variable, "race")
        case ".env":
            Path(source).write_text(f"{variable}=race\n")
        case _:
            file = own_folders / source if "/" in source else Path(source)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("search:\n  strategi: race\n" if "yaml" in source else '[search]\nstrategi = "race"\n')
    for command in (["config", "check"], ["research", "How deep is it?"]):
        done = cli(*command, *option)
        assert (done.code, done.out) == (78, "")
        assert done.err.startswith(
            "leadline: search.strategi: unknown setting: did you mean 'strategy'? (choose from: "
        )
        assert done.err.endswith(f"{origin})\n")
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("serch = 1", "did you mean 'search'?"),
        ('[search]\nstrategy = "batsh"', "did you mean 'batch'?"),
        ("[search]\ntimeout = 0", "search.timeout"),
        ("[search", "leadline.toml"),
        ('pipeline = "mine"\n[pipelines.mine]\nstages = ["clarify", "write"]', "write"),
        ('[pipelines.mine]\nstages = ["clarify", "write"]', "pipeline 'mine': stage 'write' needs"),
        (
            '[pipelines.mine]\nextends = "research"\nbefore = { plan = ["verify"] }',
            "'write' gives it, but runs later",
        ),
        (
            '[pipelines.mine]\nextends = "research"\n\nafter = { write = ["verifi"] }',
            "pipelines.mine.after.write: no plugin 'verifi' is installed: did you mean 'verify'?",
        ),
        (
            '[pipelines.mine]\nextends = "research"\nreplace = { search = ["local"] }',
            f"pipelines.mine.replace.search: plugin 'local' (leadline {leadline.__version__}) is not among the stages",
        ),
        ('[ai.roles]\nthinking = "embedded:"', "ai.roles.thinking: there is no model after the colon"),
        ('[ai.tasks]\nwrite = "embedded: "', "write embedded:MODEL, or embedded for its default model"),
        ('[ai]\nembedder = "static:"', "ai.embedder: there is no model after the colon"),
    ],
)
def test_check_names_what_is_wrong(cli: Cli, settings: str, told: str) -> None:
    Path("leadline.toml").write_text(settings)
    done = cli("config", "check")
    assert done.code == 78
    assert told in done.err
    assert done.out == ""


def test_all_mistakes_are_reported_at_once(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("leadline.toml").write_text("[search]\nresults_per_query = 0\n[plugins.wikipedia]\nlanguag = 'en'\n")
    monkeypatch.setenv("LEADLINE_BUDGET__MONEY", "much")
    done = cli("config", "check", "--set", "search.engines=wikipedia,wikipdia")
    lines = [line.removeprefix("leadline:").strip() for line in done.err.splitlines()]
    assert {line.partition(":")[0]: line.rpartition("(")[2] for line in lines} == {
        "search.results_per_query": "leadline.toml:2)",
        "plugins.wikipedia.languag": "leadline.toml:4)",
        "budget.money": "environment LEADLINE_BUDGET__MONEY)",
        "search.engines": "--set search.engines)",
    }


def test_every_setting_is_shown_with_its_origin(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("leadline.toml").write_text("[search]\nresults_per_query = 7\n")
    monkeypatch.setenv("LEADLINE_BUDGET__MONEY", "1.5")
    done = cli("config", "show", "--set", "language=en")
    assert done.code == 0
    rows = {tuple(line.split(maxsplit=1)) for line in done.out.splitlines()}
    shown = {key: " ".join(rest.split()) for key, rest in rows}
    assert shown["search.results_per_query"] == "leadline.toml:2 7"
    assert shown["budget.money"] == "environment LEADLINE_BUDGET__MONEY 1.5"
    assert shown["language"] == "--set language en"
    assert shown["search.strategy"] == "default batch"
    values = json.loads(cli("config", "show", "--json").out)
    assert values["budget.money"] == {"value": 1.5, "origin": "environment LEADLINE_BUDGET__MONEY"}


def test_secrets_are_masked(cli: Cli, install_secret: None) -> None:
    done = cli("config", "show", "--set", "search.engines=vault", "--json")
    assert json.loads(done.out)["plugins.vault.api_key"]["value"] == "********"
    assert "s3cret-key-of-the-vault" not in done.out + done.err


@pytest.fixture
def install_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a plugin with a key, and set it."""
    info = tmp_path / "vault-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vault\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[leadline.v2]\nvault = vault_plugin\n")
    (tmp_path / "vault_plugin.py").write_text(
        "from pydantic import SecretStr\n"
        "from leadline.plugin import PluginSettings, search_provider\n"
        "class Settings(PluginSettings):\n"
        "    api_key: SecretStr\n"
        "@search_provider('A vault', settings=Settings, env={'api_key': 'VAULT_KEY'}, priced=True)\n"
        "class Vault: pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("VAULT_KEY", "s3cret-key-of-the-vault")


def test_a_missing_key_is_named_with_its_variable(
    cli: Cli, install_secret: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VAULT_KEY")
    row = next(row for row in cli("plugins", "list").out.splitlines() if row.startswith("vault"))
    assert "incomplete" in row
    assert "set VAULT_KEY, or plugins.vault.api_key in leadline.toml" in row
    assert "environment  VAULT_KEY (api_key)" in cli("plugins", "show", "vault").out
