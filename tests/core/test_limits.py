"""Limits: how many at once, how soon after one another."""

import asyncio
import itertools

import pytest

from leadline.limits import Both, Limiter


async def most_at_once(limiter: Limiter | Both, calls: int) -> int:
    now = most = 0

    async def work() -> None:
        nonlocal now, most
        async with limiter.permit():
            now += 1
            most = max(most, now)
            await asyncio.sleep(0)
            now -= 1

    await asyncio.gather(*(work() for _ in range(calls)))
    return most


@pytest.mark.parametrize("at_once", [1, 3])
async def test_no_more_than_the_limit_run_at_once(at_once: int) -> None:
    assert await most_at_once(Limiter(at_once), 10) == at_once


async def test_the_tighter_of_two_limits_holds() -> None:
    assert await most_at_once(Both(Limiter(5), Limiter(2)), 10) == 2
    assert await most_at_once(Both(Limiter(4), None), 10) == 4


async def test_starts_keep_their_distance() -> None:
    limiter, starts = Limiter(10, interval=0.02), []

    async def work() -> None:
        async with limiter.permit():
            starts.append(asyncio.get_running_loop().time())

    await asyncio.gather(*(work() for _ in range(4)))
    gaps = [after - before for before, after in itertools.pairwise(starts)]
    assert min(gaps) > 0.015


async def test_a_cancelled_wait_gives_its_place_back() -> None:
    limiter = Limiter(1)
    async with limiter.permit():
        waiting = asyncio.create_task(most_at_once(limiter, 1))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert await most_at_once(limiter, 2) == 1


def test_a_limiter_serves_one_event_loop_after_another() -> None:
    limiter = Limiter(1)
    assert [asyncio.run(most_at_once(limiter, 3)) for _ in range(2)] == [1, 1]


def test_impossible_limits_are_refused() -> None:
    with pytest.raises(ValueError, match="at_once is at least 1"):
        Limiter(0)
