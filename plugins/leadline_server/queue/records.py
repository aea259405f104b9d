"""What a queue tells: its records and errors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from leadline.contracts import Submission
from leadline.errors import LeadlineError
from leadline.runs import Order

# The epoch of a claim is the number of the order times this, plus that of the attempt.
ATTEMPTS = 1 << 20
State = Literal["waiting", "claimed", "ended"]


class QueueUnavailable(LeadlineError):
    """The database of the queue does not answer. Nothing is lost: try again later."""

    exit_code = 75


def unavailable(url: object, reason: object) -> QueueUnavailable:
    """Return the error of a queue at a place, with what to do."""
    return QueueUnavailable(
        f"the database {url} does not work: {str(reason).rstrip('.')}; repair or start it and try again, "
        "or name another one with the setting runs.database or --database"
    )


class Taken(Exception):
    """The key of a request was used before: for the run `run_id`, and maybe for the `same` request."""

    def __init__(self, run_id: str, *, same: bool) -> None:
        super().__init__(run_id)
        self.run_id, self.same = run_id, same


class Full(Exception):
    """The principal has as many active runs as it may have, or has spent its quota; `seconds` until that changes."""

    def __init__(self, message: str, seconds: float = 10) -> None:
        super().__init__(message)
        self.seconds = seconds


@dataclass(frozen=True)
class Quota:
    """What each principal may have: active runs (None is no limit), and tokens and USD in a day and a month of UTC.

    Of tokens and money, 0 is no limit.
    """

    runs: int | None = None
    tokens_day: int = 0
    tokens_month: int = 0
    money_day: float = 0
    money_month: float = 0


@dataclass(frozen=True)
class Spent:
    """What a run spent on a model, or on a provider of several, on a day of UTC (2026-01-31); without one on none."""

    run_id: str
    principal: str | None
    day: str
    model: str
    tokens: int
    cost: float


def sums(spent: Iterable[Spent], field: str) -> dict[str, dict[str, Any]]:
    """Return runs, tokens and cost by the values of a field: `principal`, `model` or `day`."""
    runs: dict[str, set[str]] = {}
    totals: dict[str, dict[str, Any]] = {}
    for item in spent:
        name = getattr(item, field) or "-"
        runs.setdefault(name, set()).add(item.run_id)
        total = totals.setdefault(name, {"runs": 0, "tokens": 0, "cost": 0.0})
        total["runs"] = len(runs[name])
        total["tokens"] += item.tokens
        total["cost"] += item.cost
    return dict(sorted(totals.items()))


class Replaced(Exception):
    """The queue does not know this worker any more: its runs belong to others."""


@dataclass(frozen=True)
class QueuedRun:
    """An order in the queue.

    `content` is the order as JSON, None for a run that existed before it was resumed. `ordered` is the time of the
    order, or of the last request to resume it: a session that ended later has carried it out. `problem` is why it could
    not be started; `status` is the run's if the queue ended it, or else empty. `has_begun`: a worker took it before.
    """

    run_id: str
    principal: str | None
    content: str | None
    state: State
    epoch: int
    worker: str
    ordered: float
    retry_failed: bool
    has_begun: bool
    problem: str
    status: str

    @property
    def submission(self) -> Submission:
        """The order, as dispatchers know it."""
        return Submission(self.run_id, self.epoch // ATTEMPTS)

    @property
    def is_active(self) -> bool:
        """Whether the order waits or is worked on."""
        return self.state != "ended"

    @cached_property
    def order(self) -> Order | None:
        """The order; None for a run that existed before it was resumed."""
        return Order.model_validate_json(self.content) if self.content else None


@dataclass(frozen=True)
class Claim:
    """An order that a worker has taken. Each claim of an order has a higher `epoch`: only the latest one counts."""

    run: QueuedRun
    worker: str

    @property
    def run_id(self) -> str:
        return self.run.run_id

    @property
    def epoch(self) -> int:
        return self.run.epoch

    @property
    def attempt(self) -> int:
        return self.run.epoch % ATTEMPTS


@dataclass(frozen=True)
class Notification:
    """A message to `target` that a run has ended or waits for an answer; `event` distinguishes those of one run."""

    run_id: str
    principal: str | None
    target: str
    event: str
    attempts: int = 0


@dataclass(frozen=True)
class Worker:
    """A worker in the queue: its process (see `processes`), and a number that each of its beats increases."""

    id: str
    beats: int
