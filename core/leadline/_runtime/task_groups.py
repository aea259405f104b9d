"""Task groups that leave nothing running and raise the first real error itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
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


async def contain(work: Awaitable[T]) -> T:
    """Await plugin code in a task; raise `Held` for what would take the event loop or the task group with it."""
    try:
        return await work
    except BaseException as error:
        if isinstance(error, Exception) or is_cancellation(error):
            raise
        raise Held(error) from error


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
