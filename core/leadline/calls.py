"""The door: the one way from a run to everything outside it.

Each call has a key made of its content. What it returned is committed to the journal before it is delivered, and is
given again to whoever asks the same, at once, later, or after a crash. Two ranks: a leaf is one outside request, with
permit, lease, timeout, middleware and retries; a composite (a strategy, a fallback chain, render and repair) calls
leaves, and its outcome is a row too, so that whatever hangs on timing replays. A leaf calls nothing.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar

from pydantic import JsonValue, ValidationError

from leadline.active import call_now, stage_now, total, within_context
from leadline.attempts import Attempts, Trip
from leadline.budget import Budget, Share, share_now
from leadline.cache import Answers
from leadline.contracts import Call, Middleware, Run
from leadline.counts import Counts, count
from leadline.errors import CallFailed, JournalError, JournalMissing, PluginError, Refused
from leadline.events import Bus
from leadline.flights import Flight, Flights
from leadline.journal import Journal, Row
from leadline.keys import call_text, digest, outline
from leadline.kinds import CHAT, Job, Kind, Maker
from leadline.missing import explain_missing
from leadline.outcomes import WIND_DOWN, Blame, Ended, escaped, raised
from leadline.records import ChatReply, Record, Usage
from leadline.reports import Reports
from leadline.retry import RetryPolicy
from leadline.secrets import Secrets
from leadline.turns import Place
from leadline.winding import Winding
from leadline.wire import compact, decode, reads

__all__ = ["Door", "Kind", "Maker", "call_now", "stage_now"]
Q = TypeVar("Q", bound=Record)
R = TypeVar("R", bound=Record)


class _Name(Record):
    name: str


class _Value(Record):
    value: JsonValue = None


_FACT = Kind("fact", _Value, composite=True, quiet=True)
_FAULT = "fault"
"""The kind of the rows that are no calls: what a plugin raised outside of one."""
_HOUSE = Maker("leadline")


@dataclass(frozen=True)
class _Landed:
    row: Row
    body: bytes
    origin: Literal["live", "journal", "cache"]
    reply: Record | None = None


class Door:
    """The door of one run. Made on its event loop, and closed with `close`."""

    def __init__(
        self,
        run: Run,
        journal: Journal,
        budget: Budget,
        bus: Bus,
        *,
        retry: RetryPolicy | None = None,
        secrets: Secrets | None = None,
        middleware: Mapping[str, Middleware] | None = None,
        offline: bool = False,
        answers: Answers | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run = run
        self._journal = journal
        self._budget = budget
        self._secrets = secrets or Secrets()
        self._offline = offline
        self._answers = answers
        self._monotonic = monotonic
        self._reports = Reports(bus, budget)
        self._attempts = Attempts(
            run, journal, budget, bus, retry or RetryPolicy(), dict(middleware or {}), self._secrets, monotonic
        )
        self._flights: Flights[_Landed] = Flights(self._reports.late)
        self._unkept: dict[str, Row] = {}
        self._winding = Winding(budget, self._flights, self._reports)
        self.replayed: set[str] = set()
        """Keys of the calls that this session answered from the journal, as an earlier one left them there."""
        self._made: set[str] = set()
        self._place = Place()
        budget.restore(journal.spent())
        if journal.damaged:
            places = ", ".join(journal.damaged)
            self._reports.notice(f"the journal is damaged at {places}: what is missing is asked again")

    async def call(
        self,
        kind: Kind[R],
        request: Q,
        do: Callable[[Q, Call], Awaitable[R]],
        *,
        maker: Maker,
        sample: int = 0,
        task: str = "",
        heard: Callable[[int, str], None] | None = None,
        shows: tuple[str, ...] = (),
    ) -> R:
        """Return the reply to a request, from the journal or from `do`.

        `heard` takes the pieces of a reply that is streamed now, each with the number of its attempt; it runs in the
        context of the caller, not in that of the call. `shows` names the fields of a reply in JSON that people read
        while it is streamed.
        Raises CallFailed or CallRefused, live and replayed alike; JournalError where nothing can be kept;
        JournalMissing offline; TypeError for a request that can have no key.
        """
        caller = call_now.get()
        if caller and not caller.composite:
            raise PluginError(f"a provider makes no calls of its own: {kind.name} was asked by one that answers a call")
        job = Job(kind, maker, request, do, sample, task, caller, within_context(heard), shows)
        start, waiting = partial(self._fly, job), caller.key if caller else ""
        landed, shared = await self._flights.board(job.key, job.what, start, waiting)
        if shared:
            self._charge(landed.row)
            await self._reports.finished(job, landed.row, landed.body, "shared")
        for notice in landed.row.notices:  # to the one who asked: told once, and kept with its reply too
            await self._run.emit("notice", {"message": notice})
        if not shared and isinstance(landed.reply, kind.reply):  # already read from its bytes, and nobody else has it
            return landed.reply
        return self._deliver(kind, landed)

    async def fault(self, kind: str, maker: Maker, error: BaseException) -> CallFailed:
        """Return what a plugin raised outside of its calls as the failure of one; the journal holds it, but as none."""
        failed = raised("failure", Blame(kind, maker.name, self._secrets, maker.who).failed(error).body, "").record
        caller = call_now.get()
        parent = caller.key if caller else ""
        about = outline({"kind": kind, "message": failed.message, "parent": parent})
        asked = call_text(_FAULT, maker.name, maker.fingerprint, about, 0)
        row = Row(
            key=digest(asked),
            kind=_FAULT,
            provider=maker.name,
            step=stage_now.get(),
            parent=parent,
            outcome="failure",
            attempts=0,
        )
        if not self._journal.readonly:
            await self._journal.keep(row, failed.model_dump_json().encode(), asked, recent=False)
        return CallFailed(failed, row.key)

    async def fact(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what `make` gave (JSON) when this run first asked for `name`."""

        async def do(_: _Name, call: Call) -> _Value:
            return _Value(value=make())

        return (await self.call(_FACT, _Name(name=name), do, maker=_HOUSE)).value

    async def share(self, name: str, items: int) -> list[Share]:
        """Share the countable budgets out between the items of a group, by their order.

        Each share is a context for its item's calls. What there was to share is a fact of the run, and calls answered
        from the journal count in it: so a resumed item is refused exactly what it was refused before.
        """
        left = await self.fact(f"share {name}", self._budget.countable)
        return self._budget.share(items, left)

    def wind_down(self, reason: str, *, writing: bool = False) -> None:
        """Refuse all calls outside the closing stages, those under way too; the first reason stays.

        With `writing` closing stages ask no model anew either; what they have asked is waited for.
        """
        self._winding.down(reason, writing=writing)

    @property
    def winding_down(self) -> str | None:
        """Why calls are refused now; None while they are not."""
        return self._winding.reason

    async def close(self) -> None:
        """Cancel what is under way, and wait for its end; what ignores that for 5 s is named in an error event."""
        await self._flights.close()

    def escaped(self, error: BaseException) -> set[str]:
        """Return the keys of the failed calls that an error out of the pipeline is made of, and of those below."""
        return self._journal.behind(escaped(error))

    def counts(self) -> Counts:
        """Return, by kind and provider: calls, their outcomes, attempts, those from the journal, usage."""
        rows = [row for row in (*self._journal.rows(), *self._unkept.values()) if row.kind not in (_FACT.name, _FAULT)]
        return count(rows, self.replayed)

    def _charge(self, row: Row) -> None:
        if share := share_now.get():
            share.charge(self._journal.leased(row))

    def _deliver(self, kind: Kind[R], landed: _Landed) -> R:
        """Make the answer from the stored bytes, anew for each caller: live, shared and replayed ones are alike."""
        if landed.row.outcome != "reply":
            raise raised(landed.row.outcome, landed.body, landed.row.key)
        try:
            return decode(landed.body, kind.reply)
        except ValidationError as error:
            raise JournalError(
                f"the journal {self._journal.path} holds a reply to {kind.name} that no longer reads as "
                f"{kind.reply.__name__} ({error.error_count()} errors); use the version of leadline that wrote it"
            ) from error

    # --- one flight --------------------------------------------------------------------------------------------------

    async def _fly(self, job: Job, flight: Flight[_Landed]) -> _Landed:
        if not job.kind.composite:
            await self._place.turn()
        landed = await self._replay(job) or await self._recall(job, flight) or await self._live(job, flight)
        await self._reports.finished(job, landed.row, landed.body, landed.origin)
        return landed

    async def _replay(self, job: Job) -> _Landed | None:
        if not job.kind.keep:
            return None
        damages = len(self._journal.damaged)
        if found := await self._journal.get(job.key):
            if job.key not in self._made:
                self.replayed.add(job.key)
            self._charge(found[0])
            return _Landed(*found, "journal")
        if self._offline:
            raise JournalMissing(await explain_missing(self._journal, job))
        if len(self._journal.damaged) > damages:
            self._reports.notice(f"the journal's reply to {job.what} is damaged: it is asked again")
        return None

    async def _recall(self, job: Job, flight: Flight[_Landed]) -> _Landed | None:
        """Return what another run was answered, copied into this one's journal."""
        if not self._answers or not job.kind.ttl or not job.kind.keep:
            return None
        body = await self._answers.get(job.key, job.maker.account, job.kind.ttl)
        if body is None or not reads(body, job.kind.reply) or not job.kind.whole(decode(body, job.kind.reply)):
            return None
        self.replayed.discard(job.key)
        self._made.add(job.key)
        model = _model(decode(body, job.kind.reply)) if job.kind.name == CHAT else ""
        row = self._row(job, outcome="reply", model=model, attempts=0, cached=True)
        return _Landed(await self._keep(job, row, body, flight), body, "cache")

    def _share(self, job: Job, body: bytes) -> None:
        """Let other runs have a reply, unless it is half a one or repeats a secret."""
        if self._answers and job.kind.ttl and job.kind.keep and job.kind.whole(decode(body, job.kind.reply)):
            text = body.decode()
            if self._secrets.scrub(text) == text:
                self._answers.put_soon(job.key, job.maker.account, body)

    def _row(self, job: Job, **figures: Any) -> Row:
        return Row(
            key=job.key,
            kind=job.kind.name,
            provider=job.maker.name,
            task=job.task,
            step=stage_now.get(),
            parent=job.parent.key if job.parent else "",
            **figures,
        )

    async def _live(self, job: Job, flight: Flight[_Landed]) -> _Landed:
        self.replayed.discard(job.key)
        self._made.add(job.key)
        if job.kind.name == CHAT:
            self._place.step_back()
        began, trip = self._monotonic(), Trip()
        ended = await self._end(job, trip, flight)
        if flight.dying and ended.outcome != "reply":
            raise asyncio.CancelledError  # a cancelled call has not failed, whatever the provider made of it
        row = self._row(
            job,
            outcome=ended.outcome,
            model=_model(ended.reply),
            attempts=trip.attempts,
            seconds=round(self._monotonic() - began, 4),
            usage=total(trip.usages) or Usage(),
            leased=trip.leased.dump(),
            causes=ended.causes,
            notices=tuple(sorted({self._secrets.scrub(notice) for notice in trip.notices})),
        )
        kept = await self._keep(job, row, ended.body, flight)
        if ended.outcome == "reply":
            self._share(job, ended.body)
        if not job.kind.composite:  # what is paid for is kept before anything waits
            await self._place.turn()
        return _Landed(kept, ended.body, "live", ended.reply)

    async def _keep(self, job: Job, row: Row, body: bytes, flight: Flight[_Landed]) -> Row:
        if not job.kind.keep:
            self._unkept[row.key] = row
        elif self._flights.current(flight):  # one that would not die must not write over its successor
            asked = job.asked
            if self._secrets and row.outcome == "refusal":  # what holds a secret is refused: it stands nowhere else
                asked = compact(self._secrets.clean(json.loads(asked)))
            recent = job.kind.composite or job.parent is None  # a composite is asked for, not what it was made of
            return await self._journal.keep(row, body, asked, durable=job.maker.priced, recent=recent)
        return row

    async def _end(self, job: Job, trip: Trip, flight: Flight[_Landed]) -> Ended:
        blame = Blame(job.kind.name, job.maker.name, self._secrets, job.maker.who)
        if job.kind.keep and self._journal.broken:
            raise self._journal.broken
        try:
            if self._secrets:
                self._secrets.refuse(job.tree, job.what)
        except Refused as error:
            return blame.refused(str(error))
        if reason := self._winding.refuses(job):
            return blame.refused(reason, by=WIND_DOWN)
        await self._reports.started(job)
        if job.kind.effect:
            await self._journal.begin_effect(job.key)
        if job.kind.composite:
            return await self._attempts.composite(job, trip, blame)
        ended = await self._winding.in_time(job, flight, partial(self._attempts.leaf, job, trip, blame))
        return blame.refused(ended, trip.attempts, by=WIND_DOWN) if isinstance(ended, str) else ended


def _model(reply: Record | None) -> str:
    return reply.model if isinstance(reply, ChatReply) else ""
