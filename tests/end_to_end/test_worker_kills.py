"""kill -9 and SIGSTOP of workers at random moments: every run ends like the undisturbed one, and repeats nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def trial(kills: str, seed: str, folder: Path, *where: str) -> Any:
    command = [sys.executable, str(Path(__file__).with_name("worker_kills.py")), kills, seed, str(folder), *where]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3500, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_killed_and_paused_workers_lose_and_repeat_nothing(tmp_path: Path) -> None:
    counts = trial("100", "20261128", tmp_path)
    assert counts["kills"] + counts["pauses"] == 100, counts
    assert counts["as undisturbed"] == counts["runs"], counts
    assert (counts["repeated"], counts["problems"]) == (0, []), counts
    assert counts["returned"] > 0
    assert counts["in flight, made again"] <= counts["in flight"]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_workers_that_wake_up_late_begin_no_call_that_returned_and_write_nothing(tmp_path: Path) -> None:
    counts = trial("50", "20261129", tmp_path, "wakes")
    assert counts["pauses"] == 50, counts
    assert counts["as undisturbed"] == counts["runs"], counts
    assert (counts["repeated"], counts["begun after the takeover"], counts["written after the takeover"]) == (0, 0, 0)
    assert (counts["wrong events"], counts["problems"]) == (0, []), counts
    assert counts["paused in a transaction"] < 50, counts
    assert counts["in flight, made again"] <= counts["in flight"]
