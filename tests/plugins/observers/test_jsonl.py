"""`jsonl` writes every event of a run once and whole, whatever stood in the file, and never the stream of a replay."""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.records import Event
from leadline_plugins.observers.jsonl import GATHERED, SEGMENT, JsonLines, _end, split

Make = Callable[..., Event]


async def write(folder: Path, *events: Event) -> JsonLines:
    observer = JsonLines()
    for event in events:
        await observer.observe(event)
    return observer


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "events.jsonl").read_text("utf-8").splitlines()]


async def test_every_event_is_a_line_but_for_those_before_the_start(tmp_path: Path, event: Make) -> None:
    assert not JsonLines.deltas
    await write(
        tmp_path,
        event("notice", message="too early"),
        event("run.started", folder=str(tmp_path)),
        event("notice", message="属性"),
        event("run.finished", status="complete"),
        event("notice", message="too late"),
    )
    assert [line["kind"] for line in lines(tmp_path)] == ["run.started", "notice", "run.finished"]
    assert lines(tmp_path)[1]["data"] == {"message": "属性"}
    assert [line["seq"] for line in lines(tmp_path)] == [1, 2, 3]


async def test_a_line_can_be_read_while_the_run_goes_on(tmp_path: Path, event: Make) -> None:
    await write(tmp_path, event("run.started", folder=str(tmp_path)), event("notice", message="now"))
    await asyncio.sleep(2 * GATHERED)
    assert lines(tmp_path)[-1]["data"] == {"message": "now"}


async def test_events_of_several_turns_of_the_loop_are_one_write(
    tmp_path: Path, event: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[bytes] = []
    write_on = os.write

    def counted(file: int, data: bytes) -> int:
        writes.append(data)
        return write_on(file, data)

    observer = await write(tmp_path, event("run.started", folder=str(tmp_path)))
    monkeypatch.setattr(os, "write", counted)
    for number in range(3):
        await observer.observe(event("notice", message=str(number)))
        await asyncio.sleep(0)
    await asyncio.sleep(2 * GATHERED)
    assert [data.count(b"\n") for data in writes] == [4]


async def test_a_program_that_ends_before_its_run_loses_no_line(tmp_path: Path, event: Make) -> None:
    async def told() -> None:
        await write(tmp_path, event("run.started", folder=str(tmp_path)), event("notice", message="the last"))

    await asyncio.to_thread(asyncio.run, told())
    gc.collect()
    assert lines(tmp_path)[-1]["data"] == {"message": "the last"}


def test_a_child_by_fork_writes_nothing_of_its_parents(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    for owner, written in ((os.getpid() + 1, b""), (os.getpid(), b"line")):
        _end(os.open(path, os.O_WRONLY | os.O_CREAT), [b"line"], owner)
        assert path.read_bytes() == written


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        (b"", 0),
        (b'{"seq": 0}\n', 1),
        (b'{"seq": 0}\n{"seq": 1, "ki', 1),
        (b'{"seq": 0, "to', 0),
        (b'{"seq": 0}\n' + b"x" * 200_000, 1),
    ],
)
async def test_a_torn_last_line_is_cut_off_before_the_next_is_written(
    tmp_path: Path, event: Make, before: bytes, kept: int
) -> None:
    (tmp_path / "events.jsonl").write_bytes(before)
    await write(tmp_path, event("run.started", folder=str(tmp_path)), event("run.finished"))
    assert [line.get("kind") for line in lines(tmp_path)] == [None] * kept + ["run.started", "run.finished"]


def open_files() -> int:
    """Return how many files this process holds open; 0 where the system does not tell."""
    listed = Path("/proc/self/fd")
    return sum(1 for _ in listed.iterdir()) if listed.exists() else 0


