"""The trails of runs that somebody looks at, kept up to date while they are looked at."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from contextlib import suppress

from leadline.errors import LeadlineError
from leadline_server.page.trail import Trail
from leadline_server.problems import Problem
from leadline_server.service import Service

# Trails that are kept; and the seconds after which one of an active run is dropped if nobody asked for it.
_KEPT, _IDLE = 64, 60.0
# Seconds without an event after which a trail is up to date, and the longest wait for that.
_QUIET, _PATIENCE = 0.08, 3.0


class _Watch:
    """Follows the events of one run."""

    def __init__(self, service: Service, run_id: str, principal: str | None) -> None:
        self.trail, self.used = Trail(), time.monotonic()
        self._settled = asyncio.Event()
        self._task = asyncio.create_task(self._follow(service, run_id, principal))

    @property
    def is_over(self) -> bool:
        """Whether it follows no more."""
        return self._task.done()

    async def up_to_date(self, *, whole: bool) -> Trail:
        """Return the trail once the events that exist are in it; the `whole` one of a run that has ended."""
        self.used = time.monotonic()
        if whole:
            await asyncio.wait({self._task}, timeout=_PATIENCE)
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await self._settled.wait()
        return self.trail

    async def end(self) -> None:
        """Stop following."""
        self._task.cancel()
        await asyncio.wait({self._task})

    async def _follow(self, service: Service, run_id: str, principal: str | None) -> None:
        events = service.events(run_id, principal, deltas=True)
        upcoming = asyncio.ensure_future(anext(events))
        quiet = time.monotonic()
        try:
            while True:
                done, _ = await asyncio.wait({upcoming}, timeout=_QUIET)
                if done:
                    self.trail.add(event := upcoming.result())
                    upcoming = asyncio.ensure_future(anext(events))
                    if event.kind != "call.delta":  # these may come without a pause
                        quiet = time.monotonic()
                    if time.monotonic() - quiet < _QUIET:
                        continue
                self._settled.set()
                if time.monotonic() - self.used > _IDLE:
                    return
                if not done:
                    await asyncio.wait({upcoming}, timeout=_IDLE)
        except (StopAsyncIteration, LeadlineError, Problem, OSError):
            return  # ended, or deleted
        finally:
            self._settled.set()
            upcoming.cancel()
            await asyncio.wait({upcoming})
            if not upcoming.cancelled():
                upcoming.exception()  # retrieved, so that nothing is logged
            await events.aclose()  # type: ignore[attr-defined]


class Trails:
    """The trails, by run."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._watches: OrderedDict[tuple[str | None, str], _Watch] = OrderedDict()

    async def of(self, run_id: str, principal: str | None, *, active: bool) -> Trail:
        """Return the trail of a run as of now. The caller has checked that the principal has the run."""
        key = (principal, run_id)
        watch = self._watches.get(key)
        if watch is None or (watch.is_over and (active or not watch.trail.finished)):
            watch = self._watches[key] = _Watch(self._service, run_id, principal)
        self._watches.move_to_end(key)
        while len(self._watches) > _KEPT:
            _, oldest = self._watches.popitem(last=False)
            await oldest.end()
        return await watch.up_to_date(whole=not active)

    async def forget(self, run_id: str, principal: str | None) -> None:
        """Drop the trail of a deleted run."""
        if watch := self._watches.pop((principal, run_id), None):
            await watch.end()

    async def close(self) -> None:
        """Stop following all runs."""
        for watch in self._watches.values():
            await watch.end()
        self._watches.clear()
