"""The end of an event loop and of the process, even if plugin code ignores its cancellation.

`asyncio.run` waits for ever for a task that swallows its cancellation, and Python waits for threads when it exits.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
# Seconds that tasks have to end after their cancellation.
TASK_GRACE = 1.0
# Seconds that the threads of plugins have to end when the process is about to.
THREAD_GRACE = 5.0
# Loops with tasks that have not ended. Garbage collection would throw an error into the tasks.
_abandoned: list[asyncio.Runner] = []


def run(main: Coroutine[Any, Any, T]) -> T:
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
