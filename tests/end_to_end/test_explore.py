"""The stage `explore` over the emulator: a model searches and reads with tools, is masked, is killed and resumed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

STAGES = ["clarify", "plan", "explore", "extract", "synthesize", "write", "verify", "audit", "export"]
EXPLORING: dict[str, Any] = {"pipeline": "exploring", "pipelines.exploring.stages": STAGES}


@pytest.fixture
def world(tools: Any) -> Iterator[Any]:
    with tools.emulator() as started:
        yield started


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
