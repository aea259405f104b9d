"""The parts of an attempt: plugin code in a task with a time limit, middleware, and the events of calls.

Plugin code runs in a task of its own. If it swallows its cancellation, nobody waits for it longer than `GRACE`, and the
error names it; if it cancels the task it runs in, it cancels only itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from leadline._hosting.faults import Held, words
from leadline._runtime.calls.budget import Budget
from leadline._runtime.calls.job import ActiveCall, Job, ReadableReply, current_stage, stage_span
from leadline._runtime.calls.retry import translate
from leadline._runtime.event_bus import Bus
from leadline._runtime.journal.rows import Need, Row
from leadline._runtime.task_groups import contain
from leadline.contracts import Middleware
from leadline.encoding import decode
from leadline.errors import LeadlineError, PluginFault, ProviderError, Refused, Severed, Unavailable
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
            if self.bus.follows_deltas:
                data |= ReadableReply(job.kind.stream).take(text)
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


async def around(
    name: str,
    middleware: Middleware,
    call: ActiveCall,
    expected: type[Record],
    proceed: Callable[[Any], Awaitable[Any]],
    request: Any,
) -> Any:
    """Pass a request through one middleware. Raises `PluginFault` for its own bugs and replies of another type."""
    passed: list[object] = []  # replies and errors of the provider, and of the middleware inside

    async def onward(request: Any) -> Any:
        try:
            passed.append(await proceed(request))
        except Exception as error:
            passed.append(error)
            raise
        return passed[-1]

    fault = f"this is a fault of middleware '{name}'"
    try:
        reply = await middleware.around(request, call, onward)
    except Exception as error:
        if any(error is item for item in passed):
            raise
        if isinstance(error, Refused):
            raise RefusedByMiddleware(f"refused by middleware '{name}': {error}") from error
        if isinstance(error, LeadlineError) or translate(error):
            raise
        raise PluginFault(f"{words(error)}; {fault}") from error
    if not isinstance(reply, expected) and not any(reply is item for item in passed):
        raise PluginFault(f"it returned {type(reply).__name__}, not {expected.__name__}; {fault}")
    return reply


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
