"""Records of runs: `Metadata` (`metadata.json`), `RunInfo` (a run on disk) and `Result` (the end of a run)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from leadline.records import Category, Json, Notice, Principal, Record, Report, Turn

Status = Literal["pending", "running", "waiting", "complete", "partial", "no_evidence", "failed", "cancelled"]
EXIT_CODES: Mapping[Status, int] = {"complete": 0, "failed": 1, "partial": 4, "no_evidence": 5, "cancelled": 130}

# The file of `Metadata` in the folder of a run.
METADATA = "metadata.json"
# The folder of the principals' folders, below the folder of runs.
PRINCIPALS = "principals"
KEPT_NOTICE = "this session did not complete the run: its earlier complete report, files and settings are kept"
_FIGURE = re.compile(r"!\[[^\[\]]*\]\(figure:([^)\s]+)\)")


class Order(Record):
    """A run that can be started, continued, or sent to another process as JSON: a question with everything it needs.

    `run_id` is the name of its folder. `settings` are resolved, without secrets; `setting_tags` identify those that are
    left out, by dotted key, and `seal` shows that this machine wrote them. `principal` is stored without its
    credential. `follows` is the run that this one continues, and `conversation` the id of their conversation; empty for
    the first run of one. `turns` are earlier turns that were no runs.
    """

    run_id: str
    trace_id: str
    question: str
    pipeline: str
    began: datetime
    settings: Json = {}
    setting_tags: dict[str, str] = {}
    seal: str = ""
    versions: dict[str, str] = {}
    tags: dict[str, str] = {}
    principal: Principal | None = None
    conversation: str = ""
    follows: str = ""
    turns: tuple[Turn, ...] = ()
    given: tuple[str, ...] = ()
    """The dotted keys of `settings` that a user set, not a pipeline, a preset or the defaults."""
    plugins: dict[str, str] = {}
    """The distributions of its plugins that are not Leadline's, by KIND/NAME."""
    route: str = ""
    """Why this pipeline was chosen, if the run began with one that chooses."""


class StepError(Record):
    """A failure of a run: its message, category, step and retries.

    `times` counts equal failures in the step; `traceback` is set for faults of a plugin or of Leadline.
    """

    message: Notice
    category: Category | Literal["INTERNAL"] = "INTERNAL"
    retries: int = 0
    step: str = ""
    times: int = 1
    traceback: str = ""


class StepState(Record):
    """The state of a stage; `times` counts how often it started and was not `idle`: it had nothing to do."""

    name: str
    status: Literal["pending", "started", "finished", "idle", "failed"] = "pending"
    times: int = 0
    reason: Notice = Notice("")


class OpenQuestion(Record):
    """A question of a run to a person that waits for an answer, for so many `seconds` from `asked`; None: no limit."""

    id: str
    message: str
    json_schema: Json = {}
    """The JSON schema of `content` of the answer."""
    asked: datetime
    seconds: float | None = None

    @property
    def until(self) -> datetime | None:
        """When the run goes on without an answer; None if it waits without limit."""
        return None if self.seconds is None else self.asked + timedelta(seconds=self.seconds)


class Metadata(Record):
    """The summary of a run, written to `metadata.json` when it starts, at every step, while it waits, and at its end.

    `questions`: those to a person that wait for an answer, with the status `waiting`; if the run has also `ended`, no
    process works on it until somebody answers.
    `reason`: why the run is not complete. `seconds`: wall time over all sessions. `interrupted_calls`: calls in flight
    when a session was killed or cancelled, which the next one made again. `choices`: the selected plugins, with
    reasons. `calls`: counts by kind and provider, as `search/local`. `usage`: tokens (`unpriced`: those at an unknown
    price), cost in USD (null if unknown) and `replies` of models, in total and `by_provider`, `by_task`, `by_stage`.
    `retention`: the share of fetched characters that writing prompts contain. `targets`: the run compared with its
    target figures. `errors`: first those that ended a step, then recovered failures. `principal`: the id of the user on
    whose behalf the run works; empty for none. `conversation`: the id of the conversation, which is that of its first
    run unless the caller chose another; empty for a run that continues none. `follows`: the run that it continues.
    """

    run_id: str
    trace_id: str
    question: str
    pipeline: str
    status: Status = "pending"
    reason: Notice = Notice("")
    exit_code: int | None = None
    """The exit code of the command that ran it; None until it has ended."""
    began: datetime
    ended: datetime | None = None
    seconds: float = 0.0
    sessions: int = 1
    interrupted_calls: int = 0
    steps: tuple[StepState, ...] = ()
    current_step: str = ""
    iterations: int = 0
    choices: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()
    providers: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    calls: dict[str, int] = {}
    cached: int = 0
    """The replies that came from other runs, through the cache."""
    usage: dict[str, JsonValue] = {}
    budget: dict[str, JsonValue] = {}
    retention: float | None = None
    citations: dict[str, JsonValue] = {}
    missing_words: tuple[str, ...] = ()
    """The words of the question that no passage of a report without a model has."""
    verification: dict[str, JsonValue] = {}
    audit: dict[str, JsonValue] = {}
    targets: dict[str, JsonValue] = {}
    files: tuple[str, ...] = ()
    errors: tuple[StepError, ...] = ()
    versions: dict[str, str] = {}
    tags: dict[str, str] = {}
    title: str = ""
    """The name that a user gave the run."""
    pinned: bool = False
    principal: str = ""
    questions: tuple[OpenQuestion, ...] = ()
    conversation: str = ""
    follows: str = ""


@dataclass(frozen=True)
class RunInfo:
    """A run on disk.

    `status` is that of its metadata, `interrupted` if its process is gone, or `unreadable` without metadata.
    """

    id: str
    folder: Path
    status: str
    metadata: Metadata | None


@dataclass(frozen=True)
class Result:
    """The end of a run. `report` is None unless the run is complete or partial."""

    status: Status
    reason: str
    exit_code: int
    folder: Path
    metadata: Metadata
    report: Report | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files in the run's folder that are meant for people and programs."""
        return tuple(self.folder / name for name in self.metadata.files)

    @property
    def text(self) -> str:
        """The report as Markdown, with numbered citations and captions in place of figures; empty without a report."""
        return report_text(self.report) if self.report else ""


def report_text(report: Report) -> str:
    """Return a report as Markdown, with numbered citations and captions in place of figures."""
    from leadline.citations import number

    numbered, captions = number(report), {figure.id: f"*{figure.caption}*" for figure in report.figures}
    texts = ((section.title, section.text) for section in report.sections if (section.text or "").strip())
    sections = (
        f"## {title}\n\n{_FIGURE.sub(lambda match: captions.get(match[1], ''), numbered.render(text or ''))}"
        for title, text in texts
    )
    return "\n\n".join([f"# {report.title}", *sections])
