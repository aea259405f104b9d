"""What a stage does when its task cannot be done: go on with less, and say so."""

from __future__ import annotations

from typing import TypeVar

from leadline.contracts import Run
from leadline.errors import CallFailed, CallRefused
from leadline.records import Record
from leadline.tasks import Task

R = TypeVar("R", bound=Record)


async def perform_or(run: Run, task: Task[R], otherwise: R, saying: str) -> R:
    """Perform a task; when it fails, announce it and return `otherwise`. A refusal of the house passes through."""
    try:
        return await run.perform(task)
    except CallRefused:
        raise
    except CallFailed as failed:
        await run.emit("notice", {"message": f"{saying} ({failed.record.text})"})
        return otherwise
