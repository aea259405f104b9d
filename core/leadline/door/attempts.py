"""How a call is carried out: a leaf with permit, lease, timeout, middleware and retries, a composite without."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from leadline.concurrency.severing import Contained, Severable
from leadline.contracts import Middleware, Run
from leadline.door.active import ActiveCall, call_now, total
from leadline.door.faults import wished
from leadline.door.kinds import Job
from leadline.door.outcomes import Blame, Ended
from leadline.door.retry import RetryPolicy, translate
from leadline.door.secrets import Secrets
from leadline.errors import (
    BadReply,
    Disconnected,
    JournalError,
    ProviderError,
    RateLimited,
    Refused,
    Severed,
    Unavailable,
)
from leadline.events import Bus
from leadline.journal.journal import Journal
from leadline.journal.wire import encode
from leadline.records import Record, Usage
from leadline.replies.prose import Prose
from leadline.runs.budget import Budget, Lease, Need, used_by

_NOTICEABLE = 2.0
"""Seconds of waiting that are told."""


@dataclass
class Trip:
    """What happened under way: attempts, what they used, what was told."""

    attempts: int = 1
    usages: list[Usage] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    leased: Need = field(default_factory=Need)
    streamed: bool = False


@dataclass(frozen=True)
class Attempts:
    """Carries calls out for one run."""

    run: Run
    journal: Journal
    budget: Budget
    bus: Bus
    retry: RetryPolicy
    middleware: Mapping[str, Middleware]
    secrets: Secrets = field(default_factory=Secrets)
    monotonic: Callable[[], float] = time.monotonic

    async def composite(self, job: Job, trip: Trip, blame: Blame) -> Ended:
        """Run what calls leaves; its refusal by the budget comes before, its failures from below."""
        call = self._active(job, trip, math.inf)
        need = job.kind.need(job.request)
        try:
            lease = self._noted(self.budget.lease(need), trip)
        except Refused as error:
            return blame.refused(str(error))
        token = call_now.set(call)
        try:
            body, reply = encode(await Contained(_done(job, call)), job.kind.reply)
            return Ended("reply", body, reply=reply)
        except BaseException as error:
            if wished(error):
                raise
            return blame.below(error)
        finally:
            call_now.reset(token)
            call.close()
            trip.usages += call.usages
            self._settle(lease, used_by(need, total(call.usages), ended="reply"))

    async def leaf(self, job: Job, trip: Trip, blame: Blame) -> Ended:
        """Make one outside request, again where its error allows it."""
        failed: ProviderError | None = None
        for trip.attempts in itertools.count(1):
            try:
                if isinstance(failed, Disconnected) and job.maker.restart:
                    await job.maker.restart()
                body, reply = await self._attempt(job, trip)
                return Ended("reply", body, reply=reply)
            except JournalError:
                raise
            except Refused as error:
                return blame.refused(str(error), trip.attempts)
            except BaseException as error:
                if wished(error):
                    raise
                failed = translate(error)
                pause = self.retry.delay(trip.attempts, failed, once=job.kind.once) if failed else None
                if pause is None:
                    return blame.failed(error, trip.attempts)
            if failed and (failed.retry_after is not None or isinstance(failed, RateLimited)):
                await self._tell_held(job, pause)
            await self._pause(job, trip, pause)
        raise AssertionError("attempts are counted without end")

    async def _pause(self, job: Job, trip: Trip, seconds: float) -> None:
        if trip.streamed:
            data = {"attempt": trip.attempts + 1, "key": job.key, "task": job.task}
            await self.bus.emit("call.restart", data, span_id=job.span)
        await self.retry.sleep(seconds)

    async def _tell_held(self, job: Job, seconds: float) -> None:
        """Tell of a wait that whoever watches would take for a standstill."""
        if seconds > _NOTICEABLE and not job.kind.quiet:
            about = {"kind": job.kind.name, "provider": job.maker.name, "task": job.task, "key": job.key}
            await self.bus.emit("call.held", {**about, "seconds": round(seconds, 1)}, span_id=job.span)

    async def _attempt(self, job: Job, trip: Trip) -> tuple[bytes, Record]:
        await self._tell_held(job, job.maker.held())
        async with job.maker.permit():
            if self.journal.broken and job.kind.keep:  # nothing more is paid for in vain
                raise self.journal.broken
            need = job.kind.need(job.request)
            lease = self._noted(await self.budget.lease_in_turn(need), trip)
            call = self._active(job, trip, self.monotonic() + job.maker.timeout)
            ended: Literal["reply", "error", "cut"] = "cut"
            token = call_now.set(call)
            try:
                async with asyncio.timeout(job.maker.timeout) as deadline:
                    work = Severable(self._through(job, call), deadline)
                    body, reply = encode(await work, job.kind.reply)
                if job.kind.keep and self.secrets.stand_in(body):  # it would be refused wherever it is passed on
                    raise BadReply("the reply holds a configured secret, and is not taken")
                ended = "reply"
                return body, reply
            except BaseException as error:
                if wished(error):
                    raise
                if deadline.expired():
                    late = f"no reply within {job.maker.timeout:g} s"
                    if work.severed:
                        raise Severed(f"{late}, and it goes on though it was cancelled") from error
                    raise Unavailable(late) from error
                # What was written is billed, though nothing of it could be used and nobody said how much it was.
                ended = "reply" if call.streamed or isinstance(translate(error), BadReply) else "error"
                raise
            finally:
                call_now.reset(token)
                call.close()
                trip.usages += call.usages
                trip.streamed = trip.streamed or call.streamed
                self._settle(lease, used_by(need, total(call.usages), ended=ended))

    async def _through(self, job: Job, call: ActiveCall) -> Any:
        proceed: Callable[[Any], Awaitable[Any]] = lambda request: job.do(request, call)  # noqa: E731
        for middleware in reversed(tuple(self.middleware.values())):
            proceed = partial(_around, middleware, call, proceed)
        reply = await proceed(job.request)
        if not call.live and job.kind.text:
            call.live = True
            call.emit("text", job.kind.text(reply))
        return reply

    def _active(self, job: Job, trip: Trip, deadline: float) -> ActiveCall:
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
            attempt=trip.attempts,
            notices=trip.notices,
            price=partial(job.kind.price, job.request) if job.kind.price else None,
            heard=job.heard,
            prose=Prose(job.shows) if job.shows else None,
            live=job.kind.composite or all(middleware.live for middleware in self.middleware.values()),
        )

    def _noted(self, lease: Lease, trip: Trip) -> tuple[Lease, str]:
        trip.leased += lease.need
        return lease, self.journal.ledger.lease(lease.need) if lease.need and not self.journal.readonly else ""

    def _settle(self, lease: tuple[Lease, str], used: Need) -> None:
        self.budget.settle(lease[0], used)
        if lease[1]:
            self.journal.ledger.settle(lease[1], used)


async def _done(job: Job, call: ActiveCall) -> Any:
    return await job.do(job.request, call)


async def _around(
    middleware: Middleware, call: ActiveCall, proceed: Callable[[Any], Awaitable[Any]], request: Any
) -> Any:
    return await middleware.around(request, call, proceed)
