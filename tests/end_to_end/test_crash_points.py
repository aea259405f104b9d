"""A run that is killed at any commit ends as the undisturbed one, with nothing to spare in its budgets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("case", ["brief", "model"])
def test_a_run_killed_at_a_commit_resumes_to_the_same_status_report_and_counts(case: str, tmp_path: Path) -> None:
    script = Path(__file__).with_name("crash_points.py")
    command = [sys.executable, str(script), str(tmp_path), case, "all"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3500, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    calm, *rows = map(json.loads, done.stdout.splitlines())
    assert calm["undisturbed"] == "complete"
    begun = [row for row in rows if row["begun"]]
    assert len(begun) >= len(rows) - 4, "a run has begun after two commits"
    wrong = [row for row in begun if not (row["status"] == "complete" and row["same"])]
    assert not wrong, wrong[:5]
    assert not any(row["repeated"] for row in begun), "a call that had returned was made again"
    assert all(row["budget"] == calm["budget"] for row in begun)
    assert len(rows) >= calm["commits"]
