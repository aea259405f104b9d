"""Processes that do functions: the same answers as here, and an end for whatever does not end by itself."""

from __future__ import annotations

import asyncio
import math
import operator
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from leadline import computing, errors
from leadline.computing import compute, get_ready
from leadline.concurrency.crowd import run_under_way
from leadline.concurrency.worker import answer
from leadline.concurrency.workers import Died, Unknown, Workers
from leadline.records import Blob
from leadline_plugins.fetch.guard import Guard


@pytest.fixture
def workers() -> Iterator[Workers]:
    made = Workers(2)
    yield made
    made.close()


async def test_they_answer_as_functions_do_here(workers: Workers) -> None:
    blob = Blob(name="a", media_type="text/plain", data=b"\x00")
    assert await workers.do(operator.attrgetter("media_type"), blob) == "text/plain"
    numbers = range(20)
    assert await asyncio.gather(*(workers.do(math.factorial, n) for n in numbers)) == [*map(math.factorial, numbers)]
    assert len(workers._idle) <= 2


async def test_an_error_comes_back_as_itself_and_the_process_goes_on(workers: Workers) -> None:
    with pytest.raises(ValueError, match="negative"):
        await workers.do(math.factorial, -1)
    (process,) = workers._idle
    assert await workers.do(math.factorial, 3) == 6
    assert workers._idle == [process]


_PROVIDERS = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.ProviderError)]


@pytest.mark.parametrize("kind", _PROVIDERS)
def test_what_a_provider_may_raise_can_travel(kind: type[errors.ProviderError]) -> None:
    told = pickle.loads(answer(pickle.dumps((_raising, (kind("words for people", retry_after=3.0),)))))
    assert (told.how, type(told.value), str(told.value), told.value.retry_after) == (
        "raised",
        kind,
        "words for people",
        3.0,
    )


def test_an_error_that_cannot_be_made_again_is_told_in_words() -> None:
    told = pickle.loads(answer(pickle.dumps((Guard().url, ("http://127.0.0.1/",)))))
    assert (told.how, type(told.value)) == ("raised", RuntimeError)
    assert str(told.value).startswith("Blocked: http://127.0.0.1/: 127.0.0.1 is loopback")


def _raising(error: Exception) -> None:
    raise error


async def test_what_cannot_be_sent_is_told(workers: Workers) -> None:
    with pytest.raises(Unknown):
        await workers.do(lambda: 1)
    with pytest.raises(Unknown, match="here_only"):
        await workers.do(_of_a_module_that_only_this_process_knows())
    with pytest.raises(Unknown, match="TextIOWrapper"):
        await workers.do(open, os.devnull)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(Unknown, match="recursion"):
        await workers.do(len, deep)
    assert await workers.do(math.factorial, 3) == 6


def _of_a_module_that_only_this_process_knows() -> Callable[[], int]:
    from types import ModuleType

    module = ModuleType("here_only")
    exec("def function(): return 1", vars(module))
    sys.modules["here_only"] = module
    function: Callable[[], int] = module.function
    return function


async def test_a_call_that_takes_too_long_ends_its_process() -> None:
    workers = Workers(1, seconds=0.2)
    with pytest.raises(Died) as died:
        await workers.do(time.sleep, 30)
    assert died.value.late
    assert workers._idle == []
    workers.close()


async def test_a_process_that_dies_is_told_and_replaced(workers: Workers) -> None:
    await workers.do(math.factorial, 1)
    (process,) = workers._idle
    task = asyncio.create_task(workers.do(time.sleep, 30))
    await asyncio.sleep(0.2)
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(Died) as died:
        await task
    assert (died.value.status, died.value.late) == (-9, False)
    assert await workers.do(math.factorial, 3) == 6
    os.kill(workers._idle[0].pid, signal.SIGKILL)  # and while nothing is to be done
    workers._idle[0].wait()
    assert await workers.do(math.factorial, 3) == 6


async def test_many_calls_wait_for_few_processes_and_none_is_lost_by_one_that_is_cancelled(workers: Workers) -> None:
    tasks = [asyncio.create_task(workers.do(math.factorial, 5)) for _ in range(40)]
    await asyncio.sleep(0)
    tasks[39].cancel()
    assert await asyncio.gather(*tasks[:39]) == [120] * 39
    assert len(workers._idle) <= 2


