"""Limits: how many at once, how soon after one another."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from leadline._runtime.calls.limits import FIRST_INTERVAL, PATIENCE, Limiter, Pace, ProcessRegistry, RunAndProviderLimit
from leadline.errors import RateLimited, Unavailable


async def most_at_once(limiter: Limiter | RunAndProviderLimit, calls: int) -> int:
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
    assert await most_at_once(RunAndProviderLimit(Limiter(5), Limiter(2)), 10) == 2
    assert await most_at_once(RunAndProviderLimit(Limiter(4), None), 10) == 4


async def test_starts_keep_their_distance() -> None:
    limiter, starts, began = Limiter(10, interval=0.02), [], asyncio.get_running_loop().time()

    async def work() -> None:
        async with limiter.permit():
            starts.append(asyncio.get_running_loop().time())

    await asyncio.gather(*(work() for _ in range(4)))
    # No start before its turn; a busy machine may only make it later.
    assert all(start >= began + place * 0.02 - 0.001 for place, start in enumerate(sorted(starts)))


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


def test_event_loops_side_by_side_have_one_limit() -> None:
    limiter, now, most = Limiter(2), 0, 0

    async def work() -> None:
        nonlocal now, most
        async with limiter.permit():
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.002)
            now -= 1

    async def crowd() -> None:
        await asyncio.gather(*(work() for _ in range(10)))

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(asyncio.run, crowd()) for _ in range(4)]:
            done.result(30)
    assert most == 2


def test_a_loop_that_is_gone_holds_nothing_and_is_not_waited_for() -> None:
    limiter, dead = Limiter(1), asyncio.new_event_loop()

    async def hold() -> None:
        async with limiter.permit():
            await asyncio.Event().wait()

    left = [dead.create_task(hold()) for _ in range(2)]  # one holds the permit, one waits in line
    dead.run_until_complete(asyncio.sleep(0.01))
    dead.close()
    assert asyncio.run(most_at_once(limiter, 3)) == 1
    for task in left:
        task.get_coro().close()
    assert asyncio.run(most_at_once(limiter, 3)) == 1


def test_a_shared_object_lives_while_somebody_uses_it() -> None:
    class User:
        pass

    shared, one, other = ProcessRegistry[list[int]](), User(), User()
    first = shared.take("wiki", one, list)
    assert shared.take("wiki", other, list) is first
    assert shared.take("web", other, list) is not first
    shared.leave(one)
    assert shared.take("wiki", User(), list) is first
    del other
    assert shared.take("wiki", one, list) is not first


def test_impossible_limits_are_refused() -> None:
    with pytest.raises(ValueError, match="at_once is at least 1"):
        Limiter(0)


def test_a_429_slows_the_pace_and_successes_restore_it_slowly() -> None:
    pace, error = Pace(0.0), RateLimited("HTTP 429")
    pace.too_fast(error, began=1, now=2)
    assert pace.interval == FIRST_INTERVAL
    pace.too_fast(error, began=1.5, now=2.1)
    assert pace.interval == FIRST_INTERVAL, "it was sent before the lesson: nothing new"
    pace.too_fast(error, began=2.5, now=3)
    assert pace.interval == 2 * FIRST_INTERVAL
    pace.went_well()
    assert FIRST_INTERVAL < pace.interval < 2 * FIRST_INTERVAL
    for _ in range(100):
        pace.went_well()
    assert pace.interval == 0.0


def test_no_pace_is_slower_than_anybody_waits() -> None:
    pace = Pace(2.0)
    for second in range(20):
        pace.too_fast(RateLimited("HTTP 429"), began=second + 0.5, now=second + 0.6)
    assert pace.interval == PATIENCE
    for _ in range(200):
        pace.went_well()
    assert pace.interval == 2.0


def test_the_next_call_waits_as_long_as_the_server_asks() -> None:
    pace = Pace(0.0)
    pace.too_fast(RateLimited("HTTP 429", retry_after=7), began=0, now=1)
    assert pace.wait(2) == 6
    pace.too_fast(RateLimited("HTTP 429", retry_after=9), began=0.5, now=2)
    assert (pace.wait(2), pace.interval) == (9, FIRST_INTERVAL), "an older call sets the delay, not the interval"


def test_a_provider_that_asks_for_a_long_wait_is_blocked() -> None:
    pace = Pace(0.0)
    pace.too_fast(RateLimited("HTTP 429", retry_after=PATIENCE), began=0, now=1)
    assert pace.blocked_for(1) == 0
    pace.too_fast(RateLimited("HTTP 429", retry_after=60), began=0, now=1)
    assert (pace.blocked_for(2), pace.blocked_for(70), pace.wait(2)) == (59, 0, PATIENCE - 1)


async def test_calls_in_line_heed_a_429_that_comes_while_they_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider that lets two through in a window, and says when the next begins: a 429 or two a window tell it."""
    monkeypatch.setattr("leadline._runtime.calls.limits.FIRST_INTERVAL", 0.01)
    limiter, window, clock = Limiter(20), 0.1, asyncio.get_running_loop().time
    let_through, refused, opened = 0, 0, clock()

    async def ask() -> None:
        nonlocal let_through, refused, opened
        if clock() > opened + window:
            let_through, opened = 0, clock()
        if let_through == 2:
            refused += 1
            raise RateLimited("HTTP 429", retry_after=opened + window - clock() + 0.01)
        let_through += 1

    async def work() -> None:
        while True:
            try:
                async with limiter.permit():
                    return await ask()
            except RateLimited:
                continue

    async with asyncio.timeout(4):  # ten windows do
        await asyncio.gather(*(work() for _ in range(20)))
    assert refused <= 18 + 2 * 9, "those at once of the first window, and few of each that follows"


async def test_a_limiter_learns_from_the_errors_of_its_calls() -> None:
    limiter = Limiter(2)
    for error in (Unavailable("HTTP 503"), ValueError("x")):
        with pytest.raises(type(error)):
            async with limiter.permit():
                raise error
    assert limiter.pace.interval == 0
    with pytest.raises(RateLimited):
        async with limiter.permit():
            raise RateLimited("HTTP 429")
    assert limiter.pace.interval == FIRST_INTERVAL
