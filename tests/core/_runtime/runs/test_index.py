"""The index of runs: lists and full-text search, built from the folders whenever it is missing or wrong."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.hot_journal import journal_that_deletes

from leadline._runtime.journal.lock import FolderLock
from leadline._runtime.runs import index as index_module
from leadline._runtime.runs.folder import delete_run, run_info
from leadline._runtime.runs.index import FILE, RunIndex, excerpt


def make_run(folder: Path, name: str, question: str = "", report: str = "", **values: Any) -> Path:
    """Make the files of a run that the index reads."""
    run = folder / name
    run.mkdir(parents=True)
    (run / "journal.sqlite").touch()
    write_metadata(run, question=question, **values)
    if report:
        (run / "report.md").write_text(report, "utf-8")
    return run


def write_metadata(run: Path, **values: Any) -> None:
    data = {
        "status": "complete",
        "question": "",
        "pipeline": "research",
        "reason": "",
        "exit_code": 0,
        "began": "2026-01-01T10:00:00Z",
        "ended": "2026-01-01T10:01:00Z",
        "seconds": 60.0,
        "tags": {},
    }
    temporary = run / ".metadata.new"  # replaced, as a run does it
    temporary.write_text(json.dumps(data | values))
    temporary.replace(run / "metadata.json")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Return a folder with three runs."""
    folder = tmp_path / "runs"
    make_run(folder, "a1", "How deep is the harbour?", "Nine fathoms.", began="2026-01-03T10:00:00Z")
    make_run(folder, "b2", "港口有多深？", "港口的水深是九英寻，农业发展。", began="2026-01-02T10:00:00Z")
    make_run(folder, "c3", "灯台は？", "バスで行く。배터리를 재활용한다.", tags={"ticket": "K-42"})
    return folder


def names(found: list[Any]) -> list[str]:
    return [run.id for run in found]


def test_runs_are_listed_newest_first_with_their_values(runs: Path) -> None:
    found = RunIndex(runs).runs()
    assert names(found) == ["a1", "b2", "c3"]
    assert (found[0].question, found[0].status, found[0].seconds) == ("How deep is the harbour?", "complete", 60.0)
    assert found[2].tags == {"ticket": "K-42"}
    assert names(RunIndex(runs).runs(limit=2)) == ["a1", "b2"]
    assert RunIndex(runs).runs(status="failed") == []
    assert RunIndex(runs / "nowhere").runs() == []
    assert not (runs / "nowhere").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("harbour", ["a1"]),
        ("HARBOURS deep", ["a1"]),
        ("harbour camel", []),
        ('"deep is"', ["a1"]),
        ('"is deep"', []),
        ("农业", ["b2"]),
        ("业农", []),
        ("港口 水深", ["b2"]),
        ("水", ["b2"]),
        ("ﾊﾞｽ", ["c3"]),
        ("배터리", ["c3"]),
        ("ticket", ["c3"]),
        ("K-42", ["c3"]),
        ('un"closed AND NOT (', []),
    ],
)
def test_words_are_found_in_every_language(runs: Path, text: str, expected: list[str]) -> None:
    assert names(RunIndex(runs).search(text)) == expected


def test_a_search_shows_the_text_around_the_word(runs: Path) -> None:
    (run,) = RunIndex(runs).search("水深")
    assert run.excerpt == "港口的水深是九英寻，农业发展。"
    assert excerpt("They are dredging the port.", ["dredged"]) == "They are dredging the port."


def test_reports_in_other_formats_are_searched(tmp_path: Path) -> None:
    (make_run(tmp_path, "h") / "report.html").write_text("<style>.camel{}</style><p>Nine <b>fathoms</b>")
    sections = [{"title": "Depth", "text": "Ten fathoms."}, {"title": "Empty", "text": None}]
    (make_run(tmp_path, "j") / "report.json").write_text(json.dumps({"title": "T", "sections": sections}))
    (make_run(tmp_path, "x") / "report.json").write_text("{")
    assert sorted(names(RunIndex(tmp_path).search("fathoms"))) == ["h", "j"]
    assert names(RunIndex(tmp_path).search("camel")) == []


def test_new_changed_and_deleted_runs_are_noticed(runs: Path) -> None:
    index = RunIndex(runs)
    assert names(index.search("fathoms")) == ["a1"]
    make_run(runs, "d4", "How many fathoms?")
    (runs / "a1" / "report.md").write_text("Ten camels.")
    write_metadata(runs / "a1", question="What?", status="failed")
    assert names(index.search("fathoms")) == ["d4"]
    assert names(index.search("camels")) == ["a1"]
    assert names(index.runs(status="failed")) == ["a1"]
    delete_run(runs / "d4")
    assert b"How many fathoms" not in (runs / FILE).read_bytes()
    assert index.search("fathoms") == []


