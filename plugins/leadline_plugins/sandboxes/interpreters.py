"""Interpreters in their sandboxes, kept warm: one a run, a fresh one for a single use where that is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from leadline.records import Code, Execution
from leadline_plugins.sandboxes.limits import GRACE
from leadline_plugins.sandboxes.messages import Lost, answered, asked

LOST = 137
"""The exit code of code that took its sandbox down."""


class Interpreter(Protocol):
    """One interpreter in its sandbox."""

    async def ask(self, message: bytes) -> bytes: ...
    async def close(self) -> None: ...


Start = Callable[[], Awaitable[Interpreter]]


class _Kept:
    """An interpreter of one run; one piece of code at a time."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.interpreter: Interpreter | None = None
        self.ends: asyncio.TimerHandle | None = None


class Warm:
    """Interpreters by run, made at the first need, ended when idle; a fresh one for a single use where one is lost."""

    def __init__(self, start: Start, idle: float) -> None:
        self._start = start
        self._idle = idle
        self._kept: dict[str, _Kept] = {}
        self._ending: set[asyncio.Task[None]] = set()

    async def execute(self, run: str, code: Code, seconds: float) -> Execution:
        """Run code in the run's interpreter; where that is lost, once more in a fresh one."""
        request = asked(code, seconds)
        try:
            return await self._warm(run, request, seconds)
        except Lost:
            return await self._once(request, seconds)

    async def _warm(self, run: str, request: bytes, seconds: float) -> Execution:
        kept = self._kept.setdefault(run, _Kept())
        async with kept.lock:
            if kept.ends:
                kept.ends.cancel()
            if kept.interpreter is None:
                kept.interpreter = await self._start()
            try:
                reply = await _within(kept.interpreter, request, seconds)
            except BaseException:
                lost, kept.interpreter = kept.interpreter, None
                await lost.close()
                raise
            kept.ends = asyncio.get_running_loop().call_later(self._idle, self._end, run)
            return reply

    async def _once(self, request: bytes, seconds: float) -> Execution:
        interpreter = await self._start()
        try:
            return await _within(interpreter, request, seconds)
        except Lost as lost:
            text = f"[sandbox] it took the whole sandbox down, most likely by the memory it asked for ({lost})"
            return Execution(stderr=text, exit_code=LOST)
        finally:
            await interpreter.close()

    def _end(self, run: str) -> None:
        kept = self._kept[run]
        if not kept.lock.locked() and kept.interpreter:
            del self._kept[run]
            ending = asyncio.create_task(kept.interpreter.close())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """End them all."""
        for kept in self._kept.values():
            if kept.ends:
                kept.ends.cancel()
        alive = [kept.interpreter.close() for kept in self._kept.values() if kept.interpreter]
        self._kept.clear()
        await asyncio.gather(*alive, *self._ending)


async def _within(interpreter: Interpreter, request: bytes, seconds: float) -> Execution:
    try:
        async with asyncio.timeout(seconds + GRACE):
            return answered(await interpreter.ask(request))
    except TimeoutError as error:
        raise Lost(f"no answer after {seconds + GRACE:g} seconds") from error
