"""What the door tells about its calls, as events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from leadline.door.active import stage_now
from leadline.door.kinds import Job
from leadline.events import Bus
from leadline.journal.rows import Row
from leadline.journal.wire import decode
from leadline.records import Failure, Usage
from leadline.replies.prose import Prose
from leadline.runs.budget import Budget

Origin = Literal["live", "journal", "cache", "shared"]


@dataclass
class Reports:
    """Tells of one run's calls; of those of a quiet kind nothing."""

    bus: Bus
    budget: Budget
    _refusals: set[str] = field(default_factory=set)

    async def started(self, job: Job) -> None:
        """Tell that a call begins."""
        await self._emit(job, "call.started", {})

    async def finished(self, job: Job, row: Row, body: bytes, origin: Origin) -> None:
        """Tell how a call ended, what it used, and what went wrong."""
        if job.kind.quiet:
            return
        if origin in ("journal", "cache"):
            await self._text(job, row, body)
        if row.outcome != "reply" and origin != "shared":
            await self._trouble(job, Failure.model_validate_json(body), replayed=origin == "journal")
        usage = row.usage.model_dump(mode="json", exclude_defaults=True)
        told = {"outcome": row.outcome, "from": origin, "seconds": row.seconds, "attempts": row.attempts}
        await self._emit(job, "call.finished", {**told, "usage": usage})
        if origin == "live" and row.usage != Usage():
            spent = self.budget.spent()
            await self._emit(job, "usage", {"usage": usage, "spent": spent})

    def notice(self, message: str) -> None:
        """Tell people something, from any thread."""
        self.bus.emit_soon("notice", {"message": message})

    def late(self, message: str) -> None:
        """Tell of what goes on though it was cancelled."""
        self.bus.emit_soon("error", {"message": message, "category": "BUSINESS", "step": stage_now.get()})

    async def _text(self, job: Job, row: Row, body: bytes) -> None:
        if job.kind.text and row.outcome == "reply":
            text = job.kind.text(decode(body, job.kind.reply))
            data = {"kind": "text", "text": text, "attempt": row.attempts}
            if job.shows and self.bus.follows_deltas:
                data["said"] = Prose(job.shows).take(text)
            await self._emit(job, "call.delta", data)

    async def _trouble(self, job: Job, failure: Failure, *, replayed: bool) -> None:
        if failure.category == "RESOURCE_LIMIT" and failure.message in self._refusals:
            return  # a spent budget is told once, not once a call
        self._refusals.add(failure.message)
        data = {"message": failure.text, "category": failure.category, "attempts": failure.attempts}
        await self._emit(job, "error", {**data, "step": stage_now.get(), "replayed": replayed})

    async def _emit(self, job: Job, kind: str, data: dict[str, Any]) -> None:
        if not job.kind.quiet:
            names = {"kind": job.kind.name, "provider": job.maker.name, "task": job.task, "key": job.key}
            parent = job.parent.span if job.parent else None
            await self.bus.emit(kind, {**names, **data}, span_id=job.span, parent_id=parent)
