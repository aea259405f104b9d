"""A cache file seen from the event loop: nobody waits for a write, and what comes together is done together.

What is to be kept waits a moment for company, and is written at once where somebody looks: so who looks finds what was
kept before, and many pages are one transaction and one trip to the thread.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from leadline.journal.cache_file import CacheFile, Found

PAUSE = 0.25
"""Seconds that what is to be kept may wait: what is lost if the process is killed."""
HEAP = 8 * 2**20
"""Bytes that may wait."""

_Look = tuple[str, float, asyncio.Future[Found | None]]


class DiskCache:
    """A cache file with a thread of its own; every method is called on the event loop."""

    def __init__(self, file: CacheFile) -> None:
        self._file = file
        self._thread = ThreadPoolExecutor(1, "leadline-cache")
        self._puts: dict[str, bytes | None] = {}
        self._looks: list[_Look] = []
        self._heap = 0
        self._timer: asyncio.Handle | None = None
        self._closed = False

    async def get(self, key: str, seconds: float = math.inf) -> Found | None:
        """Return what was kept, unless it is as old as `seconds`."""
        if self._closed:
            return None
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Found | None] = loop.create_future()
        self._looks.append((key, seconds, future))
        if len(self._looks) == 1:
            self._at(loop.call_soon(self._send, loop))
        return await future

    def put_soon(self, key: str, body: bytes) -> None:
        """Keep a body; nobody waits for it."""
        self._heap += len(body)
        self._later(key, body)

    def renew_soon(self, key: str) -> None:
        """Note that what is kept is known good now; nobody waits for it."""
        self._later(key, self._puts.get(key))

    async def close(self) -> None:
        """Write what waits, and close the file; a second time does nothing."""
        if self._closed:
            return
        self._closed = True
        loop = asyncio.get_running_loop()
        self._send(loop)
        await loop.run_in_executor(self._thread, self._file.close)
        self._thread.shutdown(wait=False)

    def _later(self, key: str, body: bytes | None) -> None:
        if self._closed:
            return
        loop = asyncio.get_running_loop()
        self._puts[key] = body
        if self._heap > HEAP:
            self._send(loop)
        elif self._timer is None:
            self._at(loop.call_later(PAUSE, self._send, loop))

    def _at(self, timer: asyncio.Handle | None) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = timer

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        self._at(None)
        puts, looks, self._puts, self._looks, self._heap = self._puts, self._looks, {}, [], 0
        if puts or looks:
            self._thread.submit(self._work, loop, puts, looks)

    def _work(self, loop: asyncio.AbstractEventLoop, puts: Mapping[str, bytes | None], looks: Sequence[_Look]) -> None:
        if puts:
            self._file.put(puts)
        answers = [(future, self._file.get(key, seconds)) for key, seconds, future in looks]
        with suppress(RuntimeError):  # the loop may be closed, and then nobody waits
            loop.call_soon_threadsafe(_answer, answers)


def _answer(answers: Sequence[tuple[asyncio.Future[Found | None], Found | None]]) -> None:
    for future, found in answers:
        if not future.done():
            future.set_result(found)
