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
