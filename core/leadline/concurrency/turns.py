"""Whose turn it is where many runs share one event loop.

The loop serves in turn whatever is ready. Runs that began together then go in step: all read their pages at once, are
through with that at the same late moment, and then all wait for a model while the processor has nothing to do. One
after the other, the first is through early, and waits while the next is served. It also keeps a turn of the loop short.

Who last asked a model the longest ago goes first: a run is not overtaken by what a later reply set off in another.
Where nobody waits, a turn is there at once, and a single run waits for none.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from asyncio import AbstractEventLoop, Future
from heapq import heappop, heappush
from weakref import WeakKeyDictionary

from leadline.concurrency.crowd import crowded

_numbers = itertools.count()


class _Line:
    """Those who wait on one event loop; in each turn of it one is let go."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, int, Future[None]]] = []
        self._moving = False

    async def wait(self, loop: AbstractEventLoop, since: float, run: int) -> None:
        if not self._moving:
            self._moving = True
            loop.call_soon(self._move, loop)
            return
        turn: Future[None] = loop.create_future()
        heappush(self._waiting, (since, run, next(_numbers), turn))
        await turn

    def _move(self, loop: AbstractEventLoop) -> None:
        while self._waiting:
            *_, turn = heappop(self._waiting)
            if not turn.done():  # a caller that was cancelled waits no more
                turn.set_result(None)
                loop.call_soon(self._move, loop)
                return
        self._moving = False


_lines: WeakKeyDictionary[AbstractEventLoop, _Line] = WeakKeyDictionary()


class Place:
    """A run's place in the line."""

    def __init__(self) -> None:
        self._run = next(_numbers)
        self._since = 0.0

    def step_back(self) -> None:
        """Go behind those who asked a model before: called when this run asks one."""
        self._since = time.monotonic()

    async def turn(self) -> None:
        """Wait for this run's turn."""
        if not crowded():
            return
        loop = asyncio.get_running_loop()
        line = _lines.get(loop)
        if line is None:
            line = _lines[loop] = _Line()
        await line.wait(loop, self._since, self._run)
