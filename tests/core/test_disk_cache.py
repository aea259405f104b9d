"""A cache on disk: bounded, shared by processes, deleted when it is damaged, written without delay to its callers."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from leadline import disk_cache
from leadline.disk_cache import CacheFile, DiskCache
from leadline.files import private_file, private_folder

LOG = logging.getLogger("test")
NOISE = random.Random(7)


@contextmanager
def cache(folder: Path, size: int = 2**20, clock: Callable[[], float] = lambda: 1.0) -> Iterator[CacheFile]:
    file = CacheFile(folder / "x.sqlite", size, table="things", log=LOG, wait=0.05, clock=clock)
    yield file
    file.close()


def keys(folder: Path) -> set[str]:
    db = sqlite3.connect(folder / "x.sqlite")
    found = {key for (key,) in db.execute("select key from things")}
    db.close()
    return found


def noise(size: int = 900) -> bytes:
    return NOISE.randbytes(size)


def test_the_least_recently_used_body_is_removed_even_if_its_use_is_not_written_yet(tmp_path: Path) -> None:
    now = iter(range(1000))
    with cache(tmp_path, 3_500, lambda: float(next(now))) as file:
        for name in ("a", "b", "c"):
            file.put({name: noise()})
        assert file.get("a")
        file.put({"d": noise()})
        assert keys(tmp_path) == {"a", "c", "d"}


def test_times_of_reads_are_written_when_the_file_is_closed(tmp_path: Path) -> None:
    now = iter(range(1000))
    with cache(tmp_path, 3_500, lambda: float(next(now))) as file:
        for name in ("a", "b", "c"):
            file.put({name: noise()})
        assert file.get("a")
    with cache(tmp_path, 3_500, lambda: float(next(now))) as file:
        file.put({"d": noise()})
    assert keys(tmp_path) == {"a", "c", "d"}


def test_times_of_many_reads_are_written_at_once(tmp_path: Path) -> None:
    with cache(tmp_path) as file:
        file.put({str(number): b"x" for number in range(disk_cache._MAX_UNWRITTEN_READS + 1)})
        for number in range(disk_cache._MAX_UNWRITTEN_READS + 1):
            file.get(str(number))
        assert file._used == {}


def test_a_body_larger_than_the_file_removes_no_other(tmp_path: Path) -> None:
    with cache(tmp_path, 1_000) as file:
        file.put({"small": noise(500), "large": noise(2_000)})
        assert file.get("small")
        assert file.get("large") is None


def test_a_renewed_body_is_as_good_as_new(tmp_path: Path) -> None:
    now = 100.0
    with cache(tmp_path, clock=lambda: now) as file:
        file.put({"a": b"x"})
        now = 200.0
        assert file.get("a", 50) is None
        file.put({"a": None, "nothing": None})
        assert file.get("a", 50) == (200.0, b"x")
        assert file.get("nothing") is None


def test_the_size_is_kept_when_another_process_writes_too(tmp_path: Path) -> None:
    with cache(tmp_path, 200_000) as one, cache(tmp_path, 200_000) as two:
        for number in range(200):
            one.put({f"one {number}": noise()})
            two.put({f"two {number}": noise()})
    db = sqlite3.connect(tmp_path / "x.sqlite")
    assert db.execute("select sum(size) from things").fetchone()[0] <= 200_000
    db.close()


def test_a_file_that_was_removed_or_replaced_is_opened_again(tmp_path: Path) -> None:
    with cache(tmp_path) as file:
        file.put({"a": b"old"})
        for path in tmp_path.iterdir():
            path.unlink()
        assert file.get("a") is None
        file.put({"a": b"new"})
        shutil.rmtree(tmp_path)
        with cache(tmp_path) as other:
            other.put({"a": b"other"})
            assert file.get("a") == (1.0, b"other")


@pytest.mark.parametrize(
    "damage",
    [
        "update things set body = 'a text'",
        "update things set body = null",
        "update things set stored = 'a text'",
        "update things set mark = null",
        "update things set body = x'0001'",
        "update things set key = case key when 'a' then 'b' else 'a' end || 'x'; "
        "update things set key = substr(key, 1, 1)",
        "alter table things rename column mark to other",
    ],
)
def test_a_damaged_row_deletes_the_file(tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    with cache(tmp_path) as file:
        file.put({"a": b"x", "b": b"y"})
    db = sqlite3.connect(tmp_path / "x.sqlite")
    db.executescript(damage)
    db.close()
    with cache(tmp_path) as file:
        assert file.get("a") is None
        assert file.get("b") is None
        file.put({"a": b"new"})
        assert file.get("a") == (1.0, b"new")
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "cannot use the cache of things" in caplog.text
    assert "deleting it" in caplog.text


def test_flipped_bits_never_change_a_body(tmp_path: Path) -> None:
    bodies = {str(number): noise(300) + b"text " * 50 for number in range(12)}
    with cache(tmp_path) as file:
        file.put(bodies)
    good = (tmp_path / "x.sqlite").read_bytes()
    for _ in range(150):
        data, place = bytearray(good), NOISE.randrange(len(good))
        data[place] ^= 1 << NOISE.randrange(8)
        (tmp_path / "x.sqlite").write_bytes(data)
        with cache(tmp_path) as file:
            for key, body in bodies.items():
                found = file.get(key)
                assert found is None or found.body == body
        for path in tmp_path.iterdir():
            path.unlink()


def test_a_locked_file_is_skipped_and_used_again_when_it_is_free(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with cache(tmp_path) as file:
        file.put({"a": b"x"})
        other = sqlite3.connect(tmp_path / "x.sqlite", isolation_level=None)
        other.execute("begin immediate")
        file.put({"b": b"y"})
        assert "locked), continuing without it" in caplog.text
        other.execute("rollback")
        other.close()
        file.put({"c": b"z"})
        assert [file.get(key) is not None for key in "abc"] == [True, False, True]


# --- from the event loop ---------------------------------------------------------------------------------------------


def disk_cache_in(folder: Path) -> DiskCache:
    return DiskCache(folder / "x.sqlite", 2**30, table="things", log=LOG)


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that receives the number of bodies of each write."""
    writes: list[int] = []
    put = CacheFile.put

    def count(self: CacheFile, bodies: dict[str, bytes | None]) -> None:
        writes.append(len(bodies))
        put(self, bodies)

    monkeypatch.setattr(CacheFile, "put", count)
    return writes


