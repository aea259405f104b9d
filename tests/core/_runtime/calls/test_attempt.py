"""Plugin code in a task of its own: a timeout holds whatever the code does with its cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

import pytest

from leadline._hosting.faults import Held
from leadline._runtime.calls import attempt
from leadline._runtime.calls.attempt import TimedOut, run_in_task
from leadline.errors import Severed, Unavailable

where: ContextVar[str] = ContextVar("where", default="nowhere")


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(attempt, "GRACE", 0.05)
    return []


class Stubborn:
    """Ignores every cancellation until `let_go` is set, and counts them."""

    def __init__(self) -> None:
        self.cancelled = 0
        self.let_go = asyncio.Event()
        self.ended = asyncio.Event()

    async def work(self) -> str:
        while not self.let_go.is_set():
            try:
                await self.let_go.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
        self.ended.set()
        return "late"


async def test_a_result_and_an_error_pass_through(messages: list[str]) -> None:
    async def work(error: BaseException | None) -> str:
        await asyncio.sleep(0)
        if error:
            raise error
        return where.get()

    where.set("here")
    assert await run_in_task(work(None), "chat", messages.append, 5) == "here"
    with pytest.raises(KeyError):
        await run_in_task(work(KeyError("x")), "chat", messages.append, 5)
    for error in (SystemExit(3), GeneratorExit(), asyncio.CancelledError()):
        with pytest.raises(Held, match=type(error).__name__):
            await run_in_task(work(error), "chat", messages.append, 5)
    assert messages == []


async def test_code_that_cleans_up_within_the_grace_period_is_waited_for(messages: list[str]) -> None:
    cleaned = []

    async def work() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            await asyncio.sleep(0.01)
            cleaned.append(True)

    with pytest.raises(TimedOut) as caught:
        await run_in_task(work(), "chat", messages.append, 0.01)
    assert (type(caught.value.error), str(caught.value)) == (Unavailable, "no reply within 0.01 s")
    assert cleaned == [True]


async def test_a_reply_within_the_grace_period_is_taken(messages: list[str]) -> None:
    async def work() -> str:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            return "just in time"
        return "never"

    assert await run_in_task(work(), "chat", messages.append, 0.01) == "just in time"
    caller = asyncio.create_task(run_in_task(work(), "chat", messages.append))
    await asyncio.sleep(0.01)
    caller.cancel()
    assert await caller == "just in time"


async def test_code_that_ignores_its_timeout_is_left_behind(messages: list[str]) -> None:
    stubborn, task = Stubborn(), asyncio.current_task()
    assert task
    with pytest.raises(TimedOut, match="it goes on though it was cancelled") as caught:
        await run_in_task(stubborn.work(), "chat", messages.append, 0.01)
    assert isinstance(caught.value.error, Severed)
    assert (stubborn.cancelled, task.cancelling()) == (1, 0)
    stubborn.let_go.set()
    await asyncio.wait_for(stubborn.ended.wait(), 5)


async def test_code_that_ignores_the_cancellation_of_its_caller_is_named(messages: list[str]) -> None:
    stubborn = Stubborn()
    caller = asyncio.create_task(run_in_task(stubborn.work(), "search by deaf", messages.append, 10))
    await asyncio.sleep(0.01)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert messages == ["search by deaf goes on 0.05 s after it was cancelled"]
    stubborn.let_go.set()
    await asyncio.wait_for(stubborn.ended.wait(), 5)


async def test_a_cancellation_during_the_grace_period_is_not_lost(messages: list[str]) -> None:
    stubborn = Stubborn()
    caller = asyncio.create_task(run_in_task(stubborn.work(), "chat", messages.append, 0.01))
    await asyncio.sleep(0.03)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    stubborn.let_go.set()
    await asyncio.wait_for(stubborn.ended.wait(), 5)


def cancel_me(times: int) -> None:
    task = asyncio.current_task()
    assert task
    for _ in range(times):
        task.cancel()


async def cancels_and_waits(times: int) -> str:
    cancel_me(times)
    await asyncio.sleep(10)
    return "never"


async def cancels_and_returns(times: int) -> str:
    await asyncio.sleep(0)
    cancel_me(times)
    return "done"


async def cancels_and_raises(times: int) -> str:
    cancel_me(times)
    raise KeyError("x")


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize(
    ("work", "error"),
    [
        (cancels_and_waits, Held),
        (cancels_and_returns, Held),
        (cancels_and_raises, KeyError),
    ],
)
async def test_code_that_cancels_its_own_task_cancels_nobody_else(
    work: Callable[[int], Awaitable[str]], error: type[BaseException], times: int, messages: list[str]
) -> None:
    with pytest.raises(error):
        await run_in_task(work(times), "chat", messages.append, 5)
    await asyncio.sleep(0.001)
    task = asyncio.current_task()
    assert task
    assert task.cancelling() == 0
