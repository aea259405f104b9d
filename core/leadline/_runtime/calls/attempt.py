"""One attempt at a call: permit, reservation, timeout, middleware, provider.

Plugin code runs in a task of its own. If it swallows its cancellation, nobody waits for it longer than `GRACE`, and the
error names it; if it cancels the task it runs in, it cancels only itself.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeVar

from leadline._hosting.faults import Held
from leadline._runtime.calls.budget import Budget, Reservation, used_by
from leadline._runtime.calls.call_events import CallEvents
from leadline._runtime.calls.context import ActiveCall, current_call, total
from leadline._runtime.calls.job import Job
from leadline._runtime.calls.retry import translate
from leadline._runtime.event_bus import Bus
from leadline._runtime.journal.journal import Journal
from leadline._runtime.journal.rows import Need
from leadline._runtime.replies.streamed_text import StreamedText
from leadline._runtime.task_groups import contain
from leadline._settings.secrets import Secrets
from leadline.contracts import Middleware, Run
from leadline.encoding import encode
from leadline.errors import BadReply, Refused, Severed, Unavailable
from leadline.records import Record, Usage

T = TypeVar("T")
# Seconds that plugin code has to end after its cancellation.
GRACE = 5.0
# Tasks that ignore their cancellation; the event loop itself holds only weak references.
_leftover: set[asyncio.Task[Any]] = set()


@dataclass
class AttemptLog:
    """The attempts at one call so far: their number, usage, notices and reservations."""

    attempts: int = 1
    usages: list[Usage] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    reserved: Need = field(default_factory=Need)
    streamed: bool = False
    # The start of the last attempt, in seconds of the event loop.
    began: float = 0.0


@dataclass(frozen=True)
class Attempts:
    """Makes the attempts at the calls of one run."""

    run: Run
    journal: Journal
    budget: Budget
    bus: Bus
    events: CallEvents
    secrets: Secrets
    middleware: Mapping[str, Middleware]
    monotonic: Callable[[], float]

    async def leaf(self, job: Job, log: AttemptLog, *, restart: bool) -> tuple[bytes, Record]:
        """Make one outside request; with `restart` the plugin is closed and entered again first."""
        await self.events.held(job, job.provider.wait_time())
        async with job.provider.permit():
            if self.journal.broken and job.kind.keep:  # do not pay for a reply that cannot be kept
                raise self.journal.broken
            need = job.kind.need(job.request)
            reservation = self._reserved(await self.budget.reserve_in_turn(need), log)
            if job.kind.keep and not (job.kind.free or job.kind.effect):
                self.journal.begin(job.key)
            call = self._active_call(job, log, self.monotonic() + job.provider.timeout)
            ended: Literal["reply", "error", "cut"] = "cut"
            with self._settling(call, log, lambda: self._settle(reservation, used_by(need, total(call.usages), ended))):
                try:
                    lost_since, log.began = (log.began if restart else None), asyncio.get_running_loop().time()
                    work = self._request(job, call, lost_since)
                    reply = await run_in_task(work, job.label, self.events.late, job.provider.timeout)
                    body, read = encode(reply, job.kind.reply)
                    if job.kind.keep and self.secrets.found_in(body):  # a request that quotes it would be refused
                        raise BadReply("the reply holds a configured secret, and is not taken")
                    ended = "reply"
                    return body, read
                except TimedOut as late:
                    raise late.error from None
                except Exception as error:
                    # Text that was streamed is billed, even if it is of no use and no usage was reported.
                    ended = "reply" if call.streamed or isinstance(translate(error), BadReply) else "error"
                    raise

    async def composite(self, job: Job, log: AttemptLog) -> tuple[bytes, Record]:
        """Run code that makes leaf calls: without permit, timeout or middleware, for it may wait for others."""
        call = self._active_call(job, log, math.inf)
        need = job.kind.need(job.request)
        reservation = self._reserved(self.budget.reserve(need), log)
        with self._settling(call, log, lambda: self._settle(reservation, used_by(need, total(call.usages), "reply"))):
            reply = await run_in_task(job.do(job.request, call), job.label, self.events.late)
            return encode(reply, job.kind.reply)

    @contextmanager
    def _settling(self, call: ActiveCall, log: AttemptLog, settle: Callable[[], None]) -> Iterator[None]:
        token = current_call.set(call)
        try:
            yield
        finally:
            current_call.reset(token)
            call.close()
            log.usages += call.usages
            log.streamed = log.streamed or call.streamed
            settle()

    async def _request(self, job: Job, call: ActiveCall, lost_since: float | None) -> Any:
        if lost_since is not None and job.provider.restart:
            await job.provider.restart(lost_since)
        proceed: Callable[[Any], Awaitable[Any]] = lambda request: job.do(request, call)  # noqa: E731
        for name, middleware in reversed(tuple(self._middleware_of(job).items())):
            proceed = partial(_around, name, middleware, call, proceed)
        reply = await proceed(job.request)
        if not call.live and job.kind.text:
            call.live = True
            call.emit("text", job.kind.text(reply))
        return reply

    def _middleware_of(self, job: Job) -> Mapping[str, Middleware]:
        """Return the middleware of a call: none for a composite, and for work that contacts nobody outside."""
        return {} if job.kind.composite or job.kind.free or job.provider.local else self.middleware

    def _active_call(self, job: Job, log: AttemptLog, deadline: float) -> ActiveCall:
        return ActiveCall(
            run=self.run,
            task=job.task,
            key=job.key,
            traceparent=f"00-{self.bus.trace_id}-{job.span}-01",
            span=job.span,
            composite=job.kind.composite,
            deadline=deadline,
            monotonic=self.monotonic,
            bus=self.bus,
            attempt=log.attempts,
            notices=log.notices,
            price=partial(job.kind.price, job.request) if job.kind.price else None,
            listener=job.listener,
            prose=StreamedText(job.shows) if job.shows else None,
            answers=job.answers,
            live=all(middleware.live for middleware in self._middleware_of(job).values()),
        )

    def _reserved(self, reservation: Reservation, log: AttemptLog) -> tuple[Reservation, str]:
        log.reserved += reservation.need
        # Calls and queries are counted by the journal's rows.
        costs = reservation.need - reservation.need.counts()
        return reservation, self.journal.ledger.reserve(costs) if costs and not self.journal.readonly else ""

    def _settle(self, reservation: tuple[Reservation, str], used: Need) -> None:
        self.budget.settle(reservation[0], used)
        if reservation[1]:
            self.journal.ledger.settle(reservation[1], used)


async def _around(
    name: str, middleware: Middleware, call: ActiveCall, proceed: Callable[[Any], Awaitable[Any]], request: Any
) -> Any:
    try:
        return await middleware.around(request, call, proceed)
    except RefusedByMiddleware:
        raise
    except Refused as refused:
        raise RefusedByMiddleware(f"refused by middleware '{name}': {refused}") from refused


class RefusedByMiddleware(Refused):
    """A refusal by a middleware; the others are the core's."""