async def test_a_read_finds_earlier_writes_which_share_a_transaction(tmp_path: Path, writes: list[int]) -> None:
    cached = disk_cache_in(tmp_path)
    for number in range(20):
        cached.put_soon(str(number), b"x")
    found = await asyncio.gather(*(cached.get(str(number)) for number in range(25)))
    assert [body is not None for body in found] == [True] * 20 + [False] * 5
    assert writes == [20]
    await cached.close()


async def test_writes_reach_the_file_without_a_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: list[int]
) -> None:
    monkeypatch.setattr(disk_cache, "WRITE_DELAY", 0.02)
    cached, other = disk_cache_in(tmp_path), disk_cache_in(tmp_path)
    cached.put_soon("a", b"x")
    cached.put_soon("b", b"x")
    async with asyncio.timeout(5):
        while not await other.get("a"):
            await asyncio.sleep(0.01)
    assert await other.get("b")
    assert writes.count(2) == 1
    await cached.close()
    await other.close()


async def test_many_bytes_are_written_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: list[int]
) -> None:
    monkeypatch.setattr(disk_cache, "_MAX_PENDING", 1000)
    cached = disk_cache_in(tmp_path)
    for number in range(4):
        cached.put_soon(str(number), bytes(600))
    await cached.close()
    assert writes == [2, 2]


async def test_a_closed_cache_has_written_its_queue_and_is_empty(tmp_path: Path) -> None:
    cached = disk_cache_in(tmp_path)
    cached.put_soon("a", b"x")
    cached.renew_soon("a")
    read = asyncio.create_task(cached.get("a"))
    await asyncio.sleep(0)
    await cached.close()
    await cached.close()
    assert await read
    cached.put_soon("b", b"x")
    assert await cached.get("a") is None
    reopened = disk_cache_in(tmp_path)
    assert await reopened.get("a")
    assert await reopened.get("b") is None
    await reopened.close()


async def test_a_cancelled_reader_disturbs_no_other(tmp_path: Path) -> None:
    cached = disk_cache_in(tmp_path)
    cached.put_soon("a", b"x")
    cancelled, other = asyncio.create_task(cached.get("a")), asyncio.create_task(cached.get("a"))
    await asyncio.sleep(0)
    cancelled.cancel()
    assert await other
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    await cached.close()


@pytest.mark.parametrize("mask", [0o022, 0o000])
def test_new_folders_and_files_are_private_and_known_ones_keep_their_mode(tmp_path: Path, mask: int) -> None:
    mine = tmp_path / "mine"
    mine.mkdir(mode=0o750)
    (mine / "known").touch(mode=0o640)
    before = os.umask(mask)
    try:
        made = private_file(mine / "a" / "b" / "new")
        assert [path.stat().st_mode & 0o777 for path in (mine / "a", mine / "a" / "b", made)] == [0o700, 0o700, 0o600]
        made.write_text("kept")
        assert private_file(made).read_text() == "kept"
        assert private_folder(mine) == mine
        private_file(mine / "known")
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (mine, mine / "known")] == [0o750, 0o640]
