"""The state of a running session: its status, its stages, notices and errors."""

from __future__ import annotations

from typing import Literal

from leadline._hosting.faults import message_of, trace, words
from leadline._settings.secrets import Secrets
from leadline.errors import CallFailed, LeadlineError, PluginError
from leadline.runs import Status, StepError, StepState


class RunState:
    """The mutable state behind `Metadata`. All texts are scrubbed, because messages of plugins may contain secrets."""

    def __init__(self, secrets: Secrets | None = None, steps: tuple[str, ...] = ()) -> None:
        self._secrets = secrets or Secrets()
        self.status: Status = "pending"
        self.reason = ""
        self.current_step = ""
        self.notices: list[str] = []
        self.errors: list[StepError] = []
        # Failed report formats. The journal keeps no formatter calls, so they are collected here.
        self.format_failures: dict[str, CallFailed] = {}
        self._steps = {name: StepState(name=name) for name in steps}

    def continue_from(self, earlier: RunState) -> None:
        """Take over the stages, notices and errors of the state before the run continued with another pipeline."""
        self.status, self.current_step = earlier.status, earlier.current_step
        self.notices, self.errors = earlier.notices, earlier.errors
        self._steps = {one.name: one for one in earlier.steps} | self._steps

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

    def end(self, status: Status, reason: str) -> None:
        """Set the final status."""
        self.status, self.reason = status, self._secrets.scrub(reason)

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
