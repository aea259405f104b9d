"""Breakers: who fails time and again rests, and is tried again by one request."""

from __future__ import annotations

import asyncio

import pytest

import leadline.door.breaker
from leadline.door.breaker import Breaker, Guarded
from leadline.door.limits import Slots
from leadline.errors import BadReply, Denied, RateLimited, Resting, Unavailable, Unsupported


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take failures for lasting at once; the test of that sets its own time."""
    monkeypatch.setattr(leadline.door.breaker, "LASTING", 0.0)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


def breaker(after: int = 3, rest: float = 60) -> tuple[Breaker, Clock]:
    clock = Clock()
    return Breaker("wiki", after, rest, clock), clock


async def request(guard: Breaker, error: Exception | None = None) -> None:
    async with guard.attempt():
        if error:
            raise error


async def fail(guard: Breaker, times: int, error: type[Exception] = Unavailable) -> None:
    for _ in range(times):
        with pytest.raises(error):
            await request(guard, error("HTTP 503"))


async def test_after_failures_in_a_row_it_rests_and_says_why() -> None:
    guard, clock = breaker()
    await fail(guard, 2)
    with pytest.raises(Resting, match=r"^wiki rests for 60 s after 3 failures in a row, the last: HTTP 503$"):
        await request(guard, Unavailable("HTTP 503"))
    with pytest.raises(Resting):
        guard.admit()
    clock.now += 59
    with pytest.raises(Resting):
        await request(guard)
    clock.now += 1
    await request(guard)
    await fail(guard, 2)
    guard.admit()


async def test_failures_that_have_not_lasted_are_bad_luck(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leadline.door.breaker, "LASTING", 2.0)
    guard, clock = breaker()
    await fail(guard, 9)
    guard.admit()
    clock.now += 2
    with pytest.raises(Resting, match="after 10 failures in a row"):
        await request(guard, Unavailable("HTTP 503"))


async def test_a_rejected_key_is_no_bad_luck(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leadline.door.breaker, "LASTING", 2.0)
    guard, _ = breaker()
    await fail(guard, 2, Denied)
    with pytest.raises(Resting):
        await request(guard, Denied("HTTP 401"))


async def test_a_success_between_begins_the_count_anew() -> None:
    guard, _ = breaker()
    for _ in range(5):
        await fail(guard, 2)
        await request(guard)


@pytest.mark.parametrize("error", [BadReply, Unsupported, ValueError])
async def test_what_says_nothing_about_the_engine_does_not_count(error: type[Exception]) -> None:
    guard, _ = breaker(after=1)
    await fail(guard, 5, error)
    guard.admit()


async def test_a_rejected_key_counts() -> None:
    guard, _ = breaker(after=2)
    await fail(guard, 1, Denied)
    with pytest.raises(Resting):
        await request(guard, Denied("HTTP 401"))


async def test_failures_side_by_side_are_one() -> None:
    guard, _ = breaker()
    gate = asyncio.Event()

    async def one() -> None:
        async with guard.attempt():
            await gate.wait()
            raise Unavailable("HTTP 503")

    crowd = [asyncio.create_task(one()) for _ in range(10)]
    await asyncio.sleep(0)
    gate.set()
    errors = await asyncio.gather(*crowd, return_exceptions=True)
    assert {type(error) for error in errors} == {Unavailable}
    guard.admit()
    await fail(guard, 1)
    with pytest.raises(Resting):
        await request(guard, Unavailable("HTTP 503"))


async def test_a_server_that_wants_long_to_be_left_alone_is_left_alone_that_long() -> None:
    guard, clock = breaker()
    with pytest.raises(Resting, match="rests for 300 s after a failure, the last: HTTP 429"):
        await request(guard, RateLimited("HTTP 429", retry_after=300))
    clock.now += 299
    with pytest.raises(Resting):
        guard.admit()
    clock.now += 1
    guard.admit()


async def test_one_request_goes_out_to_see_and_the_others_still_fail() -> None:
    guard, clock = breaker(after=1)
    await fail(guard, 1, Resting)
    clock.now += 60
    gate = asyncio.Event()

    async def probe(error: Exception | None) -> None:
        async with guard.attempt():
            await gate.wait()
            if error:
                raise error

    first = asyncio.create_task(probe(Unavailable("HTTP 503")))
    await asyncio.sleep(0)
    with pytest.raises(Resting):
        await request(guard)
    gate.set()
    with pytest.raises(Resting):
        await first
    with pytest.raises(Resting):
        guard.admit()


async def test_a_cancelled_probe_lets_the_next_one_go() -> None:
    guard, clock = breaker(after=1)
    await fail(guard, 1, Resting)
    clock.now += 60

    async def hang() -> None:
        async with guard.attempt():
            await asyncio.Event().wait()

    probe = asyncio.create_task(hang())
    await asyncio.sleep(0)
    probe.cancel()
    await asyncio.gather(probe, return_exceptions=True)
    await request(guard)
    guard.admit()


async def test_switched_off_it_never_rests() -> None:
    guard, _ = breaker(after=0)
    await fail(guard, 20)
    await request(guard)


async def test_who_rests_is_told_before_the_wait_in_line() -> None:
    guard, _ = breaker(after=1)
    await fail(guard, 1, Resting)
    slots = Slots(1)
    async with slots.permit():
        with pytest.raises(Resting):
            async with asyncio.timeout(1), Guarded(guard, slots).permit():
                pass
