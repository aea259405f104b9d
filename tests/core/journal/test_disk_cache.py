"""A cache from the event loop: writes wait for company, whoever looks finds what was kept before."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from leadline.journal import disk_cache
from leadline.journal.cache_file import CacheFile
from leadline.journal.disk_cache import DiskCache


def cache(folder: Path) -> DiskCache:
    return DiskCache(
        CacheFile(folder / "x.sqlite", 2**30, table="things", name="things", log=logging.getLogger("test"))
    )


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count what goes to the thread: bodies and looks of each trip."""
    trips: list[int] = []
    work = DiskCache._work

    def counted(self: DiskCache, loop: object, puts: dict[str, bytes], looks: list[object]) -> None:
        trips.append(len(puts) + len(looks))
        work(self, loop, puts, looks)  # type: ignore[arg-type]

    monkeypatch.setattr(DiskCache, "_work", counted)
    return trips


async def test_what_comes_together_is_one_trip(tmp_path: Path, trips: list[int]) -> None:
    kept = cache(tmp_path)
    for number in range(20):
        kept.put_soon(str(number), b"x")
    found = await asyncio.gather(*(kept.get(str(number)) for number in range(25)))
    assert [one is not None for one in found] == [True] * 20 + [False] * 5
    assert trips == [45]
    await kept.close()


async def test_what_nobody_looks_for_is_written_in_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trips: list[int]
) -> None:
    monkeypatch.setattr(disk_cache, "PAUSE", 0.02)
    kept, other = cache(tmp_path), cache(tmp_path)
    kept.put_soon("a", b"x")
    kept.put_soon("b", b"x")
    async with asyncio.timeout(5):
        while not await other.get("a"):
            await asyncio.sleep(0.01)
    assert await other.get("b")
    assert trips.count(2) == 1
    await kept.close()
    await other.close()


async def test_much_is_written_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trips: list[int]) -> None:
    monkeypatch.setattr(disk_cache, "HEAP", 1000)
    kept = cache(tmp_path)
    for number in range(4):
        kept.put_soon(str(number), bytes(600))
    await asyncio.sleep(0)
    await kept.close()
    assert trips == [2, 2]


async def test_what_waits_is_written_when_it_is_closed_and_then_there_is_nothing(tmp_path: Path) -> None:
    kept = cache(tmp_path)
    kept.put_soon("a", b"x")
    kept.renew_soon("a")
    look = asyncio.create_task(kept.get("a"))
    await asyncio.sleep(0)
    await kept.close()
    await kept.close()
    assert await look
    kept.put_soon("b", b"x")
    assert await kept.get("a") is None
    again = cache(tmp_path)
    assert await again.get("a")
    assert await again.get("b") is None
    await again.close()


async def test_who_looks_may_leave(tmp_path: Path) -> None:
    kept = cache(tmp_path)
    kept.put_soon("a", b"x")
    gone, stays = asyncio.create_task(kept.get("a")), asyncio.create_task(kept.get("a"))
    await asyncio.sleep(0)
    gone.cancel()
    assert await stays
    with pytest.raises(asyncio.CancelledError):
        await gone
    await kept.close()
