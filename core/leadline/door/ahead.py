"""Work begun ahead, of which a later stage will ask the same calls: whoever asks them then finds them made."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from leadline.errors import CallFailed


class Ahead:
    """What one run has begun ahead."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, work: Coroutine[Any, Any, object]) -> None:
        """Begin work that nobody waits for."""
        task = asyncio.create_task(_quietly(work), name="ahead")
        self._tasks.add(task)
        task.add_done_callback(self._through)

    async def leave(self) -> None:
        """Stop what nobody has asked for."""
        for task in (tasks := set(self._tasks)):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _through(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # whoever asks the same has it; where nobody does, it is no news


async def _quietly(work: Coroutine[Any, Any, object]) -> None:
    with suppress(CallFailed):
        await work
