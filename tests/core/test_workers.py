"""Worker processes: the results of functions, and an end for functions that do not end by themselves."""

from __future__ import annotations

import asyncio
import importlib
import math
import operator
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from leadline import errors, workers
from leadline.records import Blob
from leadline.workers import NotPicklable, WorkerDied, compute, run
from leadline_plugins.fetch.guard import Guard


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Any]]:
    """Start as a process without workers; returns a function that returns the pool."""
    monkeypatch.setattr(workers, "_pools", [])
    yield workers._pool
    workers.close()


def raising(error: Exception) -> None:
    raise error


async def test_functions_return_as_they_do_here() -> None:
    blob = Blob(name="a", media_type="text/plain", data=b"\x00")
    assert await run(operator.attrgetter("media_type"), blob, timeout=30) == "text/plain"
    numbers = range(20)
    results = await asyncio.gather(*(run(math.factorial, number, timeout=30) for number in numbers))
    assert results == [*map(math.factorial, numbers)]


async def test_one_worker_serves_many_calls(pool: Callable[[], Any]) -> None:
    pids = await asyncio.gather(*(run(os.getpid, timeout=30) for _ in range(40)))
    assert len(set(pids)) == 1 != os.getpid()
    assert pool()._count == 1


async def test_a_call_that_waits_long_starts_another_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_PATIENCE", 0.1)
    assert await run(math.factorial, 3, timeout=30) == 6
    first = asyncio.create_task(run(time.sleep, 60, timeout=60))
    async with asyncio.timeout(10):
        assert await run(math.factorial, 3, timeout=30) == 6
    first.cancel()


async def test_an_error_is_raised_and_the_worker_continues() -> None:
    pid = await run(os.getpid, timeout=30)
    with pytest.raises(ValueError, match="negative"):
        await run(math.factorial, -1, timeout=30)
    assert await run(os.getpid, timeout=30) == pid


_PROVIDER_ERRORS = [
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.ProviderError)
]


def answer(function: Callable[..., Any], *args: Any) -> tuple[str, Any]:
    call = pickle.dumps((sys.path, {})) + pickle.dumps((partial(function, *args), None, None))
    outcome, value = pickle.loads(workers._answer(call, StringIO()))
    return outcome, value


@pytest.mark.parametrize("kind", _PROVIDER_ERRORS)
def test_errors_of_providers_can_be_pickled(kind: type[errors.ProviderError]) -> None:
    outcome, error = answer(raising, kind("a message", retry_after=3.0))
    assert (outcome, type(error), str(error), error.retry_after) == ("raised", kind, "a message", 3.0)


def test_an_error_that_cannot_be_restored_keeps_its_message() -> None:
    outcome, error = answer(Guard().url, "http://127.0.0.1/")
    assert (outcome, type(error)) == ("raised", RuntimeError)
    assert str(error).startswith("Blocked: http://127.0.0.1/: 127.0.0.1 is loopback")


async def test_a_value_that_cannot_be_pickled_raises_an_error_that_says_so() -> None:
    with pytest.raises(NotPicklable):
        await run(lambda: 1, timeout=30)
    module = ModuleType("here_only")
    exec("def function(): return 1", vars(module))
    sys.modules["here_only"] = module
    with pytest.raises(NotPicklable, match="here_only"):
        await run(module.function, timeout=30)
    with pytest.raises(NotPicklable, match="TextIOWrapper"):
        await run(open, os.devnull, timeout=30)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(NotPicklable, match="recursion"):
        await run(len, deep, timeout=30)
    assert await run(math.factorial, 3, timeout=30) == 6


async def test_a_module_can_be_imported_whose_folder_was_added_since_the_worker_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run(math.factorial, 3, timeout=30)
    (tmp_path / "added_later.py").write_text("def double(number):\n    return 2 * number\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert await run(importlib.import_module("added_later").double, 3, timeout=30) == 6


async def test_a_function_of_the_users_script_is_not_taken_for_one_of_the_worker() -> None:
    def answer(call: bytes) -> bytes:
        return b"mine"

    answer.__module__, answer.__qualname__ = "__main__", "_serve"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["__main__"], "_serve", answer, raising=False)
        with pytest.raises(NotPicklable, match="__main__"):
            await run(answer, b"", timeout=30)


async def test_a_function_over_its_time_limit_is_killed() -> None:
    with pytest.raises(TimeoutError, match=r"longer than 0\.2 s"):
        await run(time.sleep, 30, timeout=0.2)
    assert await run(math.factorial, 3, timeout=30) == 6


async def test_the_limit_is_processor_time_and_a_function_that_waits_has_more() -> None:
    await run(time.sleep, 0.6, timeout=0.5)
    with pytest.raises(TimeoutError, match=r"longer than 0\.5 s"):
        await run(eval, "[0 for number in iter(int, 1)]", timeout=0.5)


async def test_a_worker_that_keeps_much_memory_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    pid = await run(os.getpid, timeout=30)
    assert await run(os.getpid, timeout=30) == pid
    monkeypatch.setattr(workers, "_GROWN", 2**20)
    assert await run(os.getpid, timeout=30) == pid
    assert await run(os.getpid, timeout=30) != pid


