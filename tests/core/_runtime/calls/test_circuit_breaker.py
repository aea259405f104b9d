"""Breakers: who fails time and again rests, and is tried again by one request."""

from __future__ import annotations

import asyncio

import pytest

import leadline._runtime.calls.circuit_breaker
from leadline._runtime.calls.circuit_breaker import BreakerLimit, CircuitBreaker
from leadline._runtime.calls.limits import Slots
from leadline.errors import BadReply, Denied, RateLimited, Resting, Unavailable, Unsupported


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take failures for lasting at once; the test of that sets its own time."""
    monkeypatch.setattr(leadline._runtime.calls.circuit_breaker, "LEAST_SPAN", 0.0)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


def breaker(after: int = 3, rest: float = 60) -> tuple[CircuitBreaker, Clock]:
    clock = Clock()
    return CircuitBreaker("wiki", after, rest, clock), clock


async def request(guard: CircuitBreaker, error: Exception | None = None) -> None:
    async with guard.attempt():
        if error:
            raise error


async def fail(guard: CircuitBreaker, times: int, error: type[Exception] = Unavailable) -> None:
    for _ in range(times):
        with pytest.raises(error):
            await request(guard, error("HTTP 503"))


async def test_consecutive_failures_open_it_with_a_reason() -> None:
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


async def test_failures_in_a_short_time_do_not_open_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leadline._runtime.calls.circuit_breaker, "LEAST_SPAN", 2.0)
    guard, clock = breaker()
    await fail(guard, 9)
    guard.admit()
    clock.now += 2
    with pytest.raises(Resting, match="after 10 failures in a row"):
        await request(guard, Unavailable("HTTP 503"))


async def test_rejected_keys_open_it_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leadline._runtime.calls.circuit_breaker, "LEAST_SPAN", 2.0)
    guard, _ = breaker()
    await fail(guard, 2, Denied)
    with pytest.raises(Resting):
        await request(guard, Denied("HTTP 401"))


async def test_a_success_resets_the_count() -> None:
    guard, _ = breaker()
    for _ in range(5):
        await fail(guard, 2)
        await request(guard)


@pytest.mark.parametrize("error", [BadReply, Unsupported, ValueError])
async def test_errors_of_the_request_do_not_count(error: type[Exception]) -> None:
    guard, _ = breaker(after=1)
    await fail(guard, 5, error)
    guard.admit()


async def test_a_rejected_key_counts() -> None:
    guard, _ = breaker(after=2)
    await fail(guard, 1, Denied)
    with pytest.raises(Resting):
        await request(guard, Denied("HTTP 401"))


async def test_concurrent_failures_count_once() -> None:
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


async def test_it_stays_open_as_long_as_the_server_asks() -> None:
    guard, clock = breaker()
    with pytest.raises(Resting, match="rests for 300 s after a failure, the last: HTTP 429"):
        await request(guard, RateLimited("HTTP 429", retry_after=300))
    clock.now += 299
    with pytest.raises(Resting):
        guard.admit()
    clock.now += 1
    guard.admit()


async def test_one_trial_request_is_made_while_others_fail() -> None:
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


async def test_a_cancelled_trial_allows_the_next_one() -> None:
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


async def test_an_open_breaker_fails_before_the_wait_for_a_permit() -> None:
    guard, _ = breaker(after=1)
    await fail(guard, 1, Resting)
    slots = Slots(1)
    async with slots.permit():
        with pytest.raises(Resting):
            async with asyncio.timeout(1), BreakerLimit(guard, slots).permit():
                pass