async def test_runs_side_by_side_do_not_mix_and_leave_no_file_open(tmp_path: Path, event: Make) -> None:
    folders = {name: tmp_path / name for name in ("one", "two")}
    for folder in folders.values():
        folder.mkdir()
    before = open_files()
    await write(
        tmp_path,
        *(event("run.started", run=name, folder=str(folder)) for name, folder in folders.items()),
        *(event("notice", run=name, message=name) for name in ("two", "one", "two")),
        *(event("run.finished", run=name) for name in folders),
    )
    for name, folder in folders.items():
        assert {line["run_id"] for line in lines(folder)} == {name}
    assert len(lines(folders["two"])) == 4
    assert open_files() == before


async def test_a_replay_writes_nothing(tmp_path: Path, event: Make) -> None:
    await write(tmp_path, event("run.started", folder=str(tmp_path), replay=True), event("run.finished"))
    assert list(tmp_path.iterdir()) == []


async def test_a_long_text_is_split_into_segments_that_are_the_text(tmp_path: Path, event: Make) -> None:
    text = "".join(f"行 {number}: 属性在实例上查找。\n" for number in range(2_000))
    started = event("run.started", folder=str(tmp_path))
    await write(tmp_path, started, event("message", kind_="report", texts=["short", text]), event("run.finished"))
    short, long = lines(tmp_path)[1]["data"]["texts"]
    assert short == "short"
    assert long["beginning"] == text[:200]
    parts = [(tmp_path / segment["file"]).read_bytes() for segment in long["segments"]]
    assert b"".join(parts).decode() == text
    assert [segment["sha256"] for segment in long["segments"]] == [sha256(part).hexdigest() for part in parts]
    assert [segment["bytes"] for segment in long["segments"]] == [len(part) for part in parts]
    assert max(map(len, parts)) <= SEGMENT
    assert all(part.endswith(b"\n") for part in parts)
    assert long["segments"][0]["file"] == "segment_001.md"


async def test_segments_of_a_later_session_take_the_next_numbers(tmp_path: Path, event: Make) -> None:
    for _ in range(2):
        started = event("run.started", folder=str(tmp_path))
        await write(tmp_path, started, event("message", text="x" * (SEGMENT + 1)), event("run.finished"))
    named = [part["file"] for line in lines(tmp_path) for part in line["data"].get("text", {}).get("segments", ())]
    assert named == [f"segment_{number:03}.md" for number in range(1, 5)]


@given(st.text(alphabet=st.sampled_from("a\n属🧪é"), max_size=40), st.integers(1, 2_000))
def test_segments_are_whole_characters_and_nothing_is_lost(text: str, times: int) -> None:
    data = (text * times).encode()
    parts = list(split(data))
    assert b"".join(parts) == data
    assert all(part.decode() is not None and len(part) <= SEGMENT for part in parts)


async def test_a_full_disk_is_told_once_and_holds_no_file(
    tmp_path: Path, event: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    observer = await write(tmp_path, event("run.started", folder=str(tmp_path)))
    await asyncio.sleep(2 * GATHERED)

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    await observer.observe(event("notice", message="lost"))
    await asyncio.sleep(2 * GATHERED)
    with pytest.raises(OSError, match="No space left"):
        await observer.observe(event("notice", message="lost too"))
    await observer.observe(event("notice", message="not tried"))
    await asyncio.sleep(2 * GATHERED)
    monkeypatch.undo()
    assert len(lines(tmp_path)) == 1


async def test_a_text_too_long_for_the_disk_takes_no_other_event_with_it(
    tmp_path: Path, event: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    observer = await write(tmp_path, event("run.started", folder=str(tmp_path)), event("notice", message="kept"))
    with pytest.raises(OSError, match="No space left"):
        await observer.observe(event("message", text="a" * (2 * SEGMENT)))
    assert [line["kind"] for line in lines(tmp_path)] == ["run.started", "notice"]


async def test_a_disk_that_is_full_at_the_very_end_is_told_too(
    tmp_path: Path, event: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    observer = await write(tmp_path, event("run.started", folder=str(tmp_path)))

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        await observer.observe(event("run.finished", status="complete"))


async def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path, event: Make) -> None:
    with pytest.raises(FileNotFoundError):
        await write(tmp_path, event("run.started", folder=str(tmp_path / "gone")))
