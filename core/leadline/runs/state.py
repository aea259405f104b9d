"""Where a run stands: its status, its steps, what went wrong; what `metadata.json` says of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from leadline.door.faults import text_of, trace, words
from leadline.door.secrets import Secrets
from leadline.errors import CallFailed, Category, LeadlineError, PluginError
from leadline.records import Record

Status = Literal["pending", "running", "waiting", "complete", "partial", "no_evidence", "failed", "cancelled"]
EXIT_CODES: Mapping[Status, int] = {"complete": 0, "failed": 1, "partial": 4, "no_evidence": 5, "cancelled": 130}
REJECTED = 3
"""The exit code where the audit decides, and decided against."""


class StepError(Record):
    """Something that went wrong in a run: what, of which category, where, and after how many retries."""

    message: str
    category: Category | Literal["INTERNAL"] = "INTERNAL"
    retries: int = 0
    step: str = ""
    times: int = 1
    """How often it went wrong like that in this step."""
    traceback: str = ""
    """Where it is a fault: of a plugin, or of Leadline."""


class StepState(Record):
    """One step: how often it was entered, and how it ended."""

    name: str
    status: Literal["pending", "started", "finished", "failed"] = "pending"
    times: int = 0
    reason: str = ""


class Metadata(Record):
    """What is known of a run at a glance: `metadata.json`, written at its start and at its end."""

    run_id: str
    trace_id: str
    question: str
    pipeline: str
    status: Status = "pending"
    reason: str = ""
    """Why it is not complete."""
    exit_code: int = 0
    began: datetime
    ended: datetime | None = None
    seconds: float = 0.0
    """Wall time over all sessions."""
    sessions: int = 1
    steps: tuple[StepState, ...] = ()
    current_step: str = ""
    iterations: int = 0
    choices: tuple[str, ...] = ()
    """Who was chosen for what, and why."""
    notices: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    calls: dict[str, int] = {}
    """Calls by kind and provider: `search/local`."""
    usage: dict[str, JsonValue] = {}
    """Tokens, those of them at a price that nobody knows (`unpriced`), cost in USD (null: all unknown), `replies` of
    models; `by_provider`, `by_task` and `by_stage` beside the sums."""
    budget: dict[str, JsonValue] = {}
    retention: float | None = None
    """Characters of fetched text that reach writing prompts, over characters fetched."""
    citations: dict[str, JsonValue] = {}
    verification: dict[str, JsonValue] = {}
    audit: dict[str, JsonValue] = {}
    targets: dict[str, JsonValue] = {}
    """Where the run stands against the figures it aims at."""
    files: tuple[str, ...] = ()
    errors: tuple[StepError, ...] = ()
    """What ended something first, then what was lived through."""
    versions: dict[str, str] = {}
    tags: dict[str, str] = {}


class RunState:
    """The state while a run goes on, changed by its progress."""

    def __init__(self, secrets: Secrets | None = None) -> None:
        """`secrets` stand in nothing that is told of the run: what strangers raise may hold them."""
        self._secrets = secrets or Secrets()
        self.status: Status = "pending"
        self.reason = ""
        self.current = ""
        self.notices: list[str] = []
        self.errors: list[StepError] = []
        self.unformatted: dict[str, CallFailed] = {}
        """The formats that a report could not be written in."""
        self._steps: dict[str, StepState] = {}

    def expect(self, names: tuple[str, ...]) -> None:
        """Note the steps to come."""
        for name in names:
            self._steps.setdefault(name, StepState(name=name))

    def step(self, name: str, status: Literal["started", "finished", "failed"], reason: str = "") -> None:
        """Note how a step goes."""
        before = self._steps.get(name, StepState(name=name))
        times = before.times + (status == "started")
        self._steps[name] = StepState(name=name, status=status, times=times, reason=self._secrets.scrub(reason))
        if status == "started":
            self.current = name

    def notice(self, message: str) -> bool:
        """Note something that people are told; returns whether it is new."""
        message = self._secrets.scrub(message)
        if message in self.notices:
            return False
        self.notices.append(message)
        return True

    def end(self, status: Status, reason: str) -> None:
        """Note how the run stands, and why."""
        self.status, self.reason = status, self._secrets.scrub(reason)

    def error(self, error: BaseException) -> None:
        """Note an error."""
        record = getattr(error, "record", None)
        text = text_of(error) if isinstance(error, LeadlineError) else words(error)
        self.errors.append(
            StepError(
                message=self._secrets.scrub(record.text if record else text),
                category=record.category if record else "INTERNAL",
                retries=record.attempts - 1 if record else 0,
                step=self.current,
                traceback=record.traceback if record else self._trace(error),
            )
        )

    def _trace(self, error: BaseException) -> str:
        """Return the traceback of what nobody raised on purpose."""
        fault = error.__cause__ if isinstance(error, PluginError) else error
        return "" if fault is None or isinstance(fault, LeadlineError) else trace(fault, self._secrets.scrub)

    @property
    def steps(self) -> tuple[StepState, ...]:
        """The steps, in the order of the pipeline."""
        return tuple(self._steps.values())
