"""kill -9 at random moments: nothing that returned is paid for again, and the run ends as an undisturbed one."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("killed_run.py")
ROOT = Path(__file__).parents[4]


def trials(count: int, seed: int) -> list[dict[str, Any]]:
    command = [sys.executable, "-W", "error", str(SCRIPT), str(count), str(seed)]
    path = {"PYTHONPATH": f"{ROOT / 'core'}:{ROOT / 'plugins'}"}
    done = subprocess.run(command, capture_output=True, env=path, timeout=600)
    assert done.returncode == 0, done.stderr.decode()
    results: list[dict[str, Any]] = json.loads(done.stdout)
    return results


def check(results: list[dict[str, Any]]) -> None:
    assert sum(result["kills"] for result in results) > len(results) / 2, "too few runs were hit at work"
    assert [result["repeated"] for result in results] == [[]] * len(results)
    assert all(result["same"] for result in results)
    assert all(result["replayed"] for result in results)


def test_a_few_killed_runs_are_resumed_without_repeating_a_call() -> None:
    check(trials(15, seed=1))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_200_killed_runs_are_resumed_without_repeating_a_call() -> None:
    check(trials(200, seed=2))
