"""What a queue does, and what it tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

from leadline.errors import LeadlineError
from leadline.permits import Permits
from leadline.runs import Order

State = Literal["waiting", "claimed", "ended"]


class QueueUnavailable(LeadlineError):
    """The database of the queue does not answer. Nothing is lost: try again later."""

    exit_code = 75


def unavailable(url: object, reason: object) -> QueueUnavailable:
    """Return the error of a queue at a place, with what to do."""
    return QueueUnavailable(
        f"the queue {url} does not work: {str(reason).rstrip('.')}; repair or start its database and try again, "
        "or name another queue with the setting runs.queue or --queue"
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


@dataclass(frozen=True)
class Worker:
    """A worker in the queue: its process (see `processes`), and a number that each of its beats increases."""

    id: str
    beats: int


class Queue(Protocol):
    """Orders, and the workers that take them. The methods may be called in any thread; each is one transaction.

    All raise `QueueUnavailable` if the database does not answer in time.
    """

    def put(
        self,
        order: Order,
        principal: str | None,
        *,
        key: str | None = None,
        digest: str = "",
        quota: Quota | None = None,
        priority: int = 0,
    ) -> None:
        """Accept an order for good. `key` and `digest` recognize the repetition of a request.

        Orders of a higher priority are taken first. Raises `Taken` if the principal has used the key, and `Full` if it
        has as many active runs as it may have, or has spent its quota.
        """
        ...

    def reopen(
        self,
        run_id: str,
        principal: str | None,
        *,
        retry_failed: bool = False,
        quota: Quota | None = None,
    ) -> None:
        """Accept the request to continue a run that has ended. Raises `JournalBusy` if it is active, or `Full`."""
        ...

    def claim(self, worker: str, places: int = 0, cap: int = 0) -> Claim | None:
        """Take the order whose turn it is: by priority, then by turns of the principals, then by age.

        `places` are those of each worker. While principals wait, none of them gets more than a fair share of all
        places; alone, it gets all, or `cap` (0 is no limit).
        """
        ...

    def spend(self, run_id: str, principal: str | None, totals: Mapping[str, tuple[int, float]]) -> None:
        """Note what a run has spent in all its sessions, by model: tokens and USD. What is new counts as of today."""
        ...

    def spent(self, since: str) -> list[Spent]:
        """Return what runs spent from a day on."""
        ...

    def is_current(self, claim: Claim) -> bool:
        """Return whether the order still belongs to this claim."""
        ...

    def beat(self, worker: str) -> dict[str, int]:
        """Tell that a worker is alive; return the epochs of its orders by run id. Raises `Replaced`."""
        ...

    def done(self, claim: Claim, problem: str = "") -> bool:
        """End an order. Return False if it belongs to another claim by now, like the two following methods."""
        ...

    def later(self, claim: Claim, seconds: float) -> bool:
        """Give an order back for a while: somebody else works on its run."""
        ...

    def release(self, run_id: str, epoch: int) -> bool:
        """Give an order back so that it continues elsewhere at once."""
        ...

    def withdraw(self, run_id: str, principal: str | None, reason: str) -> bool:
        """Cancel an order that waits; return False if it does not."""
        ...

    def orders(self, principal: str) -> list[QueuedRun]:
        """Return all orders of a principal that are known, also those that have ended."""
        ...

    def erase(self, principal: str) -> bool:
        """Remove all that is known of a principal; return False, and remove nothing, if an order has not ended."""
        ...

    def forget(self, run_id: str) -> None:
        """Remove the order of a deleted run."""
        ...

    def forget_ended(self, when: float) -> None:
        """Remove the orders that have ended and were made before a time."""
        ...

    def get(self, run_id: str, principal: str | None) -> QueuedRun | None: ...

    def active(self) -> list[QueuedRun]:
        """Return the orders that wait or are worked on, the newest first."""
        ...

    def enter(self, worker: str) -> None: ...

    def leave(self, worker: str, *, died: bool = False) -> int:
        """Remove a worker and give its orders back; return their number.

        An order whose workers died again and again waits longer each time, and at last ends with a problem.
        """
        ...

    def workers(self) -> list[Worker]: ...

    def permits(self, worker: str) -> Permits:
        """Return the limits of providers that all workers share; they are given back when the worker leaves."""
        ...

    def wait(self, seconds: float) -> None:
        """Return when something may have changed, or after so many seconds."""
        ...

    def close(self) -> None: ...
