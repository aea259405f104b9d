"""The call path: the only way from a run to anything outside it.

A call passes, from top to bottom:

    single flight    identical calls at the same time share one task        here
    store            journal of the run, then the cache across runs         store.py
    admission        secrets in the request, shutdown, journal writable     here
    attempts         retries with pauses; each attempt: permit, budget      here, retry.py, attempt.py
                     reservation, timeout, middleware, provider
    commit           the outcome is a row of the journal                    store.py
    delivery         each caller decodes its own record from the row        store.py

The key of a call is made of its content. Its outcome is committed before it is delivered, and serves whoever makes the
same call: at the same time, later, or after a crash. There are two ranks. A leaf is one outside request. A composite
(a search strategy, a chain of models, render and repair) makes leaf calls, and its outcome is a row too, so that
whatever depends on timing replays. A leaf makes no calls.

A shutdown, by a stop or because the time of the run is spent, refuses calls outside the closing stages and interrupts
those in flight, by a timeout scope and never by `task.cancel()`, whose CancelledError would reach everybody who waits
for the call. Calls with an effect are never interrupted. Free work (parsing, judging without a model) goes on until one
later deadline, so that pages that were fetched are read; before any of it has a reply it goes on without end, for
without a reply there is no report.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from pydantic import JsonValue

from leadline._hosting.faults import message_of
from leadline._runtime.calls.attempt import AttemptLog, Attempts, CallEvents, RefusedByMiddleware
from leadline._runtime.calls.budget import Budget
from leadline._runtime.calls.job import CHAT, Job, Kind, ProviderIdentity, current_call, current_stage, within_context
from leadline._runtime.calls.keys import call_text, outline, plain
from leadline._runtime.calls.outcomes import MIDDLEWARE, SHUTDOWN, Outcome, OutcomeBuilder, error_of, failed_call_keys
from leadline._runtime.calls.retry import RetryPolicy, translate
from leadline._runtime.calls.store import CallResult, CallStore, ReplyCache
from leadline._runtime.event_bus import Bus
from leadline._runtime.journal.journal import Journal
from leadline._runtime.journal.rows import Row
from leadline._settings.secrets import Secrets
from leadline.contracts import Call, Middleware, Run
from leadline.encoding import digest
from leadline.errors import (
    CallFailed,
    CallRefused,
    Disconnected,
    JournalError,
    JournalMissing,
    PluginError,
    ProviderError,
    RateLimited,
    Refused,
)
from leadline.records import Notice, Record

Q = TypeVar("Q", bound=Record)
R = TypeVar("R", bound=Record)


class _Name(Record):
    name: str


class _Value(Record):
    value: JsonValue = None


_FACT = Kind("fact", _Value, composite=True, internal=True)
# A fact that is refused during a shutdown: a replay finds the refusal, and a resumed run forgets it.
_END = Kind("fact", _Value, composite=True)
# The kind of rows that are no calls: errors that a plugin raised outside of a call.
_FAULT = "fault"
_CORE = ProviderIdentity("leadline")


class CallPath:
    """The call path of one run. Create it on the event loop of the run, and end it with `in_flight.close`."""

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
        answers: ReplyCache | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        principal: str = "",
    ) -> None:
        self._run = run
        self._journal = journal
        self._budget = budget
        self._retry = retry or RetryPolicy()
        self._secrets = secrets or Secrets()
        self._offline = offline
        self._monotonic = monotonic
        self._principal = principal
        self._events = CallEvents(bus, budget)
        self.in_flight: SingleFlight[CallResult] = SingleFlight()
        self.store = CallStore(journal, self._events, self._secrets, answers, offline=offline)
        self.shutdown = Shutdown(budget, self._events.notice)
        self._attempts = Attempts(
            run, journal, budget, bus, self._events, self._secrets, dict(middleware or {}), monotonic
        )
        # True once the session is cancelled: its calls in flight are made again by the next one.
        self._interrupted = False
        budget.restore(journal.spent())
        if journal.damaged:
            places = ", ".join(journal.damaged)
            self._events.notice(f"the journal is damaged at {places}: the calls of missing rows are made again")

    # --- one call, from top to bottom --------------------------------------------------------------------------------

    async def call(
        self,
        kind: Kind[R],
        request: Q,
        do: Callable[[Q, Call], Awaitable[R]],
        *,
        provider: ProviderIdentity,
        sample: int = 0,
        task: str = "",
        listener: Callable[[int, str], None] | None = None,
        shows: tuple[str, ...] = (),
        answers: bool = False,
    ) -> R:
        """Return the reply to a request, stored or made by `do`.

        `listener` receives the pieces of a reply that is streamed now, each with the number of its attempt, in the
        context of the caller. `shows` names the fields of a JSON reply that people read while it is streamed; with
        `answers` they are the answer of the run.
        Raises CallFailed or CallRefused, live and replayed alike; JournalError if nothing can be stored;
        JournalMissing offline; TypeError for a request without a key.
        """
        caller = current_call.get()
        if caller and not caller.composite:
            raise PluginError(f"a provider must not make calls: {kind.name} was requested inside a provider's call")
        heard = within_context(listener)
        job = Job(kind, provider, request, do, sample, task, caller, heard, shows, answers, self._principal)
        start = partial(self._find_or_make, job)
        result, shared = await self.in_flight.join(job.key, job.label, start, caller.key if caller else "")
        if shared:
            await self._events.finished(job, result.row, result.body, "shared")
        for notice in result.row.notices:
            await self._run.emit("notice", {"message": notice})
        return self.store.deliver(kind, result, shared=shared)

    async def _find_or_make(self, job: Job, in_flight: InFlight[CallResult]) -> CallResult:
        result = await self.store.find(job)
        if result is None:
            self.store.mark_made(job)
            log, began, build = AttemptLog(), self._monotonic(), self._builder(job.kind.name, job.provider)
            try:
                outcome: Outcome | str | None = self._refusal(job, build)
                if outcome is None:
                    await self._events.started(job)
                    if job.kind.effect:
                        await self._journal.begin_effect(job.key)
                    if job.kind.composite:
                        outcome = await self._attempts.composite(job, log, build)
                    else:
                        outcome = await self.shutdown.interruptible(job, partial(self._run_leaf, job, log, build))
                if isinstance(outcome, str):
                    outcome = build.refused(outcome, log.attempts, by=SHUTDOWN)
            except BaseException:
                if job.kind.keep and not self._interrupted and self.in_flight.is_current(in_flight):
                    self._journal.abandon(job.key)
                raise
            seconds, current = self._monotonic() - began, self.in_flight.is_current(in_flight)
            result = await self.store.commit(job, outcome, log, seconds, current=current)
        await self._events.finished(job, result.row, result.body, result.origin)
        return result

    def _refusal(self, job: Job, build: OutcomeBuilder) -> Outcome | None:
        """Return the refusal of a call that may not start. The budget is checked by each attempt."""
        if job.kind.keep and self._journal.broken:
            raise self._journal.broken
        if self._secrets and (path := self._secrets.find(job.tree)):
            why = "secrets stay with the provider that needs them"
            return build.refused(f"{job.label}: {path} holds a configured secret; {why}")
        if reason := self.shutdown.refuses(job):
            return build.refused(reason, by=SHUTDOWN)
        return None

    async def _run_leaf(self, job: Job, log: AttemptLog, build: OutcomeBuilder) -> Outcome:
        """Make attempts until one succeeds or its error allows no other."""
        failed: ProviderError | None = None
        for log.attempts in itertools.count(1):
            try:
                body, reply = await self._attempts.leaf(job, log, restart=isinstance(failed, Disconnected))
                return Outcome("reply", body, reply=reply)
            except JournalError:
                raise
            except Refused as error:
                by = MIDDLEWARE if isinstance(error, RefusedByMiddleware) else "Refused"
                return build.refused(message_of(error), log.attempts, by=by)
            except Exception as error:  # noqa: BLE001 - any error of a plugin is an outcome
                failed, once = translate(error), job.kind.single_attempt
                pause = self._retry.delay(log.attempts, failed, single_attempt=once) if failed else None
                if failed is None or pause is None:
                    return build.failed(error, log.attempts)
            await self._events.retried(job, log.attempts, failed, pause)
            if failed.retry_after is not None or isinstance(failed, RateLimited):
                await self._events.held(job, pause)
            if log.streamed:
                await self._events.restarted(job, log.attempts + 1)
            await self._retry.sleep(pause)
        raise AssertionError("unreachable: the attempts are counted without end")

    def _builder(self, kind: str, provider: ProviderIdentity) -> OutcomeBuilder:
        return OutcomeBuilder(kind, provider.name, self._secrets, provider.who, provider.key_origin)

    def is_stored(self, kind: Kind[Any], request: Record, *, provider: ProviderIdentity) -> bool:
        """Return whether the journal has the outcome of this call."""
        tree = outline(plain(request))
        key_text = call_text(kind.name, provider.name, provider.fingerprint, tree, 0, self._principal)
        return self._journal.has(digest(key_text))

    # --- rows that are no requests -----------------------------------------------------------------------------------

    async def fault(self, kind: str, provider: ProviderIdentity, error: BaseException) -> CallFailed:
        """Return an error that a plugin raised outside of its calls as a failed call; the journal keeps its message."""
        failed = error_of("failure", self._builder(kind, provider).failed(error).body, "").record
        caller = current_call.get()
        parent = caller.key if caller else ""
        request = outline({"kind": kind, "message": failed.message, "parent": parent})
        key_text = call_text(_FAULT, provider.name, provider.fingerprint, request, 0)
        row = Row(
            key=digest(key_text),
            kind=_FAULT,
            provider=provider.name,
            step=current_stage.get(),
            parent=parent,
            outcome="failure",
            attempts=0,
        )
        if not self._journal.readonly:
            await self._journal.keep(row, failed.model_dump_json().encode(), key_text)
        return CallFailed(failed, row.key)

    async def fact(self, name: str, make: Callable[[], Any]) -> Any:
        """Return the JSON value that `make` returned when this run first asked for `name`."""

        async def do(_: _Name, call: Call) -> _Value:
            return _Value(value=make())

        return (await self.call(_FACT, _Name(name=name), do, provider=_CORE)).value

    async def shuts_down_before(self, name: str) -> bool:
        """Return True if the run shuts down before the step of this name; a replay shuts down there too."""

        async def do(_: _Name, call: Call) -> _Value:
            return _Value()

        if self.shutdown.reason is None and not self._offline:
            return False
        try:
            await self.call(_END, _Name(name=f"before {name}"), do, provider=_CORE)
        except JournalMissing:
            return False
        except CallRefused as refused:
            self.shutdown.begin(refused.record.message)
            return True
        return False

    # --- shutdown ----------------------------------------------------------------------------------------------------

    def interrupt(self) -> None:
        """Have the calls in flight counted as interrupted, before the session is cancelled."""
        self._interrupted = True

    # --- the calls so far ---------------------------------------------------------------------------------------------

    def failed_keys(self, error: BaseException) -> set[str]:
        """Return the keys of the failed calls in an error that left the pipeline, and of the calls below them."""
        return self._journal.causes(failed_call_keys(error))

    def rows(self) -> list[Row]:
        """Return the rows of the calls of all sessions, including calls that are not journalled."""
        return [row for row in self.store.rows() if row.kind not in (_FACT.name, _FAULT)]

    def answered(self) -> frozenset[str]:
        """Return the providers that answered a chat in any session of this run; replies of other runs do not count."""
        rows = self.store.rows()
        return frozenset(row.provider for row in rows if (row.kind, row.outcome) == (CHAT, "reply") and not row.cached)


T = TypeVar("T")


@dataclass(eq=False)
class InFlight(Generic[T]):
    """One call in flight, with the number of callers that wait for it."""

    key: str
    name: str
    task: asyncio.Task[T] = field(init=False)
    waiters: int = 0
    # Keys of the calls that the code inside this one waits for.
    waits_for: set[str] = field(default_factory=set)


class SingleFlight(Generic[T]):
    """The calls in flight by key."""

    def __init__(self) -> None:
        self._by_key: dict[str, InFlight[T]] = {}
        self._all: set[InFlight[T]] = set()

    async def join(
        self, key: str, name: str, start: Callable[[InFlight[T]], Coroutine[Any, Any, T]], caller: str = ""
    ) -> tuple[T, bool]:
        """Wait for the call with this key, started if there is none; return its result and True if it was shared.

        `caller` is the key of the composite call that waits. Raises PluginError if two would wait for each other.
        """
        call = self._by_key.get(key)
        shared = call is not None
        if call is None:
            call = self._start(key, name, start)
        self._check_cycle(call, caller)
        call.waiters += 1
        try:
            return await asyncio.shield(call.task), shared
        finally:
            if waiting := self._by_key.get(caller):
                waiting.waits_for.discard(key)
            call.waiters -= 1
            if not call.waiters and not call.task.done():
                await self._stop(call)

    def is_current(self, call: InFlight[T]) -> bool:
        """Return True unless a newer call has taken the key of a cancelled one."""
        return self._by_key.get(call.key, call) is call

    async def ended(self, key: str) -> None:
        """Wait for the end of the call with this key, if it is in flight."""
        if call := self._by_key.get(key):
            await asyncio.wait({call.task})

    async def close(self) -> None:
        """Cancel every call and wait for its end."""
        await asyncio.gather(*(self._stop(call) for call in list(self._all)))

    def _start(self, key: str, name: str, start: Callable[[InFlight[T]], Coroutine[Any, Any, T]]) -> InFlight[T]:
        call: InFlight[T] = InFlight(key, name)
        call.task = asyncio.create_task(start(call), name=f"call {name}")
        self._by_key[key] = call
        self._all.add(call)
        call.task.add_done_callback(lambda task: self._done(call, task))
        return call

    def _done(self, call: InFlight[T], task: asyncio.Task[T]) -> None:
        self._all.discard(call)
        self._remove(call)
        if not task.cancelled():
            task.exception()  # marks it as retrieved: each waiter raises it

    def _remove(self, call: InFlight[T]) -> None:
        if self._by_key.get(call.key) is call:
            del self._by_key[call.key]

    def _check_cycle(self, call: InFlight[T], caller: str) -> None:
        waiting = self._by_key.get(caller)
        if waiting is None:
            return
        if self._reaches(call.key, caller):
            raise PluginError(f"{call.name} waits for itself through {waiting.name}: break the cycle")
        waiting.waits_for.add(call.key)

    def _reaches(self, start: str, goal: str) -> bool:
        if start == goal:
            return True
        call = self._by_key.get(start)
        return call is not None and any(self._reaches(key, goal) for key in call.waits_for)

    async def _stop(self, call: InFlight[T]) -> None:
        self._remove(call)  # first, so that no new caller joins a call that is being cancelled
        call.task.cancel()
        # Bounded, although a provider may ignore its cancellation: an attempt waits a few seconds for it.
        await asyncio.wait({call.task})


# --- shutdown ---------------------------------------------------------------------------------------------------------


_SPENT = "the run's time is spent"
# Free work lasts at least so many seconds longer than other calls.
FREE_SECONDS = 10.0


class Shutdown:
    """Refuses and interrupts the calls of one run; `notice` receives the reason."""

    def __init__(self, budget: Budget, notice: Callable[[str], None]) -> None:
        self.reason: str | None = None
        self._budget = budget
        self._notice = notice
        self._no_new_chats = False
        self._interruptible: set[asyncio.Timeout] = set()
        # Chats in flight that a shutdown does not interrupt.
        self.awaited_chats = 0
        # Free work in flight, and whether any has a reply.
        self._free: set[asyncio.Timeout] = set()
        self._free_replied = False
        # The time of the shutdown, in seconds of the budget.
        self._began: float | None = None

    def begin(self, reason: str, *, writing: bool = False) -> None:
        """Refuse all calls outside the closing stages and interrupt those in flight; the first reason is kept.

        With `writing` closing stages start no chats either; those in flight are awaited.
        """
        self._no_new_chats = self._no_new_chats or writing
        if self.reason is None:
            self.reason, self._began = reason, self._budget.seconds()
            self._notice(reason)
            self._limit_free_work()
        for scope in self._interruptible:
            if not scope.expired():
                scope.reschedule(0)

    def refuses(self, job: Job) -> str | None:
        """Return the reason if this call may not start any more."""
        no_chat = self._no_new_chats and job.kind.name == CHAT
        return self._check_time() if no_chat or not self._exempt(job) else None

    async def interruptible(self, job: Job, run: Callable[[], Awaitable[Outcome]]) -> Outcome | str:
        """Return the outcome of a call, or the reason for which it was interrupted."""
        outcome: Outcome | None = None
        exempt = self._exempt(job) or job.kind.effect
        awaited = exempt and job.kind.name == CHAT
        self.awaited_chats += awaited
        scope = asyncio.timeout(self._seconds_for(job))
        try:
            async with scope:
                if job.kind.free and not self._budget.in_closing_stage:
                    self._free.add(scope)
                if not exempt:
                    self._interruptible.add(scope)
                outcome = await run()
        except TimeoutError:
            self._check_time()  # it is the scope's: attempts translate their own timeouts
        finally:
            self.awaited_chats -= awaited
            self._interruptible.discard(scope)
            self._free.discard(scope)
        if outcome is None or (outcome.kind != "reply" and scope.expired()):
            return self.reason or _SPENT
        if job.kind.free and outcome.kind == "reply" and not self._free_replied:
            self._free_replied = True
            self._limit_free_work()
        return outcome  # a reply that came in spite of the interruption is paid for

    def _exempt(self, job: Job) -> bool:
        if self._budget.in_closing_stage or job.kind.internal:
            return True
        return job.kind.free and ((left := self._free_left()) is None or left > 0)

    def _seconds_for(self, job: Job) -> float | None:
        if job.kind.effect:
            return None
        return self._free_left() if job.kind.free else self._budget.time_left()

    def _free_left(self) -> float | None:
        """Return the seconds left to free work; None without a limit."""
        if self._budget.in_closing_stage or not self._free_replied:
            return None
        left = self._budget.time_left() if self._began is None else self._began - self._budget.seconds()
        return None if left is None else left + max(FREE_SECONDS, self._budget.closing_seconds)

    def _limit_free_work(self) -> None:
        """Let the free work in flight go on until its deadline, as that is now."""
        if (left := self._free_left()) is not None:
            end = asyncio.get_running_loop().time() + max(0.0, left)
            for scope in self._free:
                if not scope.expired():
                    scope.reschedule(end)

    def _check_time(self) -> str | None:
        """Begin the shutdown if the time of the run is spent; return its reason."""
        left = self._budget.time_left()
        if left is not None and left <= 0:
            spent, enough = f"{_SPENT}; more with --set {{setting}}={{value}}", 2 * (self._budget.limits.seconds or 0)
            self.begin(Notice(spent, "time_spent", setting="budget.seconds", value=f"{enough:g}"))
        return self.reason
