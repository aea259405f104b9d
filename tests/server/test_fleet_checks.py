"""`leadline doctor` checks what several machines share."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Checks = Callable[..., dict[str, dict[str, str]]]


@pytest.fixture
def doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Checks:
    """Return a function that runs it with settings of runs, and returns its findings by part."""
    from leadline.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "lengths.txt").write_text("A fathom is six feet.")

    def check(**runs: str) -> dict[str, dict[str, str]]:
        sets = [f"--set=runs.{name}={value}" for name, value in runs.items()]
        main(["doctor", "--json", "--docs", "docs", *sets])
        findings: list[dict[str, str]] = json.loads(capsys.readouterr().out)["findings"]
        return {finding["what"]: finding for finding in findings}

    return check


def test_a_database_that_is_away_is_named_with_the_setting(doctor: Checks) -> None:
    found = doctor(database="postgresql://leadline@127.0.0.1:1/leadline")
    assert found["database"]["state"] == "bad"
    assert "database leadline on 127.0.0.1" in found["database"]["detail"]
    assert "runs.database" in found["database"]["detail"]
    assert "files" not in found


def test_without_a_database_no_part_is_checked(doctor: Checks) -> None:
    assert {"database", "clock", "files", "live", "dispatcher"}.isdisjoint(doctor())


def test_one_machine_imports_nothing_of_a_fleet(tmp_path: Path) -> None:
    code = (
        "import sys, leadline_server.command, leadline_server.users, leadline_server.commands.worker\n"
        "from leadline.cli import main\n"
        "codes = [main(words.split()) for words in ('serve token list', 'usage', 'runs list', 'knowledge list')]\n"
        "parts = ('leadline_server.fleet', 'psycopg', 'temporalio', 'obstore')\n"
        "print(codes, [name for name in sys.modules if name.startswith(parts)])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[0, 0, 0, 0] []"


@pytest.mark.slow
def test_each_part_is_checked_on_its_own(doctor: Checks, postgres: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    url = postgres.database("doctor")
    found = doctor(database=url, live="192.0.2.1")
    states = {what: found[what]["state"] for what in ("database", "clock", "files", "live", "dispatcher")}
    assert states == {"database": "ok", "clock": "ok", "files": "ok", "live": "bad", "dispatcher": "bad"}
    assert "assign requested address" in found["live"]["detail"]
    assert doctor(database=url)["live"]["state"] == "note"  # 127.0.0.1
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "none")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    found = doctor(database=url, files="s3://bucket/runs")
    assert (found["database"]["state"], found["files"]["state"]) == ("ok", "bad")
    assert "the files of runs at s3://bucket/runs do not work" in found["files"]["detail"]
