"""Python's own work, off the event loop: one thread for the whole process.

Threads that compute take turns at one interpreter: several are no faster than one, and the event loop, which lets go of
the interpreter at every write, would wait for a turn of each of them before it went on.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_pool: list[ThreadPoolExecutor] = []
os.register_at_fork(after_in_child=_pool.clear)  # a child has no threads; it would wait for them for ever


async def compute(do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do what keeps the processor busy for milliseconds. What waits for a disk or a server belongs into a thread."""
    if not _pool:
        _pool.append(ThreadPoolExecutor(1, "leadline-compute"))
    return await asyncio.get_running_loop().run_in_executor(_pool[0], partial(do, *args, **kwargs))
