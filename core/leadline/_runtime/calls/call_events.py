"""The events of calls: started, delayed, finished, with usage and errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from leadline._runtime.calls.budget import Budget
from leadline._runtime.calls.context import current_stage, stage_span
from leadline._runtime.calls.job import Job
from leadline._runtime.event_bus import Bus
from leadline._runtime.journal.rows import Row
from leadline._runtime.replies.streamed_text import StreamedText
from leadline.encoding import decode
from leadline.errors import ProviderError
from leadline.records import ChatReply, ChatRequest, Failure, Usage

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
