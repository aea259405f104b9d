"""One attempt at a call: permit, reservation, timeout, middleware, provider; and the events of calls.

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
from weakref import ref

from leadline._hosting.faults import Held, message_of
from leadline._runtime.calls.budget import Budget, Reservation, used_by
from leadline._runtime.calls.job import ActiveCall, Job, current_call, current_stage, stage_span
from leadline._runtime.calls.outcomes import Outcome, OutcomeBuilder
from leadline._runtime.calls.retry import translate
from leadline._runtime.event_bus import Bus
from leadline._runtime.journal.journal import Journal
from leadline._runtime.journal.rows import Need, Row, total
from leadline._runtime.replies.streamed_text import StreamedText
from leadline._runtime.task_groups import contain
from leadline._settings.secrets import Secrets
from leadline.contracts import Middleware, Run
from leadline.encoding import decode, encode
from leadline.errors import BadReply, ProviderError, Refused, Severed, Unavailable
from leadline.records import ChatReply, ChatRequest, Failure, Record, Usage

Origin = Literal["live", "journal", "cache", "shared"]


# Seconds of waiting from which an event reports it: a reader would take the run for stuck.
_NOTICEABLE = 2.0


@dataclass
class CallEvents:
    """Emits the events of the calls of one run; internal calls have none."""

    bus: Bus
    budget: Budget
    _refusals: set[str] = field(default_factory=set)

    async def started(self, job: Job) -> None:
        """Report that a call begins."""
        asked = job.request if isinstance(job.request, ChatRequest) else None
        await self._emit(job, "call.started", {"model": asked.model} if asked else {})

    async def retried(self, job: Job, attempt: int, error: ProviderError, seconds: float) -> None:
        """Report that an attempt failed and another one follows after a pause of so many seconds."""
        about = {"attempt": attempt, "category": error.category, "type": type(error).__name__}
        await self._emit(job, "call.retried", {**about, "seconds": round(seconds, 1)})

    async def held(self, job: Job, seconds: float) -> None:
        """Report a long wait that the provider or its limits ask for."""
        if seconds > _NOTICEABLE:
            await self._emit(job, "call.held", {"seconds": round(seconds, 1)})

    async def restarted(self, job: Job, attempt: int) -> None:
        """Report that a new attempt begins: the text streamed by earlier ones is void."""
        data = {"attempt": attempt, "key": job.key, "task": job.task}
        await self.bus.emit("call.restart", data, span_id=job.span)

    async def finished(self, job: Job, row: Row, body: bytes, origin: Origin) -> None:
        """Report the outcome of a call, its usage and its error."""
        if job.kind.internal:
            return
        if origin in ("journal", "cache"):
            await self._text(job, row, body)
        if row.outcome != "reply" and origin != "shared":
            await self._error(job, Failure.model_validate_json(body), replayed=origin == "journal")
        usage = row.usage.model_dump(mode="json", exclude_defaults=True)
        about: dict[str, Any] = {
            "outcome": row.outcome,
            "from": origin,
            "seconds": row.seconds,
            "attempts": row.attempts,
        }
        if job.kind.reply is ChatReply and row.outcome == "reply":
            reply = decode(body, ChatReply)
            about |= {"model": reply.model, "finish_reason": reply.finish_reason}
        await self._emit(job, "call.finished", {**about, "usage": usage})
        if origin == "live" and row.usage != Usage():
            spent = self.budget.spent()
            await self._emit(job, "usage", {"usage": usage, "spent": spent})

    def notice(self, message: str) -> None:
        """Show a message to people; from any thread."""
        self.bus.emit_soon("notice", {"message": message})

    def late(self, message: str) -> None:
        """Report code that ignores its cancellation."""
        self.bus.emit_soon("error", {"message": message, "category": "BUSINESS", "step": current_stage.get()})

    async def _text(self, job: Job, row: Row, body: bytes) -> None:
        if job.kind.text and row.outcome == "reply":
            text = job.kind.text(decode(body, job.kind.reply))
            data = {"kind": "text", "text": text, "attempt": row.attempts}
            if job.shows and self.bus.follows_deltas:
                data |= {"said": StreamedText(job.shows).take(text)} | ({"answers": True} if job.answers else {})
            await self._emit(job, "call.delta", data)

    async def _error(self, job: Job, failure: Failure, *, replayed: bool) -> None:
        if failure.category == "RESOURCE_LIMIT" and failure.message in self._refusals:
            return  # a spent budget is reported once, not once a call
        self._refusals.add(failure.message)
        about = {"message": failure.text, "category": failure.category, "type": failure.type}
        data = {**about, "attempts": failure.attempts}
        await self._emit(job, "error", {**data, "step": current_stage.get(), "replayed": replayed})

    async def _emit(self, job: Job, kind: str, data: dict[str, Any]) -> None:
        if not job.kind.internal:
            names = {"kind": job.kind.name, "provider": job.provider.name, "task": job.task, "key": job.key}
            parent = job.parent.span if job.parent else stage_span.get() or None
            await self.bus.emit(kind, {**names, **data}, span_id=job.span, parent_id=parent)


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

    async def composite(self, job: Job, log: AttemptLog, build: OutcomeBuilder) -> Outcome:
        """Run code that makes leaf calls: without permit, timeout or middleware, for it may wait for others."""
        call, need = self._active_call(job, log, math.inf), job.kind.need(job.request)
        try:
            held = self._reserved(self.budget.reserve(need), log)
            with self._settling(call, log, lambda: self._settle(held, used_by(need, total(call.usages), "reply"))):
                reply = await run_in_task(job.do(job.request, call), job.label, self.events.late)
                body, read = encode(reply, job.kind.reply)
                return Outcome("reply", body, reply=read)
        except Refused as error:
            return build.refused(message_of(error))
        except Exception as error:  # noqa: BLE001 - any error of a plugin is an outcome
            return build.of_composite(error)

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
            ref(self.run),
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
