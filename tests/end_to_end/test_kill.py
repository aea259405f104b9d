"""kill -9 at random moments of whole runs: the same report, and nothing that had returned is asked again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_killed_run_resumes_to_the_same_report(tmp_path: Path) -> None:
    trials = 200
    script = Path(__file__).with_name("kills.py")
    command = [sys.executable, str(script), str(trials), "20260921", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1100, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts["begun"] == counts["ended"] == counts["same"] == trials, (counts, done.stderr[-2000:])
    assert counts["repeated"] == 0
    assert counts["kept"] > 0
