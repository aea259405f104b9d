"""Task groups and event loops that leave nothing running; a group raises the first real error itself.

`asyncio.run` waits for ever for a task that swallows its cancellation, and Python waits for threads when it exits.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar

from leadline._hosting.faults import Held, flatten, is_cancellation, words
from leadline.errors import CallFailed

T = TypeVar("T")
R = TypeVar("R")


def first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first real error of a group, with the others as its notes."""
    first, *others = flatten(group)
    for other in others:
        first.add_note(f"and beside it {words(other)}")
    return first


@asynccontextmanager
async def bare_task_group() -> AsyncIterator[asyncio.TaskGroup]:
    """Open a task group that raises its first real error itself: `except` does not see into nested groups."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as raised:
        first = first_of(raised)
        raise first from first.__cause__  # not from the group; its own cause is kept


@contextmanager
def contained() -> Iterator[None]:
    """Raise `Held` for what plugin code raises and would take the event loop or the task group with it."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, Exception) or is_cancellation(error):
            raise
        raise Held(error) from error


async def contain(work: Awaitable[T]) -> T:
    """Await plugin code, `contained`."""
    with contained():
        return await work


async def each(items: Sequence[T], do: Callable[[T], Awaitable[R]]) -> list[R]:
    """Call a function for all items at once; return the results in the order of the items."""
    async with bare_task_group() as group:
        tasks = [group.create_task(contain(do(item))) for item in items]
    return [task.result() for task in tasks]


class Prefetch:
    """Background tasks that make calls early; the stage that needs a call joins it or finds its reply."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, object], /) -> None:
        """Start work without waiting for it. Its errors are dropped: the stage that makes the same calls gets them."""
        task = asyncio.create_task(_ignore_failures(work), name="prefetch")
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def stop(self) -> None:
        """Cancel the tasks that still run, and wait for their end."""
        for task in (tasks := set(self._tasks)):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # marks it as retrieved: asyncio would log it


async def _ignore_failures(work: Coroutine[Any, Any, object]) -> None:
    with suppress(CallFailed):
        await work


# --- the end of an event loop and of the process ----------------------------------------------------------------------


# Seconds that tasks have to end after their cancellation.
TASK_GRACE = 1.0
# Seconds that the threads of plugins have to end when the process is about to.
THREAD_GRACE = 5.0
# Loops with tasks that have not ended. Garbage collection would throw an error into the tasks.
_abandoned: list[asyncio.Runner] = []


def run_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on an event loop of its own, as `asyncio.run` does, but never wait long for other tasks."""
    runner = asyncio.Runner()
    try:
        return runner.run(main)
    finally:
        if runner.run(_cancel_all_tasks()):
            runner.close()
        else:
            _abandoned.append(runner)


async def _cancel_all_tasks() -> bool:
    """Cancel the remaining tasks; return True if all of them end."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    return not tasks or not (await asyncio.wait(tasks, timeout=TASK_GRACE))[1]


def ensure_exit(code: int) -> None:
    """Make the process end with this code: at once if a task is left, after a while if a thread of a plugin is."""
    if _abandoned:
        os._exit(code)
    if any(thread.name.startswith("leadline-") for thread in threading.enumerate()):
        timer = threading.Timer(THREAD_GRACE, os._exit, (code,))
        timer.daemon = True
        timer.start()
