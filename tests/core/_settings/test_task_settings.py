"""Tasks named by the settings: what no plugin asks is refused; templates are read from their paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.settings_from import load_settings

import leadline
from leadline._hosting.catalog import PluginCatalog
from leadline._settings.load import Loaded
from leadline._settings.redaction import public
from leadline.errors import ConfigError, PluginError
from leadline.plugin import stage
from leadline.research_findings import QUESTION, Question, Review
from leadline.tasks import TaskKind
from leadline.testing.plugins import plugin

Load = Callable[..., Loaded]
POLISH = TaskKind("polish", Question, Review, "Polish it.")


def polisher(tasks: Any = (POLISH,)) -> Any:
    offer = stage("Polishes", needs=(QUESTION,), uses=tasks)(lambda: object())  # type: ignore[arg-type,return-value]
    return plugin("polisher", offer)


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Load settings over the built-in plugins and one of a stranger, in an empty folder."""
    host = PluginCatalog.discover(extra=[polisher()])

    def load(values: Mapping[str, Any], **more: Any) -> Loaded:
        nowhere = tmp_path / "none.toml"
        return load_settings(host, arguments=values, environ={}, cwd=tmp_path, user_file=nowhere, **more)

    return load


def fault(load: Load, values: Mapping[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        load(values)
    return str(caught.value)


@pytest.mark.parametrize("key", ["ai.tasks", "prompts"])
def test_a_task_that_nobody_asks_is_refused_with_the_nearest(load: Load, key: str) -> None:
    told = fault(load, {key: {"synthesise": "embedded"}})
    assert told.startswith(f"{key}.synthesise: no plugin asks a task of this name: did you mean 'synthesize'? (choose ")
    assert told.endswith(" (argument)")
    assert "polish" in told


def test_a_tool_that_nobody_has_is_refused_with_the_nearest(load: Load) -> None:
    told = fault(load, {"pipelines.mine": {"extends": "research", "tools": ["respond", "web_serach"]}})
    assert told.startswith(
        "pipelines.mine.tools: no plugin has a tool 'web_serach': did you mean 'web_search'? (choose "
    )


def test_a_file_is_named_with_its_line(load: Load, tmp_path: Path) -> None:
    (tmp_path / "leadline.toml").write_text('[ai.tasks]\nwirte = "embedded"\n')
    assert fault(load, {}).endswith("(leadline.toml:2)")


def test_tasks_of_plugins_that_are_not_chosen_wait_unread(load: Load) -> None:
    assert load({"prompts": {"polish": "Polish it well."}}).settings.prompts == {"polish": "Polish it well."}
    without = {"pipelines": {"mine": {"extends": "research", "without": ["chart"]}}, "pipeline": "mine"}
    assert load({**without, "ai.tasks": {"chart_plan": "embedded"}}).settings.ai.tasks["chart_plan"] == "embedded"


def test_nothing_more_is_imported_where_all_names_are_known(tmp_path: Path) -> None:
    point = polisher()
    host = PluginCatalog.discover(extra=[point])
    values = {"prompts.plan": "Plan it.", "pipelines.mine": {"extends": "research", "tools": ["web_search"]}}
    load_settings(host, arguments=values, environ={}, cwd=tmp_path, user_file=tmp_path / "x")
    assert id(point) not in host._loaded


@pytest.mark.parametrize("blank", ["{{ question }}", "{{anything}}", "{question}"])
def test_a_template_has_no_variables(load: Load, blank: str) -> None:
    loaded = load({"prompts": {"plan": f"Plan an answer to {blank}."}})
    assert loaded.notices == (
        f"prompts.plan: {blank} is sent as it is written: templates have no variables, the inputs are sent "
        "separately, as data; see `leadline prompts show plan` (argument)",
    )


@pytest.mark.parametrize(
    "text", ["Plan it.", 'Reply like {"a": {"b": 1}}.', "Write {sections} in braces.", "A set: {}."]
)
def test_other_braces_are_let_be(load: Load, text: str) -> None:
    assert load({"prompts": {"plan": text}}).notices == ()


def test_a_template_without_a_word_is_empty(load: Load, tmp_path: Path) -> None:
    (tmp_path / "leadline.toml").write_text('[prompts]\nplan = "{}"\n')
    assert fault(load, {}).startswith("prompts.plan: the template is empty: give the path of a template, or its text")
    (tmp_path / "leadline.toml").write_text("[prompts]\nplan = {}\n")
    assert fault(load, {}).startswith("prompts.plan: ")


def test_a_template_is_read_from_its_path(load: Load, tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("\ufeffPlan it in five sections.")
    (tmp_path / "leadline.toml").write_text('[prompts]\nplan = "plan.md"\n')
    loaded = load({})
    assert loaded.settings.prompts == {"plan": "Plan it in five sections.\n"}
    assert loaded.origins["prompts.plan"] == "leadline.toml:2"
    (tmp_path / "plan.md").unlink()
    assert load({}, stored=public(loaded.settings)).settings.prompts == loaded.settings.prompts


@pytest.mark.parametrize("name", ["plan.j2", "prompts/plan", "my plan"])
def test_a_file_is_a_template_whatever_its_name_ends_with(load: Load, tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("Plan it.")
    assert load({"prompts.plan": name}).settings.prompts == {"plan": "Plan it.\n"}


@pytest.mark.parametrize(
    "text", ["Plan it and/or outline it.", "Plan.", "列出计划/大纲。", "计划", "Plan the report." * 900, "Use v1.2"]
)
def test_a_line_of_text_is_no_path(load: Load, text: str) -> None:
    assert load({"prompts.plan": text}).settings.prompts == {"plan": text}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("plan.md", "prompts.plan: cannot read 'plan.md': No such file or directory: give the path of a template"),
        ("prompts/plan", "prompts.plan: cannot read 'prompts/plan': No such file or directory: give the path"),
        ("~nobody-here/plan", "prompts.plan: cannot read '~nobody-here/plan': "),
        ("plan.j2", "prompts.plan: cannot read 'plan.j2': No such file or directory: give the path of a template"),
        ("below/it", "prompts.plan: cannot read 'below/it': Is a directory: give the path of a template"),
        ("latin.txt", "prompts.plan: 'latin.txt' is no text in UTF-8"),
        (" \n", "prompts.plan: the template is empty: give the path of a template, or its text"),
    ],
)
def test_a_template_that_is_none_is_refused(load: Load, tmp_path: Path, said: str, told: str) -> None:
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    (tmp_path / "below" / "it").mkdir(parents=True)
    assert fault(load, {"prompts.plan": said}).startswith(told)


@pytest.mark.parametrize("tasks", [POLISH, (3,)])
def test_a_plugin_that_declares_something_else_is_refused(tasks: Any) -> None:
    host = PluginCatalog.discover([polisher(tasks)])
    with pytest.raises(PluginError, match=r"plugin 'polisher'.*: `uses.*`: input should be a"):
        host.load("polisher")


def test_every_task_of_ours_has_a_template_and_every_template_a_task() -> None:
    from leadline._settings.task_settings import declared
    from leadline_plugins import prompting

    ours = declared(PluginCatalog.discover().loadable())
    templates = {path.stem for path in (Path(prompting.__file__).parent / "data").glob("*.md")}
    # `guidelines` is a part of `synthesize`, and `reuse` asks with the template of `digest`.
    assert {one.task.name for one in ours} - {"reuse"} == templates - {"guidelines"}
    assert all(one.task.prompt for one in ours)


def test_the_name_is_public() -> None:
    assert leadline.TaskKind is TaskKind
