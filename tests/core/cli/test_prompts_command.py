"""`prompts` lists what models are told, and shows where each template comes from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leadline_plugins import prompting
from leadline_plugins.prompting.inputs import template

Cli = Callable[..., Any]
TEMPLATES = Path(prompting.__file__).parent / "data"


def listed(cli: Cli, *argv: str) -> dict[str, dict[str, str]]:
    return {row["task"]: row for row in json.loads(cli("prompts", "list", "--json", *argv).out)}


def test_tasks_are_listed_with_who_asks_and_where_the_template_is(cli: Cli) -> None:
    header, *rows = cli("prompts", "list").out.splitlines()
    assert header.split() == ["TASK", "ASKED", "BY", "ROLE", "INPUTS", "REPLY", "TEMPLATE", "FROM"]
    assert {row.split()[0] for row in rows} - {"reuse"} == {path.stem for path in TEMPLATES.glob("*.md")} - {
        "guidelines"
    }
    tasks = listed(cli)
    assert tasks["synthesize"]["asked_by"] == "prose"
    assert tasks["synthesize"]["role"] == "thinking"
    assert {row["template_from"] for row in tasks.values()} == {"built-in"}


def test_a_template_of_the_settings_is_told_with_its_place(cli: Cli) -> None:
    Path("house.md").write_text("Plan it our way.")
    Path("leadline.toml").write_text('[prompts]\nplan = "house.md"\n')
    assert listed(cli)["plan"]["template_from"] == "leadline.toml:2"
    done = cli("prompts", "show", "plan")
    assert done.code == 0
    assert "Plan it our way." in done.out
    assert "template from leadline.toml:2" in done.out


def test_a_prompt_is_shown_as_a_model_reads_it(cli: Cli) -> None:
    whole = template("synthesize").replace("{guidelines}", template("guidelines").strip()).strip()
    out = cli("prompts", "show", "synthesize").out
    head, system, user = re.split(r"\n\n--- (?:system|user) ---\n", out)
    assert head == "synthesize  (asked by prose, role thinking, template from built-in)"
    assert system.startswith(whole)
    assert system.index("like this example") < system.index("It must match this schema")
    assert user.startswith("<data>\nQuestion: {text}\n")
    assert 'prompts.synthesize = "FILE.md"' in user
    data = json.loads(cli("prompts", "show", "synthesize", "--json").out)
    assert data["template"] == whole
    assert [message["text"] for message in data["messages"]] == [system, user.partition("\n\nReply: ")[0]]
    assert json.dumps(data["schema"], ensure_ascii=False) in system
    assert data["example"] in system


def test_without_a_name_all_prompts_are_shown(cli: Cli) -> None:
    out = cli("prompts", "show").out
    assert all(f"\n{name}  (asked by " in f"\n{out}" for name in listed(cli))


def test_a_template_with_variables_is_noted(cli: Cli) -> None:
    Path("leadline.toml").write_text('[prompts]\nplan = "Plan {{ question }}."\n')
    told = "note: prompts.plan: {{ question }} is sent as it is written: templates have no variables"
    assert told in cli("prompts", "show", "plan").err
    assert told in cli("config", "check").err


def test_an_unknown_task_is_told_by_its_nearest(cli: Cli) -> None:
    done = cli("prompts", "show", "rotue")
    assert done.code == 64
    assert "no such task: 'rotue'; did you mean 'route'?" in done.err


def test_settings_that_cannot_work_take_no_listing_away(cli: Cli) -> None:
    done = cli("prompts", "list", "--set", "prompts.rotue=x")
    assert done.code == 0
    assert "no plugin asks a task of this name: did you mean 'route'?" in done.err


_TERSE = """
from leadline.plugin import Record, TaskKind, stage

class Asked(Record):
    text: str

@stage("Asks tersely", uses=(TaskKind("terse_ask", Asked, Asked),))
class Terse: pass
"""


def test_a_task_whose_records_have_no_docstring_is_shown(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, "terse", _TERSE)
    done = cli("prompts", "show", "terse_ask")
    assert done.code == 0
    assert '"text": "{text}"' in done.out
    assert '"required": ["text"]' in done.out


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, source: str) -> None:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[leadline.v2]\n{name} = {name}_plugin\n")
    (folder / f"{name}_plugin.py").write_text(source)
    monkeypatch.syspath_prepend(str(folder))


def test_a_part_of_a_template_is_replaced_where_the_template_has_its_name(cli: Cli) -> None:
    own = "- Give amounts in euros."
    out = cli("prompts", "show", "synthesize", "--set", f"prompts.guidelines={own}").out
    assert f"\n{own}\n" in out
    assert "Join sources" not in out
    assert "Of its part guidelines, set prompts.guidelines." in out
    both = ("--set", f"prompts.guidelines={own}", "--set", "prompts.synthesize=Write it. {guidelines} Cite it.")
    assert f"Write it. {own} Cite it." in cli("prompts", "show", "synthesize", *both).out


def test_a_part_that_no_template_has_is_refused(cli: Cli) -> None:
    unused = ("--set", "prompts.guidelines=- Be short.", "--set", "prompts.synthesize=Write the sections.")
    done = cli("config", "check", *unused)
    assert done.code == 78
    assert "prompts.guidelines: it is not used, because prompts.synthesize has no {guidelines}" in done.err
    assert "did you mean 'guidelines'?" in cli("config", "check", "--set", "prompts.guidelnes=- Be short.").err
