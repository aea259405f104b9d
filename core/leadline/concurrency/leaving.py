"""Leaving an event loop though something on it does not end: what swallows its cancellation is left behind."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
GRACE = 1.0
"""Seconds that tasks have to end when everything else is over."""
LAST = 5.0
"""Seconds that a plugin's threads have then."""
_behind: list[asyncio.Runner] = []
"""Loops on which something goes on; not collected, since that would throw into it."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run it on a loop of its own, as `asyncio.run` does, which would wait for a task that never ends."""
    runner = asyncio.Runner()
    try:
        return runner.run(main)
    finally:
        if runner.run(_end_all()):
            _behind.append(runner)
        else:
            runner.close()


async def _end_all() -> bool:
    """Cancel what is still there; returns whether something goes on."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    return bool(tasks and (await asyncio.wait(tasks, timeout=GRACE))[1])


def leave(code: int) -> None:
    """Leave the process where it would not end by itself: at once for a task, after a while for a plugin's thread."""
    if _behind:
        os._exit(code)
    if any(thread.name.startswith("leadline-") for thread in threading.enumerate()):
        last = threading.Timer(LAST, os._exit, (code,))
        last.daemon = True
        last.start()
