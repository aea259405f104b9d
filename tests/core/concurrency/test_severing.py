"""A timeout that holds: work that swallows its cancellation is left to itself, all other is ended as ever."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Coroutine
from contextvars import ContextVar
from typing import Any

import pytest

from leadline.concurrency import leaving
from leadline.concurrency.severing import Contained, Severable

where: ContextVar[str] = ContextVar("where", default="nowhere")


class Stubborn:
    """Goes on whatever is thrown at it, until it is let go; notes how often that was."""

    def __init__(self) -> None:
        self.thrown = 0
        self.let_go = asyncio.Event()
        self.ended = asyncio.Event()

    async def work(self) -> str:
        while not self.let_go.is_set():
            try:
                await self.let_go.wait()
            except asyncio.CancelledError:
                self.thrown += 1
        self.ended.set()
        return "late"


async def test_what_ends_in_time_gives_its_reply_and_its_errors() -> None:
    async def work(error: Exception | None) -> str:
        await asyncio.sleep(0)
        await asyncio.create_task(asyncio.sleep(0.001))
        if error:
            raise error
        return where.get()

    where.set("here")
    async with asyncio.timeout(10) as deadline:
        assert await Severable(work(None), deadline) == "here"
        with pytest.raises(KeyError):
            await Severable(work(KeyError("x")), deadline)


async def test_what_cleans_up_within_the_grace_is_waited_for_in_its_own_task() -> None:
    seen: list[object] = []

    async def work() -> None:
        task = asyncio.current_task()
        try:
            await asyncio.sleep(10)
        finally:
            await asyncio.sleep(0.02)
            seen.append(asyncio.current_task() is task)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01) as deadline:
            await Severable(work(), deadline, grace=5)
    assert seen == [True]


async def test_what_goes_on_is_left_alone_and_the_task_is_as_it_was() -> None:
    stubborn, task = Stubborn(), asyncio.current_task()
    assert task
    deadline = asyncio.timeout(0.01)
    work = Severable(stubborn.work(), deadline, grace=0.02)
    with pytest.raises(TimeoutError):
        async with deadline:
            await work
    assert work.severed
    assert task.cancelling() == 0
    await asyncio.sleep(0.05)
    assert stubborn.thrown == 2
    assert not stubborn.ended.is_set()
    stubborn.let_go.set()
    await asyncio.wait_for(stubborn.ended.wait(), 5)


async def test_a_real_cancellation_is_passed_on_and_is_no_timeout() -> None:
    async def within() -> None:
        async with asyncio.timeout(10) as deadline:
            await Severable(asyncio.sleep(10), deadline, grace=0.01)

    task = asyncio.create_task(within())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancellation_while_the_grace_runs_is_not_lost() -> None:
    stubborn = Stubborn()

    async def within() -> None:
        async with asyncio.timeout(0.01) as deadline:
            await Severable(stubborn.work(), deadline, grace=0.1)

    task = asyncio.create_task(within())
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asyncio.shield(task), 5)
    stubborn.let_go.set()
    await asyncio.wait_for(stubborn.ended.wait(), 5)


def test_a_loop_is_left_though_a_task_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "GRACE", 0.05)
    behind: list[asyncio.Runner] = []
    monkeypatch.setattr(leaving, "_behind", behind)
    stubborn: list[Stubborn] = []

    async def main() -> int:
        stubborn.append(Stubborn())
        stubborn.append(asyncio.create_task(stubborn[0].work()))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        return 7

    assert leaving.run(main()) == 7
    (runner,) = behind
    stubborn[0].let_go.set()
    runner.run(asyncio.sleep(0.01))
    runner.close()
    assert leaving.run(asyncio.sleep(0, 3)) == 3
    assert len(behind) == 1


@pytest.mark.parametrize(
    "goes_on",
    [
        "loop.append(asyncio.create_task(forever()))",
        "threading.Thread(target=time.sleep, args=(60,), name='leadline-acts_0').start()",
    ],
)
def test_the_process_ends_with_its_code_though_something_goes_on(goes_on: str) -> None:
    code = f"""
import asyncio, sys, threading, time
from leadline.concurrency import leaving
from leadline.cli import main
loop = []
leaving.LAST = 0.2
async def forever():
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass
async def work():
    {goes_on}
    await asyncio.sleep(0)
def run(args):
    leaving.run(work())
    print("last words")
    return 4
from leadline.cli import version
version.run = run
sys.argv = ["leadline", "version"]
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (4, "last words\n", "")


# --- who cancels the task it runs in -------------------------------------------------------------------------------


def me() -> asyncio.Task[object]:
    task = asyncio.current_task()
    assert task
    return task


async def cancels_and_waits(times: int) -> str:
    for _ in range(times):
        me().cancel()
    await asyncio.sleep(10)
    return "never"


async def cancels_and_goes(times: int) -> str:
    await asyncio.sleep(0)
    for _ in range(times):
        me().cancel()
    return "done"


async def cancels_and_raises(times: int) -> str:
    for _ in range(times):
        me().cancel()
    raise KeyError("x")


def contained(work: Coroutine[Any, Any, str], deadline: asyncio.Timeout) -> Awaitable[str]:
    return Contained(work)


@pytest.mark.parametrize("wrap", [Severable, contained])
@pytest.mark.parametrize("times", [1, 3])
async def test_who_cancels_its_own_task_cancels_nobody_else(wrap: Any, times: int) -> None:
    async with asyncio.timeout(10) as deadline:
        with pytest.raises(asyncio.CancelledError):
            await wrap(cancels_and_waits(times), deadline)
        assert me().cancelling() == 0
        assert await wrap(cancels_and_goes(times), deadline) == "done"
        with pytest.raises(KeyError):
            await wrap(cancels_and_raises(times), deadline)
        await asyncio.sleep(0.001)  # nothing is left to be thrown
        assert me().cancelling() == 0


async def test_a_cancellation_beside_the_works_own_is_not_lost() -> None:
    async def within() -> None:
        asyncio.get_running_loop().call_soon(task.cancel)
        await Contained(cancels_and_goes(1))
        await asyncio.sleep(10)

    task = asyncio.create_task(within())
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asyncio.shield(task), 5)
    assert task.cancelling() == 1


async def side_by_side() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(cancels_and_raises(0))
        await asyncio.sleep(10)


async def test_a_timeout_of_the_works_own_is_as_ever() -> None:
    async def work() -> str:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await asyncio.sleep(10)
        with pytest.raises(ExceptionGroup):
            await side_by_side()
        return "done"

    async with asyncio.timeout(10) as deadline:
        assert await Severable(work(), deadline) == "done"
        assert await Contained(work()) == "done"
