"""`plugins`, `config` and `doctor` say what is here, what is set, and what to do."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


def test_plugins_are_listed_with_what_they_lack(cli: Cli) -> None:
    header, *rows = cli("plugins", "list").out.splitlines()
    assert header.split() == ["NAME", "KIND", "FROM", "STATUS", "MISSING"]
    by_name = {row.split()[0]: row for row in rows}
    assert "search_providers, fetchers" in by_name["local"]
    assert "incomplete" in by_name["local"]
    assert by_name["local"].endswith("no folder is set: plugins.local.folders, or --docs DIR")
    assert by_name["embedded"].endswith("ready")


def test_a_plugin_with_its_settings_is_ready(cli: Cli, docs: Path) -> None:
    plugins = json.loads(cli("plugins", "list", "--json", "--set", "plugins.local.folders=docs").out)
    assert {plugin["name"]: plugin["status"] for plugin in plugins}["local"] == "ready"


def test_plugins_are_listed_by_kind(cli: Cli) -> None:
    plugins = json.loads(cli("plugins", "list", "--kind", "observers", "--json").out)
    assert {"jsonl", "terminal"} <= {plugin["name"] for plugin in plugins}
    assert all("observers" in plugin["kinds"] for plugin in plugins)


def test_settings_that_cannot_be_read_take_no_listing_away(cli: Cli) -> None:
    Path("leadline.toml").write_text("serch = 1\n")
    done = cli("plugins", "list")
    assert done.code == 0
    assert "embedded" in done.out
    assert "the settings cannot be read" in done.err


def test_a_plugin_is_shown_with_its_settings(cli: Cli) -> None:
    done = cli("plugins", "show", "local")
    words = " ".join(done.out.split())
    assert "search_providers: Your own documents in folders" in words
    assert "[plugins.local]" in words
    assert "refresh float" in words


def test_a_stage_is_shown_with_what_it_needs_and_gives(cli: Cli) -> None:
    data = json.loads(cli("plugins", "show", "fetch", "--json").out)
    assert data["offers"]["stages"]["over"] == "found"
    assert data["offers"]["stages"]["gives"] == "sources"
    assert data["offers"]["stages"]["may give"] == "unread"
    assert data["settings"] == {}


def test_a_stage_is_shown_with_optional_keys_tasks_and_tools(cli: Cli) -> None:
    stage = json.loads(cli("plugins", "show", "digest", "--json").out)["offers"]["stages"]
    assert (stage["gives"], stage["may give"]) == ("digest", "plan")
    assert stage["tasks"] == "digest"
    stage = json.loads(cli("plugins", "show", "explore", "--json").out)["offers"]["stages"]
    assert stage["tools"].split(", ")[0] == "respond"


def test_an_unknown_plugin_is_told_by_its_nearest(cli: Cli) -> None:
    done = cli("plugins", "show", "locl")
    assert done.code == 64
    assert "did you mean 'local'?" in done.err


def test_check_says_that_all_is_well(cli: Cli, docs: Path) -> None:
    done = cli("config", "check", "--docs", "docs")
    assert (done.code, done.out) == (0, "The settings are valid.\n")


def test_check_tells_a_stage_by_the_key_that_names_it(cli: Cli, docs: Path) -> None:
    mine = '[pipelines.mine]\nextends = "base"\n\n[pipelines.base]\nextends = "research"\nafter = { write = ["nay"] }\n'
    Path("leadline.toml").write_text(f'pipeline = "mine"\n{mine}')
    told = cli("config", "check", "--docs", "docs").err.splitlines()
    (problem,) = (line for line in told if "nay" in line)  # once, though both pipelines have it
    assert problem.startswith("leadline: pipelines.base.after.write: no plugin 'nay' is installed: ")
    assert problem.endswith("(leadline.toml:7)")


def test_check_lets_a_pipeline_be_that_nobody_wrote(cli: Cli) -> None:
    Path("leadline.toml").write_text(
        'pipeline = "mine"\n[search]\nengines = []\n[pipelines.mine]\nstages = ["clarify"]\n'
    )  # `research` would need an engine
    assert cli("config", "check").out == "The settings are valid.\n"


def test_init_writes_a_file_that_changes_nothing(cli: Cli, docs: Path) -> None:
    before = json.loads(cli("config", "show", "--docs", "docs", "--json").out)
    assert cli("config", "init").code == 0
    assert "[search]" in Path("leadline.toml").read_text()
    assert tomllib.loads(Path("leadline.toml").read_text())["search"] == {}
    after = json.loads(cli("config", "show", "--docs", "docs", "--json").out)
    assert {key: item["value"] for key, item in after.items()} == {key: item["value"] for key, item in before.items()}


def test_init_writes_over_nothing_unless_forced(cli: Cli) -> None:
    Path("leadline.toml").write_text("broken [")
    done = cli("config", "init")
    assert done.code == 64
    assert "use --force to overwrite it" in done.err
    assert Path("leadline.toml").read_text() == "broken ["
    assert cli("config", "init", "--force").code == 0
    assert tomllib.loads(Path("leadline.toml").read_text())


def test_init_into_a_folder_that_is_not_there(cli: Cli) -> None:
    done = cli("config", "init", "none/leadline.toml")
    assert done.code == 1
    assert "cannot write none/leadline.toml: No such file or directory" in done.err


def test_doctor_says_that_research_can_run(cli: Cli, docs: Path) -> None:
    done = cli("doctor", "--docs", "docs")
    assert done.code == 0
    assert "Ready for research." in done.out
    assert 'leadline research "How does …?" --docs=docs' in done.out


def test_doctor_says_what_to_do_first(cli: Cli) -> None:
    done = cli("doctor", "--set", "search.engines=local")
    assert done.code == 78
    assert "--docs FOLDER" in done.out
    assert done.out.splitlines()[-1].strip() == 'leadline research "How does …?" --docs FOLDER'


def test_doctor_says_how_to_give_an_engine_its_key(cli: Cli) -> None:
    done = cli("doctor", "--set", "search.engines=tavily")
    assert done.code == 78
    assert done.out.splitlines()[-1].strip() == "export TAVILY_API_KEY=…"


def test_a_setting_without_a_default_is_said_to_be_required(cli: Cli) -> None:
    key = json.loads(cli("plugins", "show", "tavily", "--json").out)["settings"]["api_key"]
    assert (key["required"], key["default"]) == (True, None)
    (line,) = (line for line in cli("plugins", "show", "tavily").out.splitlines() if "api_key  " in line)
    assert "  (required)  " in line


def test_doctor_finds_a_folder_that_cannot_be_written(cli: Cli, docs: Path) -> None:
    Path("file").write_text("")
    data = json.loads(cli("doctor", "--docs", "docs", "--folder", "file", "--json").out)
    bad = [finding for finding in data["findings"] if finding["state"] == "bad"]
    assert data["ready"] is False
    assert [finding["what"] for finding in bad] == ["runs folder"]


def test_doctor_of_broken_settings(cli: Cli) -> None:
    Path("leadline.toml").write_text("serch = 1\n")
    done = cli("doctor")
    assert done.code == 78
    assert "leadline config check" in done.out


@pytest.mark.parametrize("group", ["plugins", "prompts", "runs"])
def test_a_group_without_a_command_lists_its_items(cli: Cli, group: str) -> None:
    for options in ((), ("--json",)):
        assert cli(group, *options).out == cli(group, "list", *options).out
    assert "list" in cli(group, "--help").out


def test_a_second_instance_of_a_plugin_is_shown(cli: Cli) -> None:
    done = cli("plugins", "show", "wiki", "--set", "plugins.wiki.use=web")
    assert done.out.startswith("wiki: a second instance of web  (leadline ")
    assert "[plugins.wiki]" in done.out


def test_a_second_instance_is_shown_with_its_own_settings(cli: Cli) -> None:
    shown = ("plugins", "show", "second", "--set", "plugins.second.use=brave")
    lacking = cli(*shown).out
    assert "incomplete" in lacking
    assert "plugins.second.api_key is not set" in lacking
    assert "LEADLINE_PLUGINS__SECOND__API_KEY" in lacking
    assert "BRAVE_API_KEY" not in lacking
    done = cli(*shown, "--set", "plugins.second.api_key=a-key-of-its-own-12345")
    assert "incomplete" not in done.out
    assert "is not set" not in done.out


def test_types_are_told_without_what_checks_their_values(cli: Cli) -> None:
    out = cli("plugins", "show", "web").out
    assert "tuple[str, ...]" in out
    assert "<function" not in out


def test_a_folder_for_runs_that_is_a_file_is_refused(cli: Cli) -> None:
    Path("plain").touch()
    done = cli("research", "How deep is it?", "--folder", "plain")
    assert (done.code, done.err) == (64, "leadline: --folder plain: not a folder\n")


@pytest.mark.parametrize("limit", ["0", "-1", "x"])
def test_fewer_than_one_run_is_no_number(cli: Cli, limit: str) -> None:
    done = cli("runs", "list", f"--limit={limit}")
    assert done.code == 64
    assert f"'{limit}' is not a positive number" in done.err
