"""Looking at runs while they are worked on disturbs nobody."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import leadline
from leadline._runtime.journal import storage
from leadline.testing.fakes import fake_web

RUNS, TIMES = 10, 6
LIST = """
import sys
import leadline
client = leadline.Client(folder=sys.argv[1])
print(sum(run.status in ("running", "interrupted") for run in client.runs()), flush=True)
while True:
    client.runs()
"""


def leave_as_killed(run: Path) -> None:
    """Give a complete run the metadata of one whose process was killed at the end."""
    path = run / "metadata.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"status": "running", "ended": None}))


@pytest.mark.slow
async def test_no_resume_is_refused_while_another_process_lists_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "PATIENCE", 0)
    options = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "observers": []}
    plugins, folder = [fake_web()], tmp_path / "runs"
    async with leadline.Client(plugins=plugins, folder=folder, cache=tmp_path / "cache", set=options) as client:
        first = await client.research("How deep was the harbour measured at each sounding, in fathoms?")
        runs = [first.folder.with_name(f"{number:08}_20260101_000000") for number in range(RUNS)]
        for run in runs:
            shutil.copytree(first.folder, run)
            leave_as_killed(run)
        command = [sys.executable, "-c", LIST, str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path) as listing:
            try:
                assert listing.stdout
                assert int(listing.stdout.readline()) == RUNS
                for _ in range(TIMES):
                    for run in runs:
                        leave_as_killed(run)
                        result = await (await client.resume(run)).result()
                        assert result.status == "complete"
                assert listing.poll() is None
            finally:
                listing.kill()