@pytest.mark.parametrize(
    "damage", ["missing", "text", "cut", "older", "foreign", "hostile", "pipe", "link", "deletes", "wal"]
)
def test_a_missing_damaged_or_old_file_is_built_again(runs: Path, tmp_path: Path, damage: str) -> None:
    RunIndex(runs).search("harbour")
    path, other = runs / FILE, tmp_path / "other"
    match damage:
        case "missing":
            path.unlink()
        case "text":
            path.write_bytes(b"no database" * 1000)
        case "cut":
            path.write_bytes(path.read_bytes()[:5000])
        case "older" | "foreign":
            connection = sqlite3.connect(path)
            connection.execute("DROP TABLE runs" if damage == "older" else "CREATE TABLE other (x)")
            connection.execute("PRAGMA user_version = 0")
            connection.close()
        case "hostile":
            endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n AS name FROM r"
            connection = sqlite3.connect(path)
            connection.executescript(f"DROP TABLE runs; CREATE VIEW runs AS {endless}")
            connection.close()
        case "pipe":
            path.unlink()
            os.mkfifo(path)
        case "link":
            path.unlink()
            path.symlink_to(other)
        case "deletes":
            other.write_text("of the user")
            path.with_name(f"{FILE}-journal").write_bytes(journal_that_deletes(other))
        case "wal":
            other.write_text("of the user")
            path.with_name(f"{FILE}-wal").symlink_to(other)
    assert names(RunIndex(runs).runs()) == ["a1", "b2", "c3"]
    assert names(RunIndex(runs).search("harbour")) == ["a1"]
    assert sqlite3.connect(path).execute("SELECT count(*) FROM runs").fetchone() == (3,)
    if damage == "link":
        assert not other.exists()
    elif damage in ("deletes", "wal"):
        assert other.read_text() == "of the user"


@pytest.mark.parametrize("kind", ["pipe", "device", "deep"])
def test_metadata_that_never_ends_is_unreadable(runs: Path, kind: str) -> None:
    path = runs / "a1" / "metadata.json"
    path.unlink()
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "deep":
            path.write_text("[" * 100_000)
    assert [run.id for run in RunIndex(runs).runs(status="unreadable")] == ["a1"]
    assert run_info(runs / "a1").status == "unreadable"


def test_a_folder_whose_name_is_no_text_hides_no_run(runs: Path) -> None:
    make_run(runs, "\udcff")
    assert names(RunIndex(runs).runs()) == ["a1", "b2", "c3"]


def test_a_folder_that_cannot_be_written_is_listed_and_searched(runs: Path) -> None:
    (runs / FILE).mkdir()  # as root, no permission stops us
    assert names(RunIndex(runs).runs()) == ["a1", "b2", "c3"]
    assert names(RunIndex(runs).search("农业")) == ["b2"]


def test_an_index_that_another_process_writes_for_long_is_not_waited_for(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    RunIndex(runs).runs()
    monkeypatch.setattr(index_module, "_TIMEOUT", 0.01)
    other = sqlite3.connect(runs / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    make_run(runs, "d4", "How many fathoms?")
    assert "d4" in names(RunIndex(runs).runs())
    assert sorted(names(RunIndex(runs).search("fathoms"))) == ["a1", "d4"]
    other.close()


def test_only_changed_runs_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        make_run(tmp_path, f"r{number:02}")
    read: list[str] = []

    def counted(folder: Path) -> Any:
        read.append(folder.name)
        return original(folder)

    original = index_module._read
    monkeypatch.setattr(index_module, "_read", counted)
    assert len(RunIndex(tmp_path).runs()) == 50
    assert len(read) == 50
    write_metadata(tmp_path / "r07", question="new")
    RunIndex(tmp_path).runs()
    assert read[50:] == ["r07"]


@pytest.mark.parametrize("status", ["pending", "running", "waiting"])
def test_an_active_run_whose_process_is_gone_is_interrupted(tmp_path: Path, status: str) -> None:
    run = make_run(tmp_path, "a1", status=status, ended=None)
    lock = FolderLock(run / "journal.sqlite.lock")
    assert [one.status for one in RunIndex(tmp_path).runs()] == [status]
    lock.release()
    assert [one.status for one in RunIndex(tmp_path).runs()] == ["interrupted"]


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"status": 1}', '{"status": "complete", "began": "no time"}', "null", "\x00"]
)
def test_unreadable_metadata_is_listed_as_such(tmp_path: Path, text: str) -> None:
    run = make_run(tmp_path, "a1")
    (run / "metadata.json").write_text(text)
    assert [(one.id, one.status) for one in RunIndex(tmp_path).runs()] == [("a1", "unreadable")]
    (run / "metadata.json").unlink()
    assert [(one.id, one.status) for one in RunIndex(tmp_path).runs()] == [("a1", "unreadable")]
    assert RunIndex(tmp_path).search("harbour") == []


def test_processes_use_the_index_at_the_same_time(tmp_path: Path) -> None:
    for number in range(100):
        make_run(tmp_path, f"r{number:03}", "How deep?", "Nine fathoms.")
    code = (
        "import sys, pathlib\n"
        "from leadline._runtime.runs.index import RunIndex\n"
        "for _ in range(10):\n"
        "    index = RunIndex(pathlib.Path(sys.argv[1]))\n"
        "    assert len(index.runs()) == len(index.search('fathoms')) == 100\n"
        "    (pathlib.Path(sys.argv[1]) / '.index.sqlite').write_bytes(b'damaged')\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    ended = [(process.communicate(timeout=100)[1], process.returncode) for process in started]
    assert ended == [("", 0)] * 4
