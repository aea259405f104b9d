"""What a run's calls returned: found again in its journal, or in the cache across runs, and kept in both.

What a caller gets is made from the bytes that are kept, anew for each: live, shared and replayed answers are alike.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from leadline.door.active import stage_now, total
from leadline.door.attempts import Trip
from leadline.door.flights import Flight, Flights
from leadline.door.kinds import CHAT, Job, Kind
from leadline.door.outcomes import Ended, raised
from leadline.door.reports import Reports
from leadline.door.secrets import Secrets
from leadline.errors import JournalError, JournalMissing
from leadline.journal.cache import Answers
from leadline.journal.journal import Journal
from leadline.journal.missing import explain_missing
from leadline.journal.rows import Row
from leadline.journal.wire import compact, decode, reads
from leadline.records import ChatReply, Record, Usage
from leadline.runs.budget import share_now

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Landed:
    """A call that has returned, and where from; `reply` is there for the one caller who need not read the body."""

    row: Row
    body: bytes
    origin: Literal["live", "journal", "cache"]
    reply: Record | None = None


class Memory:
    """Looks up and keeps the replies of one run; in a replay one that is missing is an error."""

    def __init__(
        self,
        journal: Journal,
        flights: Flights[Landed],
        reports: Reports,
        secrets: Secrets,
        answers: Answers | None,
        *,
        offline: bool,
    ) -> None:
        self._journal = journal
        self._flights = flights
        self._reports = reports
        self._secrets = secrets
        self._answers = answers
        self._offline = offline
        self._unkept: dict[str, Row] = {}
        self._made: set[str] = set()
        self.replayed: set[str] = set()
        """Keys of the calls that this session answered from the journal, as an earlier one left them there."""

    def rows(self) -> list[Row]:
        """Return the rows of all calls, with those that are not kept."""
        return [*self._journal.rows(), *self._unkept.values()]

    async def replay(self, job: Job) -> Landed | None:
        """Return what the run was answered before. Raises JournalMissing offline."""
        if not job.kind.keep:
            return None
        damages = len(self._journal.damaged)
        if found := await self._journal.get(job.key):
            if job.key not in self._made:
                self.replayed.add(job.key)
            self.charge(found[0])
            return Landed(*found, "journal")
        if self._offline:
            raise JournalMissing(await explain_missing(self._journal, job))
        if len(self._journal.damaged) > damages:
            self._reports.notice(f"the journal's reply to {job.what} is damaged: it is asked again")
        return None

    async def recall(self, job: Job, flight: Flight[Landed]) -> Landed | None:
        """Return what another run was answered, copied into this one's journal."""
        if not self._answers or not _serves_others(job):
            return None
        body = await self._answers.get(job.key, job.maker.account, job.kind.ttl)
        if body is None or not reads(body, job.kind.reply) or not job.kind.whole(decode(body, job.kind.reply)):
            return None
        self.made(job)
        model = _model(decode(body, job.kind.reply)) if job.kind.name == CHAT else ""
        row = _row(job, outcome="reply", model=model, attempts=0, cached=True)
        return Landed(await self._keep(job, row, body, flight), body, "cache")

    def made(self, job: Job) -> None:
        """Take note that this session has the call made, whatever an earlier one had."""
        self.replayed.discard(job.key)
        self._made.add(job.key)

    async def keep(self, job: Job, ended: Ended, trip: Trip, seconds: float, flight: Flight[Landed]) -> Landed:
        """Keep how a call ended that took so long; other runs may have its reply too."""
        row = _row(
            job,
            outcome=ended.outcome,
            model=_model(ended.reply),
            attempts=trip.attempts,
            seconds=round(seconds, 4),
            usage=total(trip.usages) or Usage(),
            leased=trip.leased.dump(),
            causes=ended.causes,
            notices=tuple(sorted({self._secrets.scrub(notice) for notice in trip.notices})),
        )
        kept = await self._keep(job, row, ended.body, flight)
        if ended.outcome == "reply":
            self._share(job, ended.body)
        return Landed(kept, ended.body, "live", ended.reply)

    def charge(self, row: Row) -> None:
        """Count in the caller's share of the budget what a call leased that is given again."""
        if share := share_now.get():
            share.charge(self._journal.leased(row))

    def deliver(self, kind: Kind[R], landed: Landed) -> R:
        """Return the reply. Raises CallFailed, CallRefused, or JournalError where it no longer reads as one."""
        if landed.row.outcome != "reply":
            raise raised(landed.row.outcome, landed.body, landed.row.key)
        try:
            return decode(landed.body, kind.reply)
        except ValidationError as error:
            raise JournalError(
                f"the journal {self._journal.path} holds a reply to {kind.name} that no longer reads as "
                f"{kind.reply.__name__} ({error.error_count()} errors); use the version of leadline that wrote it"
            ) from error

    async def _keep(self, job: Job, row: Row, body: bytes, flight: Flight[Landed]) -> Row:
        if not job.kind.keep:
            self._unkept[row.key] = row
        elif self._flights.current(flight):  # one that would not die must not write over its successor
            asked = job.asked
            if self._secrets and row.outcome == "refusal":  # what holds a secret is refused: it stands nowhere else
                asked = compact(self._secrets.clean(json.loads(asked)))
            recent = job.kind.composite or job.parent is None  # a composite is asked for, not what it was made of
            return await self._journal.keep(row, body, asked, durable=job.maker.priced, recent=recent)
        return row

    def _share(self, job: Job, body: bytes) -> None:
        """Let other runs have a reply, unless it is half a one or repeats a secret."""
        if self._answers and _serves_others(job) and job.kind.whole(decode(body, job.kind.reply)):
            text = body.decode()
            if self._secrets.scrub(text) == text:
                self._answers.put_soon(job.key, job.maker.account, body)


def _serves_others(job: Job) -> bool:
    return job.kind.keep and job.kind.ttl > 0


def _row(job: Job, **figures: Any) -> Row:
    return Row(
        key=job.key,
        kind=job.kind.name,
        provider=job.maker.name,
        task=job.task,
        step=stage_now.get(),
        parent=job.parent.key if job.parent else "",
        **figures,
    )


def _model(reply: Record | None) -> str:
    return reply.model if isinstance(reply, ChatReply) else ""
