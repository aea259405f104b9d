"""A few of the cuts and resumes of `cuts.py`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_streams_that_are_cut_are_whole_and_no_resume_is_refused() -> None:
    script = Path(__file__).with_name("cuts.py")
    done = subprocess.run([sys.executable, str(script), "60", "7", "32"], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    cuts, resumes = found["cuts"], found["resumes"]
    assert (cuts["differing"], resumes["refused"]) == ([], [])
    assert (cuts["cuts"] >= 60, cuts["kills"]) == (True, 3)
    assert [*resumes["looks over HTTP"]] == ["200"]
