"""The pipeline `auto`: the run continues with the pipeline that was chosen, in the same folder, journal and budget."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import leadline

FACT = "Who invented the shore power of European ports?"


@pytest.fixture(scope="module")
def world(tools: Any) -> Iterator[Any]:
    with tools.emulator() as world:
        yield world


def events(result: leadline.Result, kind: str) -> list[dict[str, Any]]:
    lines = map(json.loads, (result.folder / "events.jsonl").read_text().splitlines())
    return [line["data"] for line in lines if line["kind"] == kind]


async def test_rules_choose_and_the_run_says_so(tools: Any, world: Any, tmp_path: Path) -> None:
    async with tools.client(world, tmp_path, {"pipeline": "auto"}) as runs:
        result = await runs.research("Hello there!")
        again = await runs.replay(result.folder)
        resumed = await (await runs.resume(result.folder)).result()
    assert (result.status, result.reason) == ("complete", "")
    assert result.metadata.pipeline == "chat"
    assert result.metadata.choices[0] == "pipeline: chat (a greeting or small talk)"
    (route,) = events(result, "route")[:1]
    assert {"pipeline": "chat", "reason": "a greeting or small talk", "by": "rules"}.items() <= route.items()
    assert route["steps"][-1] == "export"
    assert "pipeline: chat (a greeting or small talk)" in [one["message"] for one in events(result, "notice")]
    assert [step.name for step in result.metadata.steps][:2] == ["route", "reply"]
    assert again.report == result.report
    assert resumed.report == result.report
    assert resumed.metadata.pipeline == "chat"
    (stored,) = [one for one in runs.runs() if one.id == result.folder.name]
    assert stored.pipeline == "chat"


async def test_a_model_chooses_where_no_rule_does(tools: Any, world: Any, tmp_path: Path) -> None:
    async with tools.client(world, tmp_path, {"pipeline": "auto"}) as runs:
        result = await runs.research("Is coffee good for the heart?")
        again = await runs.replay(result.folder)
    assert result.metadata.pipeline == "search"
    assert events(result, "route")[0]["by"] == "model"
    assert result.metadata.usage["by_task"]["route"]
    assert again.report == result.report


async def test_a_model_that_chooses_nothing_leaves_no_half_of_a_question_without_a_word(
    tools: Any, world: Any, tmp_path: Path
) -> None:
    # The model names a pipeline that the router does not have.
    settings = {"pipeline": "auto", "plugins.route.pipelines": ["chat", "requirements"]}
    async with tools.client(world, tmp_path, settings) as runs:
        result = await runs.research("Write the requirements for an app that books berths. Then research its market.")
    assert (result.status, result.metadata.pipeline) == ("complete", "requirements")
    notices = " ".join(map(str, result.metadata.notices))
    assert "no model chose a pipeline" in notices
    assert "left out: everything but a request for requirements" in notices


async def test_settings_of_the_user_hold_for_the_chosen_pipeline(tools: Any, world: Any, tmp_path: Path) -> None:
    own = {"pipeline": "auto", "research.first_queries": 1, "report.formats": ["json"]}
    async with tools.client(world, tmp_path, own) as runs:
        order = runs.order(FACT, set={"report.length": 100})
        result = await (await runs.run(order)).result()
    assert result.metadata.calls["search/alpha"] == 1
    stored = result.report
    assert stored
    assert len(str(stored.sections[0].text).split()) < 150
    assert not (result.folder / "report.md").exists()


async def test_without_a_model_the_rest_is_researched(tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "coffee.md").write_text("# Coffee\n\nCoffee is good for the heart in small amounts.\n")
    options: Any = {"docs": tmp_path / "papers", "folder": tmp_path / "runs", "cache": tmp_path / "cache"}
    async with leadline.Client(pipeline="auto", set={"ai.providers": ["embedded"]}, **options) as runs:
        result = await runs.research("Is coffee good for the heart?")
        refused = await runs.research("Hello!")
        unable = await runs.research("Calculate the sum of the squares of 1 to 100")
    assert (result.status, result.metadata.pipeline) == ("complete", "research")
    assert events(result, "route")[0]["by"] == "default"
    assert (refused.status, refused.exit_code) == ("failed", 64)
    assert refused.reason.startswith("only a language model answers a greeting or small talk, and none is set up: ")
    assert (unable.status, unable.exit_code) == ("failed", 78)
    assert unable.reason.startswith(
        "the pipeline code was chosen (a calculation that a program makes) and cannot run: "
    )
    assert "choose another pipeline" in unable.reason


async def test_own_documents_are_asked_once_there_are_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    handbook = tmp_path / "handbook.md"
    handbook.write_text("# Leave\n\nThe employee handbook allows thirty days of leave a year.\n")
    question = "How many days of leave does our handbook allow?"
    options: Any = {"docs": tmp_path, "folder": tmp_path / "runs", "cache": tmp_path / "cache", "pipeline": "auto"}
    async with leadline.Client(set={"ai.providers": ["embedded"]}, **options) as runs:
        assert (await runs.research(question)).metadata.pipeline == "research"
        await runs.knowledge.add(handbook)
    async with leadline.Client(set={"ai.providers": ["embedded"]}, **options) as runs:
        result = await runs.research(question)
        mixed = f"{question} And what do laws of other countries say?"
        half = await runs.research(mixed)
        order = runs.order(mixed, set={"search.engines": ["knowledge"]})
        whole = await (await runs.run(order)).result()
    assert (result.status, result.metadata.pipeline) == ("complete", "knowledge")
    assert "thirty days" in result.text
    assert "left out" not in " ".join(map(str, result.metadata.notices))
    assert half.metadata.pipeline == "knowledge"
    assert "left out: everything but a question about your own documents" in " ".join(map(str, half.metadata.notices))
    assert half.report
    assert "everything but" in json.dumps(half.report.metadata["method"])
    assert whole.metadata.pipeline == "research", "it reads the documents as well"
    assert "thirty days" in whole.text
