"""What a queue does, and what it tells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

from leadline.errors import LeadlineError
from leadline.permits import Permits
from leadline.runs import Order

State = Literal["waiting", "claimed", "ended"]


class QueueUnavailable(LeadlineError):
    """The database of the queue does not answer. Nothing is lost: try again later."""


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
    """The principal has as many active runs as it may have."""


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
        limit: int | None = None,
        priority: int = 0,
    ) -> None:
        """Accept an order for good. `key` and `digest` recognize the repetition of a request.

        Orders of a higher priority are taken first. Raises `Taken` if the principal has used the key, and `Full` if it
        has `limit` active runs.
        """
        ...

    def reopen(
        self, run_id: str, principal: str | None, *, retry_failed: bool = False, limit: int | None = None
    ) -> None:
        """Accept the request to continue a run that has ended. Raises `JournalBusy` if it is active, or `Full`."""
        ...

    def claim(self, worker: str) -> Claim | None:
        """Take the order whose turn it is: by priority, then by turns of the principals, then by age."""
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

    def forget(self, run_id: str) -> None:
        """Remove the order of a deleted run."""
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