async def test_a_computation_does_not_wait_behind_many_documents() -> None:
    await run(os.getpid, timeout=30)
    documents = [asyncio.create_task(run(time.sleep, 0.2, timeout=30)) for _ in range(60)]
    await asyncio.sleep(0)
    await compute(os.getpid)
    assert sum(document.done() for document in documents) < 40
    for document in documents:
        document.cancel()
    await asyncio.gather(*documents, return_exceptions=True)


async def test_modules_beside_the_script_are_found_and_hide_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "beside.py").write_text("import operator\n\ndef where():\n    return operator.__file__\n")
    (tmp_path / "operator.py").write_text("")
    (tmp_path / "lxml.py").write_text("raise RuntimeError")
    monkeypatch.syspath_prepend(tmp_path)
    beside = import_module("beside")
    try:
        assert await run(beside.where, timeout=30) == operator.__file__
        assert await run(eval, "__import__('lxml').__name__", timeout=30) == "lxml"
    finally:
        del sys.modules["beside"]


def test_printed_text_reaches_neither_the_pipe_nor_the_terminal() -> None:
    code = (
        "import asyncio, os\n"
        "from leadline.workers import run\n"
        "asyncio.run(run(os.system, 'echo noise; echo noise >&2', timeout=30))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True)
    assert (done.stdout, done.stderr) == (b"", b"")


async def test_a_function_over_its_memory_limit_fails_and_the_next_has_its_own_limit() -> None:
    large, small = "len(bytearray(2**28))", "len(bytearray(2**26))"
    with pytest.raises(MemoryError):
        await run(eval, large, timeout=30, memory=2**27)
    assert await run(eval, small, timeout=30, memory=2**27) == 2**26
    assert await run(eval, large, timeout=30) == 2**28


async def test_the_time_limit_takes_no_address_space_from_the_memory_limit(pool: Callable[[], Any]) -> None:
    size = "__import__('time').sleep(0.1) or int(open('/proc/self/statm').read().split()[0]) * 4096"
    without_limit = await pool().call(workers._Call(partial(eval, size)))
    assert await run(eval, size, timeout=30) - without_limit < 2**24


async def test_a_worker_that_dies_is_reported_and_replaced() -> None:
    pid = await run(os.getpid, timeout=30)
    task = asyncio.create_task(run(time.sleep, 30, timeout=60))
    await asyncio.sleep(0.2)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(WorkerDied) as died:
        await task
    assert died.value.status == -signal.SIGKILL
    pid = await run(os.getpid, timeout=30)
    os.kill(pid, signal.SIGKILL)  # while it is idle
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert await run(math.factorial, 3, timeout=30) == 6


async def test_a_cancelled_call_is_killed_and_disturbs_no_other(pool: Callable[[], Any]) -> None:
    pid = await run(os.getpid, timeout=30)
    task = asyncio.create_task(run(time.sleep, 60, timeout=60))
    await asyncio.sleep(0.2)
    others = [asyncio.create_task(run(os.getpid, timeout=60)) for _ in range(20)]
    await asyncio.sleep(0.1)
    others.pop().cancel()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(10):
        assert pid not in await asyncio.gather(*others)
    assert pool()._count == 1


async def test_a_call_that_is_cancelled_while_its_worker_starts_costs_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    start = workers._Pool._start

    def slow(self: Any) -> Any:
        time.sleep(0.3)
        return start(self)

    monkeypatch.setattr(workers._Pool, "_start", slow)
    task = asyncio.create_task(run(time.sleep, 30, timeout=60))
    await asyncio.sleep(0.1)
    task.cancel()
    async with asyncio.timeout(10):
        assert await run(math.factorial, 3, timeout=30) == 6


async def test_closing_kills_busy_workers() -> None:
    task = asyncio.create_task(run(time.sleep, 30, timeout=60))
    await asyncio.sleep(0.2)
    async with asyncio.timeout(10):
        workers.close()
        with pytest.raises(WorkerDied):
            await task


async def test_a_process_that_cannot_be_started_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    for executable in ("/nowhere/python", None):
        monkeypatch.setattr(sys, "executable", executable)
        with pytest.raises(WorkerDied):
            await run(math.factorial, 3, timeout=30)


def test_a_forked_child_ends_without_its_parents_workers() -> None:
    code = (
        "import asyncio, math, os, sys\n"
        "from leadline.workers import run\n"
        "assert asyncio.run(run(math.factorial, 3, timeout=30)) == 6\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    sys.exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert asyncio.run(run(math.factorial, 4, timeout=30)) == 24\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


async def test_computations_use_a_worker_that_is_running_and_otherwise_a_thread() -> None:
    assert await compute(os.getpid) == os.getpid()
    worker = await run(os.getpid, timeout=30)
    assert await compute(os.getpid) == worker
    assert await compute(int, "11", base=2) == 3
    with pytest.raises(ValueError, match="invalid literal"):
        await compute(int, "x")


async def test_computations_that_no_worker_can_do_run_in_a_thread() -> None:
    worker = await run(os.getpid, timeout=30)
    assert await compute(lambda: 7) == 7
    with await compute(open, os.devnull) as file:
        assert file.readable()
    task = asyncio.create_task(compute(time.sleep, 0.5))
    await asyncio.sleep(0.2)
    os.kill(worker, signal.SIGKILL)
    await task
    assert await compute(os.getpid) == os.getpid()
