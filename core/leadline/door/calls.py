"""The door: the one way from a run to everything outside it.

Each call has a key made of its content. What it returned is committed to the journal before it is delivered, and is
given again to whoever asks the same, at once, later, or after a crash. Two ranks: a leaf is one outside request, with
permit, lease, timeout, middleware and retries; a composite (a strategy, a fallback chain, render and repair) calls
leaves, and its outcome is a row too, so that whatever hangs on timing replays. A leaf calls nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Set
from functools import partial
from typing import Any, TypeVar

from pydantic import JsonValue

from leadline.concurrency.turns import Place
from leadline.contracts import Call, Middleware, Run
from leadline.door.active import call_now, stage_now, within_context
from leadline.door.attempts import Attempts, Trip
from leadline.door.counts import Counts, count, models
from leadline.door.flights import Flight, Flights
from leadline.door.keys import call_text, digest, outline
from leadline.door.kinds import CHAT, Job, Kind, Maker
from leadline.door.outcomes import WIND_DOWN, Blame, Ended, escaped, raised
from leadline.door.reports import Reports
from leadline.door.retry import RetryPolicy
from leadline.door.secrets import Secrets
from leadline.door.winding import Winding
from leadline.errors import CallFailed, CallRefused, JournalMissing, PluginError, Refused
from leadline.events import Bus
from leadline.journal.cache import Answers
from leadline.journal.journal import Journal
from leadline.journal.memory import Landed, Memory
from leadline.journal.rows import Row
from leadline.records import Record
from leadline.runs.budget import Budget, Share

Q = TypeVar("Q", bound=Record)
R = TypeVar("R", bound=Record)


class _Name(Record):
    name: str


class _Value(Record):
    value: JsonValue = None


_FACT = Kind("fact", _Value, composite=True, quiet=True)
_END = Kind("fact", _Value, composite=True)
"""A fact that is refused while the run winds down: a replay of the run finds the refusal, a resumed run forgets it."""
_FAULT = "fault"
"""The kind of the rows that are no calls: what a plugin raised outside of one."""
_HOUSE = Maker("leadline")


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
        self._monotonic = monotonic
        self._reports = Reports(bus, budget)
        self._attempts = Attempts(
            run, journal, budget, bus, retry or RetryPolicy(), dict(middleware or {}), self._secrets, monotonic
        )
        self._flights: Flights[Landed] = Flights(self._reports.late)
        self._memory = Memory(journal, self._flights, self._reports, self._secrets, answers, offline=offline)
        self._winding = Winding(budget, self._flights, self._reports)
        self._offline = offline
        self._place = Place()
        budget.restore(journal.ledger.spent())
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
            self._memory.charge(landed.row)
            await self._reports.finished(job, landed.row, landed.body, "shared")
        for notice in landed.row.notices:  # to the one who asked: told once, and kept with its reply too
            await self._run.emit("notice", {"message": notice})
        if not shared and isinstance(landed.reply, kind.reply):  # already read from its bytes, and nobody else has it
            return landed.reply
        return self._memory.deliver(kind, landed)

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

    async def turn(self) -> None:
        """Wait for the run's turn among those that share the event loop."""
        await self._place.turn()

    async def fact(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what `make` gave (JSON) when this run first asked for `name`."""

        async def do(_: _Name, call: Call) -> _Value:
            return _Value(value=make())

        return (await self.call(_FACT, _Name(name=name), do, maker=_HOUSE)).value

    async def ends_before(self, name: str) -> bool:
        """Return whether the run winds down before what has this name; a replay winds down there too."""

        async def do(_: _Name, call: Call) -> _Value:
            return _Value()

        if self.winding_down is None and not self._offline:
            return False
        try:
            await self.call(_END, _Name(name=f"before {name}"), do, maker=_HOUSE)
        except JournalMissing:
            return False
        except CallRefused as refused:
            self._winding.down(refused.record.message)
            return True
        return False

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

    def waited_for(self) -> int:
        """Return how many replies of models a run that winds down still waits for."""
        return self._winding.waited_for()

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
        rows = [row for row in self._memory.rows() if row.kind not in (_FACT.name, _FAULT)]
        return count(rows, self.replayed)

    def models(self) -> tuple[str, ...]:
        """Return the language models of which a reply was taken, by name, each with its provider."""
        return models(self._memory.rows())

    def answered(self) -> frozenset[str]:
        """Return the providers that have answered a chat in this run, in any of its sessions; the cache is none."""
        rows = self._memory.rows()
        return frozenset(row.provider for row in rows if (row.kind, row.outcome) == (CHAT, "reply") and not row.cached)

    @property
    def replayed(self) -> Set[str]:
        """The keys of the calls that this session answered from the journal, as an earlier one left them there."""
        return self._memory.replayed

    # --- one flight --------------------------------------------------------------------------------------------------

    async def _fly(self, job: Job, flight: Flight[Landed]) -> Landed:
        if not job.kind.composite:
            await self._place.turn()
        known = await self._memory.replay(job) or await self._memory.recall(job, flight)
        landed = known or await self._live(job, flight)
        await self._reports.finished(job, landed.row, landed.body, landed.origin)
        return landed

    async def _live(self, job: Job, flight: Flight[Landed]) -> Landed:
        self._memory.made(job)
        if job.kind.name == CHAT:
            self._place.step_back()
        began, trip = self._monotonic(), Trip()
        ended = await self._end(job, trip, flight)
        if flight.dying and ended.outcome != "reply":
            raise asyncio.CancelledError  # a cancelled call has not failed, whatever the provider made of it
        landed = await self._memory.keep(job, ended, trip, self._monotonic() - began, flight)
        if not job.kind.composite:  # what is paid for is kept before anything waits
            await self._place.turn()
        return landed

    async def _end(self, job: Job, trip: Trip, flight: Flight[Landed]) -> Ended:
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