class TimedOut(Exception):
    """The time of an attempt is over; `error` is the provider's failure."""

    def __init__(self, error: Unavailable | Severed) -> None:
        super().__init__(str(error))
        self.error = error


async def run_in_task(work: Awaitable[T], name: str, late: Callable[[str], None], seconds: float | None = None) -> T:
    """Run plugin code in a task of its own for at most `seconds`, and return its result.

    A result that comes within the grace period after a cancellation is returned too: it is paid for. Raises TimedOut,
    and Held for an error of the code that is no `Exception`: a CancelledError is always that of the caller.
    `late` receives a message about code that ignores the cancellation of its caller.
    """
    task: asyncio.Task[T] = asyncio.create_task(contain(work), name=f"plugin code of {name}")
    try:
        await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        if not await _cancel(task):
            late(f"{name} goes on {GRACE:g} s after it was cancelled")
        if _succeeded(task):
            return task.result()
        raise
    if not task.done():
        assert seconds is not None
        ended = await _cancel(task)
        if not ended:
            raise TimedOut(Severed(f"no reply within {seconds:g} s, and it goes on though it was cancelled"))
        if not _succeeded(task):
            raise TimedOut(Unavailable(f"no reply within {seconds:g} s"))
    if task.cancelled():  # by its own code
        raise Held(asyncio.CancelledError())
    return task.result()


async def _cancel(task: asyncio.Task[Any]) -> bool:
    """Cancel a task; return True if it ended within the grace period."""
    task.cancel()
    await asyncio.wait({task}, timeout=GRACE)
    if task.done():
        return True
    _leftover.add(task)
    task.add_done_callback(_leftover.discard)
    return False


def _succeeded(task: asyncio.Task[Any]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None
