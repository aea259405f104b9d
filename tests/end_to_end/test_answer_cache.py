"""Cached answers of fast pipelines: hits, expiry, keys per principal, settings and conversation, two processes."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.records import Principal

QUESTION = "Why is the sky blue?"
ON = {"pipeline": "chat", "cache.answers": "300s"}
ROOT = Path(__file__).parents[2]
PROCESS = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import emulator_use

async def main():
    world = emulator_use.Emulator(int(sys.argv[2]))
    settings = {"pipeline": "chat", "cache.answers": "300s"}
    async with emulator_use.client(world, Path(sys.argv[3]), settings) as runs:
        result = await runs.research("Why is the sea salty?")
    print(result.status)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def world(tools: Any) -> Iterator[Any]:
    with tools.emulator() as world:
        yield world


def hit(result: leadline.Result) -> bool:
    assert (result.status, result.reason) == ("complete", "")
    found = any("answered from the cache" in notice for notice in result.metadata.notices)
    assert found != any(name.startswith("chat/") for name in result.metadata.calls)
    return found


async def test_the_same_question_is_answered_without_a_call(tools: Any, world: Any, tmp_path: Path) -> None:
    async with tools.client(world, tmp_path, ON) as runs:
        first, second = await runs.research(QUESTION), await runs.research(QUESTION)
        assert [hit(first), hit(second)] == [False, True]
        assert second.report == first.report
        assert (second.folder / "report.md").read_text() == (first.folder / "report.md").read_text()
        assert (await runs.replay(second.folder)).report == first.report
        kept = [line for line in (second.folder / "events.jsonl").read_text().splitlines() if "from the cache" in line]
        assert json.loads(kept[0])["kind"] == "notice"
        assert not hit(await runs.research("Why is the sea green?"))


async def test_it_is_off_by_default(tools: Any, world: Any, tmp_path: Path) -> None:
    async with tools.client(world, tmp_path, {"pipeline": "chat"}) as runs:
        assert [hit(await runs.research(QUESTION)) for _ in range(2)] == [False, False]


async def test_an_answer_expires(tools: Any, world: Any, tmp_path: Path) -> None:
    async with tools.client(world, tmp_path, ON | {"cache.answers": "1s"}) as runs:
        assert not hit(await runs.research(QUESTION))
        assert hit(await runs.research(QUESTION))
        await asyncio.sleep(1.1)
        assert not hit(await runs.research(QUESTION))


async def test_each_principal_has_answers_of_its_own(tools: Any, world: Any, tmp_path: Path) -> None:
    async with tools.client(world, tmp_path, ON) as runs:
        asked = [None, "ann", Principal(id="bob"), "ann", None]
        results = [await runs.research(QUESTION, principal=one) for one in asked]
    assert list(map(hit, results)) == [False, False, False, True, True]


@pytest.mark.parametrize(
    ("setting", "found"),
    [
        ({"report.formats": ["json"]}, True),
        ({"budget.tokens": 10_000}, True),
        ({"language": "en"}, False),
        ({"prompts": {"reply": "Answer in verse."}}, False),
        ({"ai.roles": {"thinking": "openai:other"}}, False),
    ],
)
async def test_only_settings_that_change_the_answer_count(
    tools: Any, world: Any, tmp_path: Path, setting: dict[str, Any], found: bool
) -> None:
    async with tools.client(world, tmp_path, ON) as runs:
        assert not hit(await runs.research(QUESTION))
    async with tools.client(world, tmp_path, ON | setting) as runs:
        assert hit(await runs.research(QUESTION)) == found


async def test_a_follow_up_is_another_question(tools: Any, world: Any, tmp_path: Path) -> None:
    async with tools.client(world, tmp_path, ON) as runs:
        first = await runs.research(QUESTION)
        assert not hit(await runs.research(QUESTION, follows=first.folder))


async def test_research_is_not_cached(tools: Any, world: Any, tmp_path: Path) -> None:
    async with tools.client(world, tmp_path, ON | {"pipeline": "oneshot"}) as runs:
        first, second = await runs.research(QUESTION), await runs.research(QUESTION)
    assert first.metadata.calls["chat/openai"] == second.metadata.calls["chat/openai"] == 1


async def test_two_processes_at_once_share_the_answers(tools: Any, world: Any, tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROCESS, str(ROOT / "tests" / "benchmarks"), str(world.port), str(tmp_path)]

    async def ask() -> str:
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        told, _ = await process.communicate()
        return told.decode().strip()

    assert set(await asyncio.gather(ask(), ask())) == {"complete"}
    async with tools.client(world, tmp_path, ON) as runs:
        assert hit(await runs.research("Why is the sea salty?"))
