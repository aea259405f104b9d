"""Runs on disk: names, atomic files, listing, finding and deleting; `explain` and `research_sync`."""

from __future__ import annotations

import errno
import os
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline._runtime.journal.journal import Journal
from leadline._runtime.journal.lock import resume_command
from leadline._runtime.journal.storage import storage_error
from leadline._runtime.runs.folder import delete_run, find_run, folder_name, path_inside, write_atomically
from leadline._runtime.runs.index import RunIndex
from leadline.errors import LeadlineError, UsageError
from leadline.testing.fakes import fake_web

WEB = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"]}


async def journal(folder: Path) -> Journal:
    return await Journal.open(folder / "journal.sqlite")


async def test_runs_are_found_by_the_beginning_of_their_name(tmp_path: Path) -> None:
    for name in ("abc1_20260101_000000", "abd2_20260101_000000"):
        await (await journal(tmp_path / name)).close()
    assert find_run(tmp_path, "abc").name == "abc1_20260101_000000"
    assert find_run(tmp_path, tmp_path / "abd2_20260101_000000").name == "abd2_20260101_000000"
    with pytest.raises(UsageError, match="'ab' is the beginning of 2 runs: abc1_20260101_000000, abd2"):
        find_run(tmp_path, "ab")
    with pytest.raises(
        UsageError, match="there is no run 'abc1_20260101_000001' in .*: did you mean 'abc1_20260101_000000'"
    ):
        find_run(tmp_path, "abc1_20260101_000001")
    for number in range(100):
        await (await journal(tmp_path / f"b{number:02}")).close()
    with pytest.raises(
        UsageError, match=r"is the beginning of 100 runs: b00, b01, b02, b03, b04 and 95 more; write more"
    ):
        find_run(tmp_path, "b")
    with pytest.raises(UsageError, match="there are no runs in"):
        find_run(tmp_path / "empty", "abc")


async def test_an_active_run_is_not_deleted(tmp_path: Path) -> None:
    going = await journal(tmp_path / "abc")
    with pytest.raises(LeadlineError, match="is active; stop it first"):
        delete_run(tmp_path / "abc")
    await going.close()
    assert [run.status for run in RunIndex(tmp_path).runs()] == ["unreadable"]
    delete_run(tmp_path / "abc")
    assert RunIndex(tmp_path).runs() == []


def test_a_file_is_written_atomically_and_inside_its_folder(tmp_path: Path) -> None:
    write_atomically(tmp_path / "figures" / "1.png", b"one")
    write_atomically(tmp_path / "figures" / "1.png", b"two")
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["1.png"]
    assert (tmp_path / "figures" / "1.png").read_bytes() == b"two"
    for name in ("../out", "/etc/x", ".", ""):
        with pytest.raises(ValueError, match="is outside of the run's folder"):
            path_inside(tmp_path, name)
    for name in ("journal.sqlite", "journal.sqlite-wal", "Journal.SQLite.lock", "events.jsonl", "x/../metadata.json"):
        with pytest.raises(ValueError, match="is that of the run's own"):
            path_inside(tmp_path, name)
    assert path_inside(tmp_path, "figures/journal.sqlite") == tmp_path / "figures" / "journal.sqlite"
    with pytest.raises(LeadlineError, match="cannot write .*: Not a directory"):
        write_atomically(tmp_path / "figures" / "1.png" / "2", b"")
    (tmp_path / "taken" / "folder").mkdir(parents=True)
    with pytest.raises(LeadlineError, match="cannot write .*: Is a directory"):
        write_atomically(tmp_path / "taken" / "folder", b"")
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["folder"]


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o000, 0o644)])
def test_a_file_has_the_permissions_of_the_umask(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        assert write_atomically(tmp_path / "report.md", b"").stat().st_mode & 0o777 == mode
    finally:
        os.umask(before)


def test_the_resume_command_names_the_run_or_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert resume_command(tmp_path / "runs" / "a1") == "leadline resume a1"
    assert resume_command(tmp_path / "my runs" / "a1") == f"leadline resume '{tmp_path}/my runs/a1'"
    full = storage_error(OSError(errno.ENOSPC, "No space left on device"), tmp_path / "other" / "a1" / "journal.sqlite")
    assert str(full).endswith(f"make room, then: leadline resume {tmp_path}/other/a1")


def test_a_folder_is_named_by_trace_and_time() -> None:
    from datetime import datetime

    moment = datetime(2026, 1, 31, 23, 59, 58, tzinfo=UTC)
    assert folder_name("0123456789abcdef", moment) == "01234567_20260131_235958"


def test_research_sync_answers_outside_of_an_event_loop(tmp_path: Path) -> None:
    question = "How deep was the harbour measured at each sounding, in fathoms?"
    options: dict[str, Any] = {
        "plugins": [fake_web()],
        "folder": tmp_path / "runs",
        "cache": tmp_path / "cache",
        "set": WEB,
    }
    result = leadline.research_sync(question, **options)
    assert result.status == "complete"
    assert result.text.startswith("# How deep")


async def test_research_sync_inside_an_event_loop_names_the_async_function() -> None:
    with pytest.raises(UsageError, match="await leadline.research"):
        leadline.research_sync("How deep?")
