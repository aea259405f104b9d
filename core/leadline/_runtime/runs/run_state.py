"""The state of a running session (its status, stages, notices and errors), and the writer of its metadata."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

from leadline._hosting.faults import message_of, trace, words
from leadline._runtime.runs.folder import write_metadata
from leadline._settings.secrets import Secrets
from leadline.errors import CallFailed, JournalBusy, LeadlineError, PluginError
from leadline.runs import EXIT_CODES, Metadata, Status, StepError, StepState

# The exit code of a run that was stopped, even if it wrote a report.
INTERRUPTED = 130


class RunState:
    """The mutable state behind `Metadata`. All texts are scrubbed, because messages of plugins may contain secrets."""

    def __init__(self) -> None:
        self._secrets = Secrets()
        self.status: Status = "pending"
        self.reason = ""
        self.current_step = ""
        self.notices: list[str] = []
        self.errors: list[StepError] = []
        # Failed report formats. The journal keeps no formatter calls, so they are collected here.
        self.format_failures: dict[str, CallFailed] = {}
        # Somebody stopped the run.
        self.stopped = False
        self._exit_code: int | None = None
        self._steps: dict[str, StepState] = {}

    def use(self, secrets: Secrets, steps: tuple[str, ...]) -> None:
        """Continue with the secrets and the stages of these plugins; stages that ran before stay."""
        self._secrets = secrets
        self._steps |= {name: StepState(name=name) for name in steps}

    @property
    def steps(self) -> tuple[StepState, ...]:
        """The stages, in the order of the pipeline."""
        return tuple(self._steps.values())

    def set_step(self, name: str, status: Literal["started", "finished", "idle", "failed"], reason: str = "") -> None:
        """Set the status of a stage; a round in which it was idle does not count."""
        before = self._steps.get(name, StepState(name=name))
        times = before.times + (status == "started")
        if status == "idle":
            times = max(0, times - (before.status == "started"))
            status = "finished" if times else status
        self._steps[name] = StepState(name=name, status=status, times=times, reason=self._secrets.scrub(reason))
        if status == "started":
            self.current_step = name

    def end(self, status: Status, reason: str, exit_code: int | None = None) -> None:
        """Set the final status, and an exit code other than that of the status.

        A run that was stopped before it found anything did not fail: it is cancelled.
        """
        if self.stopped and status in ("failed", "no_evidence") and exit_code is None:
            status = "cancelled"
        self.status, self.reason = status, self._secrets.scrub(reason)
        is_lost = exit_code == JournalBusy.exit_code  # the run goes on elsewhere, or later
        self._exit_code = INTERRUPTED if self.stopped and not is_lost else exit_code

    @property
    def exit_code(self) -> int:
        """The exit code for the current status."""
        return EXIT_CODES.get(self.status, 1) if self._exit_code is None else self._exit_code

    def add_notice(self, message: str) -> bool:
        """Add a notice; return whether it is new."""
        message = self._secrets.scrub(message)
        if message in self.notices:
            return False
        self.notices.append(message)
        return True

    def add_error(self, error: BaseException) -> StepError:
        """Add an error of the current stage."""
        record = getattr(error, "record", None)
        message = record.text if record else message_of(error) if isinstance(error, LeadlineError) else words(error)
        step_error = StepError(
            message=self._secrets.scrub(message),
            category=record.category if record else "INTERNAL",
            retries=record.attempts - 1 if record else 0,
            step=self.current_step,
            traceback=record.traceback if record else self._traceback(error),
        )
        self.errors.append(step_error)
        return step_error

    def _traceback(self, error: BaseException) -> str:
        """Return the traceback of a fault; empty for errors that were raised on purpose."""
        fault = error.__cause__ if isinstance(error, PluginError) else error
        return "" if fault is None or isinstance(fault, LeadlineError) else trace(fault, self._secrets.scrub)


# --- metadata.json ----------------------------------------------------------------------------------------------------


# Seconds from a change of a stage until it is in the metadata.
INTERVAL = 0.2


class MetadataWriter:
    """Writes summaries of a run to its folder, one after another, so that the newest is written last.

    `summary` is `Run.summary`. Without a folder, nothing is written; `locked` writes a file if the run still belongs to
    this session.
    """

    def __init__(
        self,
        summary: Callable[..., Metadata],
        folder: Path | None,
        locked: Callable[[Callable[[], None]], Awaitable[None]],
    ) -> None:
        self._summary: Callable[..., Metadata] | None = summary
        self._folder = folder
        self._locked = locked
        self._writing = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._update: asyncio.Task[None] | None = None

    async def write(self, *, ended: bool = False) -> Metadata:
        """Write the summary and return it. Raises `LeadlineError` and `OSError`."""
        async with self._writing:
            if self._summary is None:
                raise LeadlineError("the run has ended")
            metadata = self._summary(ended=ended)
            if self._folder:
                await self._locked(partial(write_metadata, self._folder, metadata))
            return metadata

    async def update(self) -> None:
        """Write the summary of a run that continues; a full disk is reported by the journal."""
        with suppress(LeadlineError, OSError):
            await self.write()

    def update_soon(self) -> None:
        """Write the summary in a moment: stages often start and finish in groups."""

        def write() -> None:
            self._timer = None
            self._update = asyncio.create_task(self.update(), name="metadata")

        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, write)

    def close(self) -> None:
        """Write nothing more, and let go of the run: timers of ended calls keep this writer for a while."""
        self._summary = None

    async def settle(self) -> None:
        """Drop what was to be written in a moment, and wait for what is being written."""
        if self._timer:
            self._timer.cancel()
        if self._update:
            await asyncio.wait({self._update})
