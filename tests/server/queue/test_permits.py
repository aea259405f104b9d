"""Limits of providers over several workers, on each database; every worker has limiters of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from leadline._runtime.calls.limits import SharedLimiter
from leadline.errors import RateLimited
from leadline_server.queue import open_queue
from leadline_server.queue.sql import LIFETIME, Queue, SqlPermits


@pytest.fixture
def workers(url: str, tmp_path: Path) -> Iterator[list[Queue]]:
    """Three connections to one queue."""
    with ExitStack() as stack:
        yield [stack.enter_context(closing(open_queue(url, tmp_path / "runs"))) for _ in range(3)]


async def test_no_more_calls_are_in_flight_than_the_limit_allows(workers: list[Queue]) -> None:
    limiters = [SharedLimiter(one.permits(f"w{number}"), "llm", 4) for number, one in enumerate(workers)]
    flying = most = 0
    done = [0, 0, 0]

    async def call(number: int) -> None:
        nonlocal flying, most
        async with limiters[number].permit():
            flying += 1
            most = max(most, flying)
            await asyncio.sleep(0.05)
            flying -= 1
        done[number] += 1

    await asyncio.gather(*(call(number) for number in range(3) for _ in range(12)))
    assert (done, most <= 4) == ([12, 12, 12], True)


async def test_one_place_goes_round_among_workers_that_all_want_it(workers: list[Queue]) -> None:
    limiters = [SharedLimiter(one.permits(f"w{number}"), "local model", 1) for number, one in enumerate(workers)]
    done: list[int] = []

    async def call(number: int) -> None:
        async with limiters[number].permit():
            await asyncio.sleep(0.2)
        done.append(number)

    await asyncio.gather(*(call(number) for number in range(3) for _ in range(5)))
    assert {*done[:10]} == {0, 1, 2}


async def test_starts_are_apart_over_all_workers(workers: list[Queue]) -> None:
    limiters = [SharedLimiter(one.permits(f"w{number}"), "engine", 50, 0.1) for number, one in enumerate(workers)]
    starts: list[float] = []

    async def call(number: int) -> None:
        async with limiters[number].permit():
            starts.append(time.monotonic())

    await asyncio.gather(*(call(number) for number in range(3) for _ in range(6)))
    assert max(starts) - min(starts) >= 0.1 * 16


async def test_a_429_delays_the_other_workers(workers: list[Queue]) -> None:
    first, second = (SharedLimiter(one.permits(f"w{number}"), "llm", 4) for number, one in enumerate(workers[:2]))
    with pytest.raises(RateLimited):
        async with first.permit():
            raise RateLimited("HTTP 429", retry_after=60)
    await asyncio.sleep(0.3)

    async def call() -> None:
        async with second.permit():
            pass

    waiting = asyncio.create_task(call())
    async with asyncio.timeout(20):
        while not second.health.blocked_for():  # it is told with its share
            await asyncio.sleep(0.05)
    assert (second.health.blocked_for() > 30, second.health.wait() > 10, waiting.done()) == (True, True, False)
    waiting.cancel()


async def test_places_of_a_worker_that_is_gone_are_free_again(workers: list[Queue]) -> None:
    clock = [time.time()]
    gone, other = (SqlPermits(one._database, f"w{n}", lambda: clock[0]) for n, one in enumerate(workers[:2]))
    assert (await gone.lease("llm", 4, 0, 9)).slots == 4
    assert (await other.lease("llm", 4, 0, 3)).slots == 0
    clock[0] += LIFETIME + 1
    assert (await other.lease("llm", 4, 0, 3)).slots == 3
    workers[1].leave("w1")
    assert (await gone.lease("llm", 4, 0, 9)).slots == 4
