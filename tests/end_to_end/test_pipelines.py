"""The built-in pipelines against the emulator."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import leadline

FORMATS = {"report.formats": ["markdown", "html", "json"]}


@pytest.fixture(scope="module")
def world(tools: Any) -> Iterator[Any]:
    with tools.emulator() as world:
        yield world


def events(result: leadline.Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (result.folder / "events.jsonl").read_text().splitlines()]


def chats(result: leadline.Result) -> Counter[str]:
    done = [line["data"] for line in events(result) if line["kind"] == "call.finished"]
    return Counter(data["task"] for data in done if data["kind"] == "chat")


async def run(tools: Any, world: Any, folder: Path, pipeline: str, question: str, **more: Any) -> leadline.Result:
    settings = FORMATS | {"pipeline": pipeline} | {key.replace("__", "."): value for key, value in more.items()}
    async with tools.client(world, folder, settings) as runs:
        told = await runs.estimate(question)
        result: leadline.Result = await runs.research(question)
        assert (result.status, result.reason) == ("complete", "")
        assert result.metadata.pipeline == pipeline
        for one in told.tasks:
            assert chats(result)[one.task] == one.calls or not one.model, one
        assert (await runs.replay(result.folder)).report == result.report
    return result


async def test_chat_answers_in_one_call(tools: Any, world: Any, tmp_path: Path) -> None:
    result = await run(tools, world, tmp_path, "chat", "Why is the sky blue?")
    assert chats(result) == {"reply": 1}
    written = (result.folder / "report.md").read_text()
    assert written.startswith("# Why is the sky blue?\n\n## Answer\n\nStep 1 about: Why is the sky blue.")
    assert "Sources" not in written
    deltas = [line for line in events(result) if line["kind"] == "call.delta"]
    assert not deltas, "nobody follows the run, so nothing is streamed"


async def test_a_followed_answer_is_streamed_as_text(tools: Any, world: Any, tmp_path: Path) -> None:
    async with tools.client(world, tmp_path, {"pipeline": "chat"}) as runs:
        handle = await runs.start("Why is the sky blue?")
        told = [str(event.data["said"]) async for event in handle.events() if event.kind == "call.delta"]
        result = await handle.result()
    assert result.report
    assert "".join(told).strip() == result.report.sections[0].text


async def test_thinking_keeps_every_step(tools: Any, world: Any, tmp_path: Path) -> None:
    result = await run(tools, world, tmp_path, "thinking", "Should a small town buy its own power grid?")
    steps = ["problem", "perspectives", "reasoning", "reflection", "conclusion"]
    assert chats(result) == {f"think_{step}": 1 for step in steps}
    names = [path.name for path in sorted((result.folder / "thinking").iterdir())]
    assert names == [f"{number}-{step}.md" for number, step in enumerate(steps, start=1)]
    assert result.report
    assert [one.id for one in result.report.sections] == ["answer", *steps[:-1]]
    assert "builds on problem and perspectives and reasoning and reflection" in str(result.report.sections[0].text)
    assert [one["id"] for one in json.loads((result.folder / "thoughts.json").read_text())] == steps
    told = [line["data"]["step"] for line in events(result) if line["kind"] == "message"]
    assert told == steps


async def test_steps_of_thinking_can_be_left_out(tools: Any, world: Any, tmp_path: Path) -> None:
    result = await run(tools, world, tmp_path, "thinking", "Should it?", plugins__think__steps=["reasoning"])
    assert chats(result) == {"think_reasoning": 1, "think_conclusion": 1}


async def test_requirements_are_a_document_and_data(tools: Any, world: Any, tmp_path: Path) -> None:
    result = await run(tools, world, tmp_path, "requirements", "We want a bot that answers visitors of our museum.")
    assert chats(result) == {"requirements": 1}
    written = (result.folder / "report.md").read_text()
    headings = [line.removeprefix("## ") for line in written.splitlines() if line.startswith("## ")]
    assert headings == ["Summary", "Goals", "Users", "Functions", "Constraints", "Open questions"]
    assert "| F1 | Search | Search for We want a bot" in written
    assert json.loads((result.folder / "requirements.json").read_text())["users"][0]["name"] == "Visitors"


async def test_search_answers_in_two_calls_and_has_every_claim_judged_three_a_call(
    tools: Any, world: Any, tmp_path: Path
) -> None:
    result = await run(tools, world, tmp_path, "search", tools.question())
    claims: Any = result.metadata.verification["claims"]
    assert sum(claims.values()) > 3
    assert "not_judged" not in claims
    assert chats(result) == {"query": 1, "synthesize": 1, "verify_claim": -(-sum(claims.values()) // 3)}
    assert result.metadata.iterations == 1
    assert result.metadata.calls["search/alpha"] == 3
    assert result.metadata.citations["cited"]


async def test_oneshot_searches_once_and_calls_once(tools: Any, world: Any, tmp_path: Path) -> None:
    result = await run(tools, world, tmp_path, "oneshot", tools.question())
    assert chats(result) == {"synthesize": 1}
    assert result.metadata.calls["search/alpha"] == 1
    assert result.metadata.citations["cited"]


@pytest.mark.parametrize("pipeline", ["chat", "thinking", "requirements", "search", "oneshot"])
async def test_every_pipeline_continues_an_earlier_run(tools: Any, world: Any, tmp_path: Path, pipeline: str) -> None:
    async with tools.client(world, tmp_path, {"pipeline": pipeline, "report.formats": ["json"]}) as runs:
        first = await runs.research(tools.question())
        again = await runs.research("And what does it cost?", follows=first.folder)
    assert (again.status, again.reason) == ("complete", "")
    assert json.loads((again.folder / "conversation.json").read_text())["turns"]
