"""Rate limits per provider and account, for all runs of a client.

Hundreds of runs share one vendor's rate limit, so a limiter belongs to the provider's account, not to a run. With
permits of several processes, the limits hold for all of them: see `shared_limits`.
"""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from leadline._runtime.calls.retry import AccountHealth


class Slots:
    """At most `at_once` calls at a time; first come, first served."""

    def __init__(self, at_once: int) -> None:
        if at_once < 1:
            raise ValueError(f"at_once is at least 1, not {at_once}")
        self.at_once = at_once
        self.held = 0
        self._line: deque[Future[None]] = deque()

    @asynccontextmanager
    async def permit(self) -> AsyncIterator[None]:
        """Hold a permit. Retries wait without one."""
        turn: Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        self.pass_on()
        try:
            await turn
            yield
        finally:
            if turn.done() and not turn.cancelled():
                self.held -= 1
                self.pass_on()
            elif turn in self._line:
                self._line.remove(turn)

    def pass_on(self) -> None:
        """Give the free permits to the next in line."""
        while self._line and self.held < self.at_once:
            turn = self._line.popleft()
            if not turn.done():  # else its call was cancelled
                turn.set_result(None)
                self.held += 1


class Limiter:
    """Slots whose calls start when the health of the account allows it."""

    def __init__(self, at_once: int, interval: float = 0.0, *, name: str = "", rests: bool = False) -> None:
        self.slots = Slots(at_once)
        self.health = AccountHealth(name, interval, rests=rests)

    @asynccontextmanager
    async def permit(self, run: Slots | None = None) -> AsyncIterator[None]:
        """Hold a permit, after one of the run, and learn from the outcome of the call. Raises `Resting`."""
        self.health.admit()  # not only after the wait
        if run:
            async with run.permit(), self.permit():
                yield
            return
        async with self.slots.permit():
            await self.health.turn()
            with self.health.attempt():
                yield


class ClientLimits:
    """The limiters of one client by account and limits; several runtimes may use the same account."""

    def __init__(self) -> None:
        self._limiters: dict[tuple[object, ...], Limiter] = {}

    def limiter(
        self, owner: tuple[str, ...], at_once: int, interval: float, *, name: str, rests: bool, local: bool
    ) -> Limiter:
        """Return the limiter of an account. With `rests`, it takes no calls for a while after failures in a row.

        A `local` one limits work on this machine, which other processes do not share.
        """
        key = (*owner, at_once, interval)
        if key not in self._limiters:
            make = Limiter if local else partial(self._shared, key)
            self._limiters[key] = make(at_once, interval, name=name, rests=rests)
        return self._limiters[key]

    def _shared(self, key: tuple[object, ...], at_once: int, interval: float, *, name: str, rests: bool) -> Limiter:
        return Limiter(at_once, interval, name=name, rests=rests)
