"""Running things side by side: nothing left running, and the first real error bare."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from leadline.door.faults import Held, leaves, wished, words

T = TypeVar("T")
R = TypeVar("R")


def first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first real error of a group, with the others as its notes."""
    first, *others = leaves(group)
    for other in others:
        first.add_note(f"and beside it {words(other)}")
    return first


@asynccontextmanager
async def bare_task_group() -> AsyncIterator[asyncio.TaskGroup]:
    """Open a task group whose first real error is raised bare: nested groups escape `except`."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as raised:
        first = first_of(raised)
        raise first from first.__cause__  # not from the group; what is behind it, as a plugin's fault, stays there


async def each(items: Sequence[T], do: Callable[[T], Awaitable[R]]) -> list[R]:
    """Do it for all items at once; the replies stand in the order of the items."""

    async def one(item: T) -> R:
        try:
            return await do(item)
        except BaseException as error:
            if isinstance(error, Exception) or wished(error):
                raise
            raise Held(error) from error

    async with bare_task_group() as group:
        tasks = [group.create_task(one(item)) for item in items]
    return [task.result() for task in tasks]
