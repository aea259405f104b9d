"""What a stage does when its task cannot be done: go on with less, and say so."""

from __future__ import annotations

from typing import TypeVar

from leadline.contracts import Run
from leadline.errors import CallFailed, CallRefused
from leadline.records import Record
from leadline.tasks import Task

R = TypeVar("R", bound=Record)


async def perform_or(run: Run, task: Task[R], otherwise: R, saying: str, *, closing: bool = False) -> R:
    """Perform a task; when it fails, announce it and return `otherwise`.

    A refusal of the house passes through, and the stage is lost; not where `closing`, for what stands in its place
    costs nothing, and a budget that is spent shall not cost the report.
    """
    try:
        return await run.perform(task)
    except CallFailed as failed:
        if isinstance(failed, CallRefused) and not closing:
            raise
        await tell(run, f"{saying} ({failed.record.text})")
        return otherwise


async def tell_once(run: Run, message: str) -> None:
    """Say it where nobody in this run has."""
    if message not in run.notices:
        await tell(run, message)


async def tell(run: Run, message: str) -> None:
    """Say what was done with less: to those who watch, and in the method section of the report."""
    await run.emit("notice", {"message": message})