@pytest.mark.parametrize("seconds", [0.0, 60.0])
async def test_cancelling_ends_the_process_where_calls_are_bounded(seconds: float) -> None:
    workers = Workers(1, seconds)
    await workers.do(math.factorial, 1)
    (process,) = workers._idle
    task = asyncio.create_task(workers.do(time.sleep, 0.5 if not seconds else 60))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await workers.do(math.factorial, 3) == 6
    assert (workers._idle == [process]) is not bool(seconds)
    workers.close()


async def test_a_function_of_the_users_script_is_not_taken_for_one_of_the_worker(workers: Workers) -> None:
    main = sys.modules["__main__"]

    def answer(call: bytes) -> bytes:
        return b"mine"

    answer.__module__, answer.__qualname__ = "__main__", "answer"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(main, "answer", answer, raising=False)
        with pytest.raises(Unknown, match="__main__"):
            await workers.do(answer, b"")


async def test_what_is_cancelled_before_its_process_is_there_costs_no_other_its_time() -> None:
    workers = Workers(1, seconds=60)
    begun = workers._begun

    def slow() -> Any:
        time.sleep(0.3)
        return begun()

    workers._begun = slow  # type: ignore[method-assign]
    task = asyncio.create_task(workers.do(time.sleep, 30))
    await asyncio.sleep(0.1)
    task.cancel()
    async with asyncio.timeout(10):
        assert await workers.do(math.factorial, 3) == 6
    workers.close()


async def test_closing_ends_what_is_busy() -> None:
    workers = Workers(1)
    task = asyncio.create_task(workers.do(time.sleep, 30))
    async with asyncio.timeout(10):
        while not workers._busy:
            await asyncio.sleep(0.01)
        workers.close()
        with pytest.raises(Died):
            await task
    assert (workers._idle, workers._busy) == ([], set())


async def test_where_no_process_can_be_begun_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leadline.concurrency.workers.sys.executable", "/nowhere/python")
    workers = Workers(1)
    with pytest.raises(Died):
        await workers.do(math.factorial, 3)
    workers.close()


def test_a_child_by_fork_ends_without_its_parents_processes() -> None:
    code = (
        "import asyncio, math, os, sys\n"
        "from leadline.computing import compute\n"
        "from leadline.concurrency.crowd import run_under_way\n"
        "with run_under_way(), run_under_way():\n"
        "    assert asyncio.run(compute(math.factorial, 3)) == 6\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    sys.exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert asyncio.run(compute(math.factorial, 4)) == 24\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.fixture
def computer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Begin as a process that has computed nothing yet."""
    made: list[Any] = []
    monkeypatch.setattr(computing, "_computer", made)
    yield
    if made and made[0].workers:
        made[0].workers.close()


@pytest.mark.usefixtures("computer")
async def test_one_run_computes_here_and_a_crowd_beside() -> None:
    with run_under_way():
        assert await compute(os.getpid) == os.getpid()
        with run_under_way():
            assert await compute(os.getpid) != os.getpid()
            assert await compute(lambda: 7) == 7
            assert await compute(int, "11", base=2) == 3
            with pytest.raises(ValueError, match="invalid literal"):
                await compute(int, "x")


@pytest.mark.usefixtures("computer")
async def test_a_crowd_computes_here_where_there_can_be_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leadline.concurrency.workers.sys.executable", None)
    with run_under_way(), run_under_way():
        get_ready()
        assert await compute(os.getpid) == os.getpid()


@pytest.mark.usefixtures("computer")
async def test_what_cannot_travel_is_done_here() -> None:
    with run_under_way(), run_under_way(), await compute(open, os.devnull) as file:
        assert file.readable()


@pytest.mark.usefixtures("computer")
async def test_what_the_process_beside_did_not_live_to_do_is_done_here() -> None:
    with run_under_way(), run_under_way():
        beside = await compute(os.getpid)
        task = asyncio.create_task(compute(time.sleep, 0.5))
        await asyncio.sleep(0.2)
        os.kill(beside, signal.SIGKILL)
        await task
        assert await compute(os.getpid) not in (beside, os.getpid())
