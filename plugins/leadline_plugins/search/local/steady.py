"""Work in threads that is never left behind: who gives up the index's lock must not leave a thread at the index."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from leadline.contracts import Context

P = ParamSpec("P")
T = TypeVar("T")


async def steadily(context: Context, do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking code in a thread and wait for its end, cancelled or not; what nobody takes then is closed."""
    task = asyncio.ensure_future(context.in_thread(do, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await _ended(task)
        if not task.cancelled() and task.exception() is None and hasattr(made := task.result(), "close"):
            made.close()
        raise


async def _ended(task: asyncio.Future[T]) -> None:
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            continue  # cancelled once more: the thread still has to end
