"""The file of a cache: bounded, the longest unused goes first, shared by processes, begun anew when it is damaged."""

from __future__ import annotations

import logging
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from leadline.journal.cache_file import COUNTED, NOTED, CacheFile

LOG = logging.getLogger("test")
NOISE = random.Random(7)


@contextmanager
def cache(folder: Path, size: int = 2**20, clock: Callable[[], float] = lambda: 1.0) -> Iterator[CacheFile]:
    file = CacheFile(folder / "x.sqlite", size, table="things", name="things", log=LOG, wait=0.05, clock=clock)
    yield file
    file.close()


def keys(folder: Path) -> set[str]:
    db = sqlite3.connect(folder / "x.sqlite")
    found = {key for (key,) in db.execute("select key from things")}
    db.close()
    return found


def noise(size: int = 900) -> bytes:
    return NOISE.randbytes(size)


def test_the_longest_unused_makes_room_also_where_a_look_was_only_noted(tmp_path: Path) -> None:
    now = iter(range(1000))
    with cache(tmp_path, 3_500, lambda: float(next(now))) as file:
        for name in ("a", "b", "c"):
            file.put({name: noise()})
        assert file.get("a")
        file.put({"d": noise()})
        assert keys(tmp_path) == {"a", "c", "d"}


def test_what_is_looked_at_is_noted_for_other_processes_when_the_file_is_closed(tmp_path: Path) -> None:
    now = iter(range(1000))
    with cache(tmp_path, 3_500, lambda: float(next(now))) as file:
        for name in ("a", "b", "c"):
            file.put({name: noise()})
        assert file.get("a")
    with cache(tmp_path, 3_500, lambda: float(next(now))) as file:
        file.put({"d": noise()})
    assert keys(tmp_path) == {"a", "c", "d"}


def test_looks_are_noted_up_to_a_number(tmp_path: Path) -> None:
    with cache(tmp_path) as file:
        file.put({str(number): b"x" for number in range(NOTED + 1)})
        for number in range(NOTED + 1):
            file.get(str(number))
        assert file._used == {}


def test_what_is_larger_than_the_file_drives_nothing_out(tmp_path: Path) -> None:
    with cache(tmp_path, 1_000) as file:
        file.put({"small": noise(500), "large": noise(2_000)})
        assert file.get("small")
        assert file.get("large") is None


def test_a_renewed_one_is_as_good_as_new(tmp_path: Path) -> None:
    now = 100.0
    with cache(tmp_path, clock=lambda: now) as file:
        file.put({"a": b"x"})
        now = 200.0
        assert file.get("a", 50) is None
        file.put({"a": None, "nothing": None})
        assert file.get("a", 50) == (200.0, b"x")
        assert file.get("nothing") is None


def test_the_size_holds_where_another_process_fills_the_file_too(tmp_path: Path) -> None:
    with cache(tmp_path, 200_000) as one, cache(tmp_path, 200_000) as two:
        for number in range(2 * COUNTED):
            one.put({f"one {number}": noise()})
            two.put({f"two {number}": noise()})
    db = sqlite3.connect(tmp_path / "x.sqlite")
    assert db.execute("select sum(size) from things").fetchone()[0] <= 200_000 + COUNTED * 920
    db.close()


def test_a_file_that_was_removed_or_replaced_is_left(tmp_path: Path) -> None:
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
def test_a_damaged_row_begins_the_file_anew(tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
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
    assert "things cannot be used" in caplog.text
    assert "thrown away" in caplog.text


def test_flipped_bits_never_change_what_was_kept(tmp_path: Path) -> None:
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


def test_a_locked_file_is_done_without_and_used_again_when_it_is_free(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with cache(tmp_path) as file:
        file.put({"a": b"x"})
        other = sqlite3.connect(tmp_path / "x.sqlite", isolation_level=None)
        other.execute("begin immediate")
        file.put({"b": b"y"})
        assert "locked), it is done without" in caplog.text
        other.execute("rollback")
        other.close()
        file.put({"c": b"z"})
        assert [file.get(key) is not None for key in "abc"] == [True, False, True]
