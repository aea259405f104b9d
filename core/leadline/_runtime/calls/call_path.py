"""The call path: the only way from a run to anything outside it.

A call passes, from top to bottom:

    single flight    identical calls at the same time share one task        in_flight.py
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
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import math
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from weakref import ref

from pydantic import JsonValue

from leadline._hosting.faults import message_of
from leadline._runtime.calls.attempt import (
    AttemptLog,
    CallEvents,
    RefusedByMiddleware,
    TimedOut,
    around,
    run_in_task,
)
from leadline._runtime.calls.budget import Budget, Reservation, used_by
from leadline._runtime.calls.in_flight import SPENT, InFlight, Shutdown, SingleFlight
from leadline._runtime.calls.job import (
    CHAT,
    ActiveCall,
    Job,
    Kind,
    ProviderIdentity,
    ReadableReply,
    current_call,
    current_stage,
)
from leadline._runtime.calls.keys import call_text, outline, plain
from leadline._runtime.calls.outcomes import MIDDLEWARE, SHUTDOWN, Outcome, OutcomeBuilder, error_of, failed_call_keys
from leadline._runtime.calls.retry import RetryPolicy, translate
from leadline._runtime.calls.store import CallResult, CallStore, ReplyCache
from leadline._runtime.event_bus import Bus
from leadline._runtime.journal.journal import Journal
from leadline._runtime.journal.rows import Row, total, with_causes
from leadline._settings.secrets import Secrets
from leadline.contracts import Call, Middleware, Run
from leadline.encoding import digest, encode
from leadline.errors import (
    BadReply,
    CallFailed,
    CallRefused,
    Disconnected,
    JournalBusy,
    JournalError,
    JournalMissing,
    PluginError,
    ProviderError,
    RateLimited,
    Refused,
)
from leadline.records import Record

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


@dataclass(frozen=True)
class CallRules:
    """What the calls of a run obey."""

    retry: RetryPolicy = field(default_factory=RetryPolicy)
    secrets: Secrets = field(default_factory=Secrets)
    middleware: Mapping[str, Middleware] = field(default_factory=dict)
    # The cache across runs.
    answers: ReplyCache | None = None
    # The id of the user on whose behalf calls are made.
    principal: str = ""


class CallPath:
    """The call path of one run. Create it on the event loop of the run, and end it with `in_flight.close`.

    With a journal that is read only, a call whose outcome is missing is an error.
    """

    def __init__(
        self,
        run: Run,
        journal: Journal,
        budget: Budget,
        bus: Bus,
        rules: CallRules,
    ) -> None:
        self._run = run
        self._journal = journal
        self._budget = budget
        self._bus = bus
        self._rules = rules
        self._secrets = rules.secrets
        self._events = CallEvents(bus, budget)
        self.in_flight: SingleFlight[CallResult] = SingleFlight()
        self.store = CallStore(journal, self._events, rules.secrets, rules.answers)
        self.shutdown = Shutdown(budget, self._events.notice)
        # True once the session is cancelled: its calls in flight are made again by the next one.
        self.interrupted = False
        # The keys of the requests in flight; once the session is about to end no further one begins, and the event is
        # set when they are committed.
        self._requested: set[str] = set()
        self._ending: asyncio.Event | None = None
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
    ) -> R:
        """Return the reply to a request, stored or made by `do`.

        Raises CallFailed or CallRefused, live and replayed alike; JournalError if nothing can be stored;
        JournalMissing offline; TypeError for a request without a key.
        """
        caller = current_call.get()
        if caller and not caller.composite:
            raise PluginError(f"a provider must not make calls: {kind.name} was requested inside a provider's call")
        job = Job(kind, provider, request, do, sample, task, caller, self._rules.principal)
        start, within = partial(self._find_or_make, job), caller.key if caller else ""
        async with self.in_flight.joined(job.key, job.label, start, within) as (making, shared):
            result = await asyncio.shield(making)
        if shared:
            await self._events.finished(job, result.row, result.body, "shared")
        for notice in result.row.notices:
            await self._run.emit("notice", {"message": notice})
        return self.store.deliver(kind, result, shared=shared)

    async def _find_or_make(self, job: Job, in_flight: InFlight[CallResult]) -> CallResult:
        result = await self.store.find(job)
        if result is None:
            self.store.mark_made(job)
            log, began = AttemptLog(), time.monotonic()
            build = OutcomeBuilder(job.kind.name, job.provider, self._secrets)
            try:
                outcome = self._refusal(job, build)
                if outcome is None:
                    await self._events.started(job)
                    if job.kind.effect:
                        await self._journal.begin(job.key, durable=True)
                    if job.kind.composite:
                        outcome = await self._run_composite(job, log, build)
                    else:
                        outcome = await self.shutdown.interruptible(job, partial(self._run_leaf, job, log, build))
                if outcome is None:
                    outcome = build.refused(self.shutdown.reason or SPENT, log.attempts, by=SHUTDOWN)
            except BaseException:
                if job.kind.keep and not self.interrupted and self.in_flight.is_current(in_flight):
                    self._journal.abandon(job.key)
                raise
            seconds, current = time.monotonic() - began, self.in_flight.is_current(in_flight)
            result = await self.store.commit(job, outcome, log, seconds, current=current)
            self._requested_no_more(job.key)
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
                body, reply = await self._attempt(job, log, restart=isinstance(failed, Disconnected))
                return Outcome("reply", body, reply=reply)
            except JournalError:
                raise
            except Refused as error:
                by = MIDDLEWARE if isinstance(error, RefusedByMiddleware) else "Refused"
                return build.refused(message_of(error), log.attempts, by=by)
            except Exception as error:  # noqa: BLE001 - any error of a plugin is an outcome
                failed, once = translate(error), job.kind.single_attempt
                pause = self._rules.retry.delay(log.attempts, failed, single_attempt=once) if failed else None
                if failed is None or pause is None:
                    return build.failed(error, log.attempts)
            await self._events.retried(job, log.attempts, failed, pause)
            if failed.retry_after is not None or isinstance(failed, RateLimited):
                await self._events.held(job, pause)
            if log.streamed:
                await self._events.restarted(job, log.attempts + 1)
            await self._rules.retry.sleep(pause)
        raise AssertionError("unreachable: the attempts are counted without end")

    async def finish_requests(self, grace: float) -> None:
        """Let no further request begin, and wait until those in flight are committed; at most `grace` seconds."""
        self._ending = asyncio.Event()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                while self._requested:
                    await self._ending.wait()

    def _requested_no_more(self, key: str) -> None:
        self._requested.discard(key)
        if self._ending and not self._requested:
            self._ending.set()

    async def _attempt(self, job: Job, log: AttemptLog, *, restart: bool) -> tuple[bytes, Record]:
        """Make one outside request; with `restart` the plugin is closed and entered again first."""
        await self._events.held(job, job.provider.wait_time())
        async with job.provider.permit():
            if self._journal.broken and job.kind.keep:  # do not pay for a reply that cannot be kept
                raise self._journal.broken
            if self._ending:
                await asyncio.get_running_loop().create_future()  # until it is cancelled
            self._requested.add(job.key)
            reservation = await self._budget.reserve_in_turn(job.kind.need(job.request))
            call = self._active_call(job, log, time.monotonic() + job.provider.timeout)
            with self._accounting(call, log, reservation):
                if job.kind.keep and not (job.kind.free or job.kind.effect):
                    await self._journal.begin(job.key)
                try:
                    lost_since, log.began = (log.began if restart else None), asyncio.get_running_loop().time()
                    work = self._request(job, call, lost_since)
                    reply = await run_in_task(work, job.label, self._events.late, job.provider.timeout)
                    body, read = encode(reply, job.kind.reply)
                    if job.kind.keep and self._secrets.found_in(body):  # a request that quotes it would be refused
                        raise BadReply("the reply holds a configured secret, and is not taken")
                    call.ended = "reply"
                    return body, read
                except TimedOut as late:
                    self._requested_no_more(job.key)  # another attempt would not begin
                    setting = job.provider.timeout_setting
                    raise type(late.error)(f"{late.error} ({setting})" if setting else f"{late.error}") from None
                except Exception as error:
                    self._requested_no_more(job.key)
                    # Text that was streamed is billed, even if it is of no use and no usage was reported.
                    call.ended = "reply" if call.streamed or isinstance(translate(error), BadReply) else "error"
                    raise

    async def _run_composite(self, job: Job, log: AttemptLog, build: OutcomeBuilder) -> Outcome:
        """Run code that makes leaf calls: without permit, timeout or middleware, for it may wait for others."""
        call, need = self._active_call(job, log, math.inf), job.kind.need(job.request)
        call.ended = "reply"
        try:
            with self._accounting(call, log, self._budget.reserve(need)):
                reply = await run_in_task(job.do(job.request, call), job.label, self._events.late)
                body, read = encode(reply, job.kind.reply)
                return Outcome("reply", body, reply=read)
        except Refused as error:
            return build.refused(message_of(error))
        except Exception as error:  # noqa: BLE001 - any error of a plugin is an outcome
            return build.of_composite(error)

    @contextmanager
    def _accounting(self, call: ActiveCall, log: AttemptLog, reservation: Reservation) -> Iterator[None]:
        """Run a call within its reservation, and count what it used in its place."""
        need, entry = reservation.need, ""
        log.reserved += need
        # Calls and queries are counted by the journal's rows.
        if (costs := need - need.counts()) and not self._journal.readonly:
            entry = self._journal.ledger.reserve(costs)
        token = current_call.set(call)
        try:
            yield
        finally:
            current_call.reset(token)
            call.close()
            log.usages += call.usages
            log.streamed = log.streamed or call.streamed
            used = used_by(need, total(call.usages), call.ended)
            self._budget.settle(reservation, used)
            if entry:
                self._journal.ledger.settle(entry, used)

    async def _request(self, job: Job, call: ActiveCall, lost_since: float | None) -> Any:
        if lost_since is not None and job.provider.restart:
            await job.provider.restart(lost_since)
        if not self._journal.is_current():  # this process was paused after it recorded the start
            raise JournalBusy(f"another process continues the run in {self._journal.path.parent}")
        proceed: Callable[[Any], Awaitable[Any]] = lambda request: job.do(request, call)  # noqa: E731
        for name, middleware in reversed(tuple(self._middleware_of(job).items())):
            proceed = partial(around, name, middleware, call, job.kind.reply, proceed)
        reply = await proceed(job.request)
        if not call.live and job.kind.text:
            call.live = True
            call.emit("text", job.kind.text(reply))
        return reply

    def _middleware_of(self, job: Job) -> Mapping[str, Middleware]:
        """Return the middleware of a call: none for a composite, and for work that contacts nobody outside."""
        return {} if job.kind.composite or job.kind.free or job.provider.local else self._rules.middleware

    def _active_call(self, job: Job, log: AttemptLog, deadline: float) -> ActiveCall:
        return ActiveCall(
            ref(self._run),
            task=job.task,
            key=job.key,
            traceparent=f"00-{self._bus.trace_id}-{job.span}-01",
            span=job.span,
            composite=job.kind.composite,
            deadline=deadline,
            bus=self._bus,
            attempt=log.attempts,
            notices=log.notices,
            price=partial(job.kind.price, job.request) if job.kind.price else None,
            listener=job.listener,
            readable=ReadableReply(job.kind.stream),
            live=all(middleware.live for middleware in self._middleware_of(job).values()),
        )

    def key_of(self, kind: Kind[Any], request: Record, *, provider: ProviderIdentity) -> str:
        """Return the key of a call."""
        tree = outline(plain(request))
        key_text = call_text(kind.name, provider.name, provider.fingerprint, tree, 0, self._rules.principal)
        return digest(key_text)

    # --- rows that are no requests -----------------------------------------------------------------------------------

    async def fault(self, kind: str, provider: ProviderIdentity, error: BaseException) -> CallFailed:
        """Return an error that a plugin raised outside of its calls as a failed call; the journal keeps its message."""
        outcome = OutcomeBuilder(kind, provider, self._secrets).failed(error)
        failed = error_of("failure", outcome.body, "").record
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
            value = make()
            return _Value(value=await value if inspect.isawaitable(value) else value)

        return (await self.call(_FACT, _Name(name=name), do, provider=_CORE)).value

    async def shuts_down_before(self, name: str) -> bool:
        """Return True if the run shuts down before the step of this name; a replay shuts down there too."""

        async def do(_: _Name, call: Call) -> _Value:
            return _Value()

        if self.shutdown.reason is None and not self._journal.readonly:
            return False
        try:
            await self.call(_END, _Name(name=f"before {name}"), do, provider=_CORE)
        except JournalMissing:
            return False
        except CallRefused as refused:
            self.shutdown.begin(refused.record.message)
            return True
        return False

    # --- the calls so far ---------------------------------------------------------------------------------------------

    def failed_keys(self, error: BaseException) -> set[str]:
        """Return the keys of the failed calls in an error that left the pipeline, and of the calls below them."""
        return {row.key for row in with_causes(self._journal.rows(), failed_call_keys(error))}

    def rows(self) -> list[Row]:
        """Return the rows of the calls of all sessions, including calls that are not journalled."""
        return [row for row in self.store.rows() if row.kind not in (_FACT.name, _FAULT)]

    def answered(self) -> frozenset[str]:
        """Return the providers that answered a chat in any session of this run; replies of other runs do not count."""
        rows = self.store.rows()
        return frozenset(row.provider for row in rows if (row.kind, row.outcome) == (CHAT, "reply") and not row.cached)
