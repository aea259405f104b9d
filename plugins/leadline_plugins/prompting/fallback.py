"""Tasks with a fallback: a stage whose task fails works with less, and the report notes it."""

from __future__ import annotations

from typing import TypeVar

from leadline.contracts import Run
from leadline.errors import CallFailed, CallRefused
from leadline.records import Record
from leadline.tasks import Task

R = TypeVar("R", bound=Record)


async def perform_or(run: Run, task: Task[R], fallback: R, notice: str, *, closing: bool = False) -> R:
    """Perform a task; if it fails, emit the notice and return the fallback.

    A refused call (budget or time spent) raises `CallRefused`, so that the stage is skipped. With `closing` it
    returns the fallback too: that costs nothing, and a spent budget must not cost the report.
    """
    try:
        return await run.perform(task)
    except CallFailed as failed:
        if isinstance(failed, CallRefused) and not closing:
            raise
        await notify(run, f"{notice} ({failed.record.text})")
        return fallback


async def notify(run: Run, message: str) -> None:
    """Emit a notice: observers receive it, and the method section of the report lists it."""
    await run.emit("notice", {"message": message})


async def model_writes(run: Run) -> bool:
    """Return whether a language model writes the sections."""
    return await run.by_chat("synthesize", "thinking")
