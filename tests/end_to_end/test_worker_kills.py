"""kill -9 and SIGSTOP of workers at random moments: every run ends like the undisturbed one, and repeats nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.server.queue.cluster import programs

_POSTGRES = pytest.mark.skipif(
    programs() is None or find_spec("psycopg") is None, reason="needs Debian's postgresql and psycopg"
)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("where", [[], pytest.param(["postgres", "5"], marks=_POSTGRES)], ids=["sqlite", "postgres"])
def test_killed_and_paused_workers_lose_and_repeat_nothing(where: list[str], tmp_path: Path) -> None:
    script = Path(__file__).with_name("worker_kills.py")
    command = [sys.executable, str(script), "100", "20261128", str(tmp_path), *where]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3500, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts["kills"] + counts["pauses"] == 100, counts
    assert counts["as undisturbed"] == counts["runs"], counts
    assert (counts["repeated"], counts["problems"]) == (0, []), counts
    assert counts["returned"] > 0
    assert counts["in flight, made again"] <= counts["in flight"]
