"""Limits: how many at once, how soon after one another."""

import asyncio

import pytest

from leadline._runtime.calls.limits import ClientLimits, Limiter, Slots
from leadline._runtime.calls.retry import FIRST_INTERVAL, PATIENCE, AccountHealth
from leadline.errors import RateLimited, Unavailable


async def most_at_once(limiter: Limiter, calls: int, run: Slots | None = None) -> int:
    now = most = 0

    async def work() -> None:
        nonlocal now, most
        async with limiter.permit(run):
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
    assert await most_at_once(Limiter(2), 10, Slots(5)) == 2
    assert await most_at_once(Limiter(5), 10, Slots(4)) == 4


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


def test_calls_to_one_account_share_a_limiter() -> None:
    limits = ClientLimits()

    def limiter(*owner: str, at_once: int = 2) -> Limiter:
        return limits.limiter(owner, at_once, 0.0, name="wiki", rests=True, local=False)

    assert limiter("wiki", "key 1") is limiter("wiki", "key 1")
    assert limiter("wiki", "key 1") is not limiter("wiki", "key 2")
    assert limiter("wiki", "key 1") is not limiter("wiki", "key 1", at_once=3)


def test_impossible_limits_are_refused() -> None:
    with pytest.raises(ValueError, match="at_once is at least 1"):
        Limiter(0)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def refuse(health: AccountHealth, clock: Clock, began: float, now: float, retry_after: float | None = None) -> None:
    clock.now = now
    health.too_fast(RateLimited("HTTP 429", retry_after=retry_after), began)


def succeed(health: AccountHealth, times: int) -> None:
    for _ in range(times):
        with health.attempt():
            pass


def test_a_429_slows_the_pace_and_successes_restore_it_slowly() -> None:
    health = AccountHealth(clock=(clock := Clock()))
    refuse(health, clock, began=1, now=2)
    assert health.interval == FIRST_INTERVAL
    refuse(health, clock, began=1.5, now=2.1)
    assert health.interval == FIRST_INTERVAL, "it was sent before the first one was learned"
    refuse(health, clock, began=2.5, now=3)
    assert health.interval == 2 * FIRST_INTERVAL
    succeed(health, 1)
    assert FIRST_INTERVAL < health.interval < 2 * FIRST_INTERVAL
    succeed(health, 100)
    assert health.interval == 0.0


def test_no_pace_is_slower_than_the_longest_wait() -> None:
    health = AccountHealth(interval=2.0, clock=(clock := Clock()))
    for second in range(20):
        refuse(health, clock, began=second + 0.5, now=second + 0.6)
    assert health.interval == PATIENCE
    succeed(health, 200)
    assert health.interval == 2.0


def test_the_next_call_waits_as_long_as_the_server_asks() -> None:
    health = AccountHealth(clock=(clock := Clock()))
    refuse(health, clock, began=0, now=1, retry_after=7)
    clock.now = 2
    assert health.wait() == 6
    refuse(health, clock, began=0.5, now=2, retry_after=9)
    assert (health.wait(), health.interval) == (9, FIRST_INTERVAL), "an older call sets the delay, not the interval"


def test_a_provider_that_asks_for_a_long_wait_is_blocked() -> None:
    health = AccountHealth(clock=(clock := Clock()))
    refuse(health, clock, began=0, now=1, retry_after=PATIENCE)
    assert health.blocked_for() == 0
    refuse(health, clock, began=0, now=1, retry_after=60)
    clock.now = 2
    assert (health.blocked_for(), health.wait()) == (59, PATIENCE - 1)
    clock.now = 70
    assert health.blocked_for() == 0


async def test_calls_in_line_heed_a_429_that_comes_while_they_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider that lets two through in a window, and says when the next begins: a 429 or two a window tell it."""
    monkeypatch.setattr("leadline._runtime.calls.retry.FIRST_INTERVAL", 0.01)
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
    assert limiter.health.interval == 0
    with pytest.raises(RateLimited):
        async with limiter.permit():
            raise RateLimited("HTTP 429")
    assert limiter.health.interval == FIRST_INTERVAL
