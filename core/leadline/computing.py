"""Python's own work, off the event loop: in one thread for the whole process, in two processes beside a crowd.

Threads that compute take turns at one interpreter: several are no faster than one, and the event loop, which lets go of
the interpreter at every write, would wait for a turn of each of them before it went on. With many runs even one thread
takes it a third of its time; so where a second run begins, a process is begun for the work of all, and another when
that is busy: each stands idle while its last answer is read and its next call written. A single run needs none: what it
computes it mostly waits for.
"""

from __future__ import annotations

import asyncio
import atexit
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import ParamSpec, TypeVar

from leadline.concurrency.crowd import crowded
from leadline.concurrency.workers import Died, Unknown, Workers

_BESIDE = 2
"""Processes."""
P = ParamSpec("P")
T = TypeVar("T")


class _Computer:
    """Where this process has its work done."""

    def __init__(self) -> None:
        self.threads = ThreadPoolExecutor(1, "leadline-compute")
        self.workers: Workers | None = None

    def beside(self) -> Workers | None:
        """Return the processes beside, begun when the second run is under way; they stay until this one ends."""
        if self.workers is None and crowded():
            self.workers = Workers(_BESIDE)
            atexit.register(self.workers.close)
            with suppress(Died):  # where none can be begun, the thread does it all
                self.workers.begin()
        return self.workers


_computer: list[_Computer] = []
os.register_at_fork(after_in_child=_computer.clear)  # a child has no threads; it would wait for them for ever


def _here() -> _Computer:
    if not _computer:
        _computer.append(_Computer())
    return _computer[0]


def get_ready() -> None:
    """Begin the first process beside where there is a crowd: it stands ready when something is asked of it."""
    _here().beside()


async def compute(do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do what keeps the processor busy for milliseconds. What waits for a disk or a server belongs into a thread.

    Where functions and arguments can be pickled, it may be done in another process: it must leave nothing behind but
    what it returns.
    """
    computer = _here()
    if workers := computer.beside():
        try:
            return await workers.do(partial(do, **kwargs) if kwargs else do, *args)
        except (Unknown, Died):
            pass  # a function of a notebook, or a process that was ended from outside: it is done here
    return await asyncio.get_running_loop().run_in_executor(computer.threads, partial(do, *args, **kwargs))
