"""The stage `explore` over the emulator: a model searches and reads with tools, is masked, is killed and resumed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import leadline

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
STAGES = ["clarify", "plan", "explore", "extract", "synthesize", "write", "verify", "audit", "export"]
EXPLORING: dict[str, Any] = {"pipeline": "exploring", "pipelines.exploring.stages": STAGES}


@pytest.fixture
def world(tools: Any) -> Iterator[Any]:
    with tools.emulator() as started:
        yield started


def calls_of(result: leadline.Result) -> Counter[str]:
    """Return how many chats each task took."""
    lines = map(json.loads, (result.folder / "events.jsonl").read_text().splitlines())
    done = [line["data"] for line in lines if line["kind"] == "call.finished"]
    return Counter(data["task"] for data in done if data["kind"] == "chat")


async def test_pages_read_with_tools_become_the_report(tools: Any, world: Any, tmp_path: Path) -> None:
    async with tools.client(world, tmp_path, EXPLORING) as runs:
        told = await runs.estimate(tools.question())
        result = await runs.research(tools.question())
        again = await runs.replay(result.folder)
    assert (result.status, result.metadata.notices) == ("complete", ()), result.reason
    assert calls_of(result)["explore"] == 3
    assert (result.metadata.calls["query/batch"], result.metadata.calls["read/read"]) == (5, 10)
    assert result.report
    assert len(result.report.sources) == 10
    assert result.metadata.verification
    assert not result.metadata.verification["unknown_ids"]
    assert again.report == result.report
    assert max(world.tally()["asked"].values()) == 1
    by_task: Any = result.metadata.usage["by_task"]
    (one,) = (one for one in told.tasks if one.task == "explore")
    assert 0.6 < by_task["explore"]["tokens"] / (one.input_tokens + one.output_tokens) < 1.4


@pytest.mark.slow
async def test_a_recorded_exploration_is_gone_through_again(tools: Any, world: Any, tmp_path: Path) -> None:
    async with tools.client(world, tmp_path, EXPLORING) as runs:
        first = await runs.research(tools.question())
    world.behave()
    recorded = EXPLORING | {"ai.providers": ["recorded"], "plugins.recorded.run": str(first.folder)}
    async with tools.client(world, tmp_path, recorded) as runs:
        again = await runs.research(tools.question())
    assert (again.status, again.metadata.notices) == ("complete", ())
    assert again.text == first.text
    assert not world.tally()["asked"]


async def test_each_round_of_a_loop_explores_what_was_missing(tools: Any, world: Any, tmp_path: Path) -> None:
    rounds = {"loop": ["explore", "extract", "digest", "review"], "at_most": 3}
    looped = EXPLORING | {"pipelines.exploring.stages": [*STAGES[:2], rounds, *STAGES[4:]]}
    async with tools.client(world, tmp_path, looped) as runs:
        result = await runs.research(tools.question())
    assert (result.status, result.metadata.notices, result.metadata.iterations) == ("complete", (), 2)
    found = json.loads((result.folder / "search_results.json").read_text())
    assert [one["id"] for one in found] == ["q1.1", "q1.2", "q1.3", "q1.4", "q1.5", "q2.1", "q2.2"]
    assert result.report
    assert len(result.report.sources) == 14


async def test_the_guard_stands_before_what_a_model_wants_to_read(tools: Any, world: Any, tmp_path: Path) -> None:
    async with tools.client(world, tmp_path, EXPLORING | {"plugins.web.allow": []}) as runs:
        result = await runs.research(tools.question())
    assert result.status == "failed"
    assert not [path for path in world.tally()["served"] if path.startswith("/page")]


async def test_a_mask_of_the_pipeline_is_kept(tools: Any, world: Any, tmp_path: Path) -> None:
    masked = EXPLORING | {"pipelines.exploring.tools": ["respond", "web_search"]}
    async with tools.client(world, tmp_path, masked) as runs:
        result = await runs.research(tools.question())
    assert (result.status, result.report) == ("no_evidence", None)
    assert calls_of(result)["explore"] == 3
    assert "read/read" not in result.metadata.calls


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_killed_at_any_moment_no_reply_that_was_kept_is_paid_again(world: Any, tmp_path: Path) -> None:
    world.behave(first_token=0.05, tokens_per_second=4000, search=0.02, page=0.02)
    script = Path(__file__).with_name("model_kills.py")
    command = [sys.executable, str(script), "30", "20261122", str(tmp_path), str(world.port), json.dumps(EXPLORING)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=550, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts["begun"] == counts["ended"] == 30, (counts, done.stderr[-2000:])
    assert counts["kept"] > 0
    assert counts["repeated"] == 0
