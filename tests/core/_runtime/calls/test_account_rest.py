"""The rest of an account that fails repeatedly: its calls fail at once, until one trial succeeds."""

from __future__ import annotations

import asyncio

import pytest

from leadline._runtime.calls import retry
from leadline._runtime.calls.limits import Limiter, Slots
from leadline._runtime.calls.retry import AccountHealth
from leadline.errors import BadReply, Denied, RateLimited, Resting, Unavailable, Unsupported


@pytest.fixture(autouse=True)
def no_span(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let failures in a short time count; the tests of the span set their own."""
    monkeypatch.setattr(retry, "LEAST_SPAN", 0.0)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


def resting_account() -> tuple[AccountHealth, Clock]:
    clock = Clock()
    return AccountHealth("wiki", rests=True, clock=clock), clock


async def request(account: AccountHealth, error: Exception | None = None) -> None:
    with account.attempt():
        if error:
            raise error


async def fail(account: AccountHealth, times: int, error: type[Exception] = Unavailable) -> None:
    for _ in range(times):
        with pytest.raises(error):
            await request(account, error("HTTP 503"))


async def rest(account: AccountHealth) -> None:
    await fail(account, 2)
    await fail(account, 1, Resting)


async def test_consecutive_failures_open_it_with_a_reason() -> None:
    account, clock = resting_account()
    await fail(account, 2)
    with pytest.raises(Resting, match=r"^wiki rests for 60 s after 3 failures in a row, the last: HTTP 503$"):
        await request(account, Unavailable("HTTP 503"))
    with pytest.raises(Resting):
        account.admit()
    clock.now += 59
    with pytest.raises(Resting):
        await request(account)
    clock.now += 1
    await request(account)
    await fail(account, 2)
    account.admit()


async def test_failures_in_a_short_time_do_not_open_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "LEAST_SPAN", 2.0)
    account, clock = resting_account()
    await fail(account, 9)
    account.admit()
    clock.now += 2
    with pytest.raises(Resting, match="after 10 failures in a row"):
        await request(account, Unavailable("HTTP 503"))


async def test_rejected_keys_open_it_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "LEAST_SPAN", 2.0)
    account, _ = resting_account()
    await fail(account, 2, Denied)
    with pytest.raises(Resting):
        await request(account, Denied("HTTP 401"))


async def test_a_success_resets_the_count() -> None:
    account, _ = resting_account()
    for _ in range(5):
        await fail(account, 2)
        await request(account)


@pytest.mark.parametrize("error", [BadReply, Unsupported, ValueError])
async def test_errors_of_the_request_do_not_count(error: type[Exception]) -> None:
    account, _ = resting_account()
    await fail(account, 5, error)
    account.admit()


async def test_concurrent_failures_count_once() -> None:
    account, _ = resting_account()
    gate = asyncio.Event()

    async def one() -> None:
        with account.attempt():
            await gate.wait()
            raise Unavailable("HTTP 503")

    crowd = [asyncio.create_task(one()) for _ in range(10)]
    await asyncio.sleep(0)
    gate.set()
    errors = await asyncio.gather(*crowd, return_exceptions=True)
    assert {type(error) for error in errors} == {Unavailable}
    account.admit()
    await fail(account, 1)
    with pytest.raises(Resting):
        await request(account, Unavailable("HTTP 503"))


async def test_it_stays_open_as_long_as_the_server_asks() -> None:
    account, clock = resting_account()
    with pytest.raises(Resting, match="rests for 300 s after a failure, the last: HTTP 429"):
        await request(account, RateLimited("HTTP 429", retry_after=300))
    clock.now += 299
    with pytest.raises(Resting):
        account.admit()
    clock.now += 1
    account.admit()


async def test_one_trial_request_is_made_while_others_fail() -> None:
    account, clock = resting_account()
    await rest(account)
    clock.now += 60
    gate = asyncio.Event()

    async def probe(error: Exception | None) -> None:
        with account.attempt():
            await gate.wait()
            if error:
                raise error

    first = asyncio.create_task(probe(Unavailable("HTTP 503")))
    await asyncio.sleep(0)
    with pytest.raises(Resting):
        await request(account)
    gate.set()
    with pytest.raises(Resting):
        await first
    with pytest.raises(Resting):
        account.admit()


async def test_a_cancelled_trial_allows_the_next_one() -> None:
    account, clock = resting_account()
    await rest(account)
    clock.now += 60

    async def hang() -> None:
        with account.attempt():
            await asyncio.Event().wait()

    probe = asyncio.create_task(hang())
    await asyncio.sleep(0)
    probe.cancel()
    await asyncio.gather(probe, return_exceptions=True)
    await request(account)
    account.admit()


async def test_a_call_to_a_resting_account_fails_before_the_wait_for_a_permit() -> None:
    limiter, slots = Limiter(1, name="wiki", rests=True), Slots(1)
    await rest(limiter.health)
    async with slots.permit():
        with pytest.raises(Resting):
            async with asyncio.timeout(1), limiter.permit(slots):
                pass
