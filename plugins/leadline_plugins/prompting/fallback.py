"""Tasks with a fallback: a stage whose task fails works with less, and the report notes it."""

from __future__ import annotations

from typing import TypeVar

from leadline.contracts import Run
from leadline.errors import CallFailed, CallRefused
from leadline.records import Notice, Record
from leadline.tasks import Task

R = TypeVar("R", bound=Record)


async def perform_or(run: Run, task: Task[R], fallback: R, notice: str, *, closing: bool = False) -> R:
    """Perform a task; if it fails, emit the notice with the reason and return the fallback.

    A refused call (budget or time spent) raises `CallRefused`, so that the stage is skipped. With `closing` it
    returns the fallback too: that costs nothing, and a spent budget must not cost the report.
    """
    try:
        return await run.perform(task)
    except CallFailed as failed:
        if isinstance(failed, CallRefused) and not closing:
            raise
        await notify(run, Notice.read(notice).because(failed.record.text))
        return fallback


async def notify(run: Run, notice: str, code: str = "", /, **parameters: object) -> None:
    """Emit a notice, or make it of a template: observers receive it, and the method section of the report lists it."""
    await run.emit("notice", {"message": Notice(notice, code, **parameters) if code else notice})


async def model_writes(run: Run) -> bool:
    """Return whether a language model writes the sections."""
    return await run.by_chat("synthesize", "thinking")
