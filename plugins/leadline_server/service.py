"""What a server can do with runs, for its routes, its page and its endpoints for other protocols.

Every method takes the principal on whose behalf it works; the run of another one is the same as no run.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import shutil
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from starlette.requests import Request

from leadline import Client
from leadline.comparison import Comparison
from leadline.contracts import Dispatcher
from leadline.errors import AlreadyAnswered, ConfigError, JournalBusy, LeadlineError, UsageError
from leadline.events import utc_now
from leadline.records import Answer, Event, Json, Notice, Report, Turn
from leadline.run_summary import ACTIVE
from leadline.runs import Metadata, RunInfo
from leadline.stores import refresh
from leadline_server import logs
from leadline_server.access import SENDER, Identity, cookie, role_refused, unknown_token
from leadline_server.active_runs import ActiveRuns
from leadline_server.documents import Documents
from leadline_server.evidence import evidence_view
from leadline_server.limits import Limits, Rate, Slots
from leadline_server.metrics import ServerMetrics
from leadline_server.notifications import Notifications
from leadline_server.pipelines import Pipelines
from leadline_server.problems import Problem, no_such_run, too_many
from leadline_server.queue import Full, Queue, QueuedRun, Taken
from leadline_server.remedies import event_for_readers, record_for_readers
from leadline_server.requests import MODELS, RUN_ID, Labels, NewRun, overrides
from leadline_server.sign_in import AccessSettings, Provider
from leadline_server.store import Store, Token
from leadline_server.views import EvidenceView, RunItem, RunPage, RunView, readable
from leadline_server.worker import CONTINUED, LEAST_FREE, has_ended

log = logging.getLogger("leadline.server")
# Reports that are kept in memory, because a page asks for many passages of the same one.
_REPORTS = 4
_PAGE = 50
# Characters of the source on either side of a passage.
_CONTEXT = 1_000
_MAX_KEY = 255
# Seconds between two looks at a run that a worker has taken, and at one that waits: both are told of every change.
_BEGINS, _WAITS = 0.1, 5.0
# Seconds that a message to a run waits until a worker has begun it.
_PATIENCE = 15.0
# Seconds until a principal with too many runs may try again, or one whose run waits for a worker.
_FULL = 10
_LATER = {"Retry-After": str(_FULL)}
# What the folder of a run tells whose order may have been withdrawn.
LEFT = ("interrupted", "waiting")
# Files of a run with the tracebacks and folders of the operator: readers have its state and its events.
_OPERATORS = frozenset({"metadata.json", "events.jsonl"})
# An end of the run that was not the last one, because the run was continued.
SESSION_FINISHED = "session.finished"


@dataclass(frozen=True)
class RunFilter:
    """Runs with all words of `text`, this status, this tag (KEY or KEY=VALUE), and of this conversation."""

    text: str = ""
    status: str = ""
    tag: str = ""
    conversation: str = ""

    def takes(self, run: RunItem) -> bool:
        """Whether a run has the status and the tag."""
        name, _, value = self.tag.partition("=")
        tagged = not self.tag or (name in run.tags and value in ("", run.tags[name]))
        return tagged and self.status in ("", run.status)


@dataclass
class Service:
    """The parts of a running server, and its operations on runs."""

    client: Client
    store: Store
    queue: Queue
    limits: Limits
    guesses: Rate
    access: AccessSettings = field(default_factory=AccessSettings)
    url: str = ""
    metrics: ServerMetrics = field(default_factory=ServerMetrics)
    ready: bool = False
    dispatcher: Dispatcher | None = None

    def __post_init__(self) -> None:
        self.streams = Slots(self.limits.streams, "%(number)s streams are open, which is the limit")
        # Set when the server begins to shut down.
        self.closing = asyncio.Event()
        self.active = ActiveRuns(self.queue)
        self.pipelines = Pipelines(self.client)
        self.documents = Documents(self.client)
        self.active.when_ended = self._count
        self.notifications = Notifications(self.active, self.metrics, self.view, self.access, self.url, self.store.key)
        self._reports: OrderedDict[Path, tuple[tuple[int, ...], Report]] = OrderedDict()
        self._reading: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()

    @cached_property
    def _root(self) -> str:
        return str(self.client.runs_folder().absolute())

    # --- order and list ----------------------------------------------------------------------------------------------

    async def order(
        self, body: NewRun, principal: str | None, key: str | None = None, turns: Sequence[Turn] = ()
    ) -> str:
        """Accept a question for good and return the id of its run; a repetition with the same `key` returns the same.

        `turns` are earlier turns of its conversation that were no runs. Raises `Problem` and the errors of
        `Client.order`.
        """
        self.check_disk()
        notify = self.notifications.targets(body, await self.store.ask(self.store.address, principal))
        if key is not None and not 0 < len(key) <= _MAX_KEY:
            raise Problem(422, "invalid_request", f"Idempotency-Key: 1 to {_MAX_KEY} characters")
        changed = overrides(body, self.client.plugins.settings, self.models(SENDER.get()))
        changed |= await self.documents.sources(body, principal)
        new = partial(self.client.order, body.question, set=changed, tags=body.tags, principal=principal)
        earlier: Any = {"conversation": body.conversation, "follows": body.follows or None, "turns": tuple(turns)}
        limit, refusal = self.limits.runs, None
        try:
            await self._check_earlier(body, principal)
            order = await asyncio.to_thread(new, **earlier) if any(earlier.values()) else new()
        except UsageError as error:
            if key is None:
                raise
            # The run that must end first may be the one that this request started when it was sent before.
            order, limit, refusal = new(), 0, error
        except ConfigError as error:
            pipeline = body.pipeline or self.client.plugins.settings.pipeline
            raise await self.pipelines.refusal(pipeline, error) from error
        digest = hashlib.sha256(body.model_dump_json().encode("utf-8", "surrogatepass")).hexdigest()
        try:
            quota = replace(self.limits.quota, runs=limit)
            put = partial(self.queue.put, order, principal, repeat=(key, digest), quota=quota, notify=notify)
            await asyncio.to_thread(put)
        except Taken as taken:
            if not taken.same:
                raise Problem(
                    422, "key_reused", "the Idempotency-Key was used for another request", "use a new key"
                ) from None
            return taken.run_id
        except Full as full:
            raise refusal or too_many(str(full), full.seconds) from None
        await self.active.add(order.run_id, principal)
        logs.write(log, "run ordered", run_id=order.run_id, pipeline=order.pipeline, user=principal)
        return order.run_id

    def models(self, identity: Identity | None) -> Sequence[str]:
        """Return the models that somebody may choose for a run."""
        return self.access.models.of(identity.principal, identity.role) if identity else ()

    def check_models(self) -> None:
        """Raise `ConfigError` for a model in the settings of the access that no run can use."""
        question = "Which model answers?"
        self.access.check_models(lambda model: self.client.order(question, set=dict.fromkeys(MODELS, model)))

    def disk(self) -> tuple[int, int]:
        """Return the bytes of the disk of the runs, and how many are free."""
        usage = shutil.disk_usage(self._root)
        return usage.total, usage.free

    def check_disk(self) -> None:
        """Raise `Problem` if the disk has too little room for a new run."""
        _, free = self.disk()
        if free < LEAST_FREE:
            message = (
                f"the server's disk is almost full: {free >> 20:,} MB are free, and new runs need {LEAST_FREE >> 20} MB"
            )
            hint = "its operator makes room, such as with: leadline runs delete --older-than 30d"
            raise Problem(503, "disk_full", f"{message}; nothing was changed", hint, {"Retry-After": "60"})

    async def _check_earlier(self, body: NewRun, principal: str | None) -> None:
        """Raise an error if the run that a new one would follow is not there, or active: it may have no folder yet."""
        for run in self.active.of(principal) if body.follows or body.conversation else ():
            names = {run.run_id, run.order.conversation} if run.order else {run.run_id}
            if run.run_id == body.follows or (body.conversation and body.conversation in names):
                raise UsageError(f"the run {run.run_id} is active: follow it up when it has ended")
        try:
            if body.follows:
                await self.view(body.follows, principal)
        except Problem as problem:
            message = f"follows: {problem.body.message}"
            raise Problem(422, "invalid_request", message, problem.body.hint) from None

    async def runs(
        self,
        principal: str | None,
        chosen: RunFilter | None = None,
        *,
        after: str | None = None,
        limit: int = _PAGE,
    ) -> RunPage:
        """Return a page of runs; pinned ones come first unless it is a search or a conversation. Raises `Problem`."""
        chosen = chosen or RunFilter()
        text, conversation = chosen.text, chosen.conversation
        active = {run.run_id for run in self.active.of(principal)}
        runs = await asyncio.to_thread(self.client.runs, text=text, conversation=conversation, principal=principal)
        # The next worker continues these, as `metadata` says.
        left = {run.id for run in runs if run.status == "interrupted" or run.reason == CONTINUED} & active
        views = (RunItem.of(replace(run, status="pending") if run.id in left else run) for run in runs)
        items = [record_for_readers(item, "reason", folder=self._root) for item in views]
        if not text.strip():
            known = {item.id for item in items if item.status != "unreadable"}  # one that begins has no metadata yet
            orders = (run.order for run in self.active.of(principal) if run.run_id not in known)
            wanted = (order for order in orders if order and conversation in ("", order.conversation, order.run_id))
            upcoming = {order.run_id: RunItem.of_order(order) for order in wanted}
            items = [*upcoming.values(), *(item for item in items if item.id not in upcoming)]
        if not text.strip() and not conversation:
            items.sort(key=lambda item: not item.pinned)
        items = [item for item in items if chosen.takes(item)]
        ids = [item.id for item in items]
        if after and after not in ids:
            raise Problem(422, "invalid_request", "after: no run of this list has this id")
        first = ids.index(after) + 1 if after else 0
        page = items[first : first + limit]
        return RunPage(runs=tuple(page), next=page[-1].id if first + limit < len(items) else None)

    async def memory(self, principal: str | None) -> RunPage:
        """Return the runs that new questions of the principal may remember, newest first."""
        runs = await asyncio.to_thread(self.client.memory, principal=principal)
        return RunPage(runs=tuple(map(RunItem.of, runs)))

    async def forget(self, principal: str | None, run_id: str = "") -> None:
        """Keep a run, or all of the principal, out of the memory of new questions. Raises `Problem`."""
        if run_id:
            await self.view(run_id, principal)
        ids = [run_id] if run_id else [run.id for run in (await self.memory(principal)).runs]
        for folder in (self.folder(name, principal) for name in ids):
            await asyncio.to_thread(self.client.forget, folder, principal=principal)
        self.store.audit.write("runs forgotten", principal, run_ids=ids)

    # --- watch -------------------------------------------------------------------------------------------------------

    async def metadata(self, run_id: str, principal: str | None) -> tuple[Metadata, str] | None:
        """Return the metadata of a run as of now, and its status; None if it has no folder yet. Raises `Problem`.

        `files` are those for readers.
        """
        folder = self.folder(run_id, principal)
        run = self.active.get(run_id, principal)
        info = await asyncio.to_thread(self._find, folder, principal)
        if info is None or (info.status in ACTIVE and info.metadata and not info.metadata.ended):
            pass
        elif run and not has_ended(info, run):
            info = replace(info, status="pending")
        elif run is None and info.metadata and (info.status in LEFT or info.metadata.reason == CONTINUED):
            ended = await asyncio.to_thread(self.queue.get, run_id, principal)
            if ended and ended.status:  # it was withdrawn while it waited to be continued, or could not be
                metadata = info.metadata.model_copy(update={"reason": Notice(ended.problem)})
                info = replace(info, status=ended.status, metadata=metadata)
        if info and info.metadata is None:
            raise Problem(500, "unreadable", "the state of the run cannot be read", "POST …/resume restores it")
        if info is None or info.metadata is None:
            return None
        public = tuple(name for name in info.metadata.files if name not in _OPERATORS)
        return info.metadata.model_copy(update={"files": public}), info.status

    def _find(self, folder: Path, principal: str | None) -> RunInfo | None:
        refresh(folder)
        if not (folder / "metadata.json").is_file():
            return None
        try:
            info = self.client.find(folder, principal=principal)
        except UsageError:
            raise no_such_run() from None
        if info.folder != folder:  # the beginning of another id
            raise no_such_run()
        return info

    async def view(self, run_id: str, principal: str | None) -> RunView:
        """Return a run as of now. Raises `Problem` if the principal has no such run."""
        if known := await self.metadata(run_id, principal):
            return readable(RunView.of(*known), self._root)
        run = self.active.get(run_id, principal) or await asyncio.to_thread(self.queue.get, run_id, principal)
        if run is None or run.order is None or not (run.is_active or run.status):  # the folder was deleted
            raise no_such_run()
        return readable(RunView.of_order(run.order, run.status or "pending", run.problem), self._root)

    async def events(
        self, run_id: str, principal: str | None, after: int = -1, *, deltas: bool = False
    ) -> AsyncIterator[Event]:
        """Yield the events of a run above a number. The last one, and no other, is a `run.finished`.

        It waits for a run that is about to start or to be continued, or for an answer, and ends without `run.finished`
        if the server does. If the events do not tell the end, the state of the run does: no file of events was written,
        or the reader knows them all. With `deltas`, the text that is being written comes too. Raises `Problem` if the
        principal has no such run.
        """
        folder, last = self.folder(run_id, principal), after
        end: Event | None = None
        while True:
            version, view = self.active.version, await self.view(run_id, principal)
            is_active = view.status == "waiting" or self.active.get(run_id, principal) is not None
            if await asyncio.to_thread((folder / "metadata.json").is_file):
                async for event in self.client.events(folder, after=last, deltas=deltas, principal=principal):
                    if end:
                        yield end.model_copy(update={"kind": SESSION_FINISHED})
                        end = None
                    if event.kind != "call.delta":
                        last = max(last, event.seq)
                    event = event_for_readers(event, self._root)
                    if event.kind == "run.finished":
                        end = event
                    else:
                        yield event
            if self.closing.is_set():
                return
            if not is_active:
                break
            run = self.active.get(run_id, principal)
            await self.active.changed(version, _BEGINS if run and run.state == "claimed" else _WAITS)
        if end is None or end.data.get("reason") == CONTINUED:  # it was withdrawn, or nobody could continue it
            end = await self._end(run_id, principal)
        yield end

    async def _end(self, run_id: str, principal: str | None) -> Event:
        view = await self.view(run_id, principal)
        data: Json = {"status": view.status, "reason": view.reason}
        return Event(seq=-1, time=utc_now(), run_id=run_id, kind="run.finished", data=data)

    # --- control -----------------------------------------------------------------------------------------------------

    async def answer(self, run_id: str, principal: str | None, question_id: str, answer: Answer) -> None:
        """Answer a question of a run, and queue it again. Raises `Problem`, `AlreadyAnswered`."""
        folder = await self._active(run_id, principal)
        try:
            await self.client.answer(folder, question_id, answer, principal=principal)
        except AlreadyAnswered:  # maybe through a server that ended before it queued the run
            with suppress(JournalBusy):
                await self.resume(run_id, principal)
            raise
        with suppress(JournalBusy):
            await self.resume(run_id, principal)

    async def stop(self, run_id: str, principal: str | None, reason: str = "") -> None:
        """End the search of a run and have it write up what was found. Raises `Problem`."""
        run = self.active.get(run_id, principal)
        if run is None or run.has_begun or not await self._withdraw(run_id, principal, reason or "stopped"):
            await self.client.stop(await self._active(run_id, principal), reason or "stopped", principal=principal)

    async def cancel(self, run_id: str, principal: str | None, reason: str = "") -> None:
        """End a run at once. Raises `Problem`."""
        reason = reason or "cancelled"
        if not await self._withdraw(run_id, principal, reason):
            await self.client.cancel(await self._active(run_id, principal), reason, principal=principal)

    async def _active(self, run_id: str, principal: str | None) -> Path:
        """Wait for a run that is about to start, and return its folder. Raises `Problem` if it is not active."""
        end = time.monotonic() + _PATIENCE
        while (view := await self.view(run_id, principal)).status not in ("running", "waiting"):
            if view.status != "pending":
                raise Problem(409, "not_active", f"the run is not active: it is {view.status}")
            if time.monotonic() > end:
                raise Problem(503, "not_started", "the run waits for a worker", "try again later", _LATER)
            await self.active.changed(self.active.version, _BEGINS)
        return self.folder(run_id, principal)

    async def _withdraw(self, run_id: str, principal: str | None, reason: str) -> bool:
        """Cancel a run that waits for a worker; return False if it does not."""
        run = self.active.get(run_id, principal)
        if run is None or run.state != "waiting":
            return False
        withdrawn = await asyncio.to_thread(self.queue.withdraw, run_id, principal, reason)
        if withdrawn and self.dispatcher:
            with suppress(Exception):  # then a worker finds that it was withdrawn
                await self.dispatcher.cancel(run.submission)
        await self.active.refresh()
        return withdrawn

    async def resume(self, run_id: str, principal: str | None, *, retry_failed: bool = False) -> None:
        """Continue a run that has ended; completed calls are not repeated. Raises `Problem`, `JournalBusy`."""
        self.check_disk()
        quota = replace(self.limits.quota, runs=self.limits.runs)
        reopen = partial(self.queue.reopen, run_id, principal, retry_failed=retry_failed, quota=quota)
        until = time.monotonic() + _PATIENCE
        while not (view := await self.view(run_id, principal)).is_active:
            try:
                await asyncio.to_thread(reopen, ended=view.ended)
            except JournalBusy:  # the run has ended, and its worker is about to tell the queue
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(_BEGINS)
            except Full as full:
                raise too_many(str(full), full.seconds) from None
            else:
                return await self.active.refresh()
        raise JournalBusy("the run is active")

    async def label(self, run_id: str, principal: str | None, labels: Labels) -> None:
        """Change the title, pin or tags of a run. Raises `Problem` while it is active."""
        folder = await self._ended(run_id, principal)
        changes = labels.model_dump(exclude_none=True)
        await asyncio.to_thread(partial(self.client.label, folder, principal=principal, **changes))
        self.store.audit.write("run labelled", principal, run_id=run_id)

    async def _ended(self, run_id: str, principal: str | None) -> Path:
        """Return the folder of a run that has ended, if it has one. Raises `Problem`."""
        await self.view(run_id, principal)
        if self.active.get(run_id, principal):
            raise Problem(409, "busy", "the run is active", "stop or cancel it first")
        return self.folder(run_id, principal)

    async def delete(self, run_id: str, principal: str | None) -> None:
        """Delete a run with all its files. Raises `Problem` while it is active."""
        folder = await self._ended(run_id, principal)
        if await asyncio.to_thread(folder.is_dir):
            await asyncio.to_thread(self.client.delete, folder, principal=principal)
        await asyncio.to_thread(self.queue.forget, run_id)
        await asyncio.to_thread(self.store.end_share, run_id, principal)
        self.store.audit.write("run deleted", principal, run_id=run_id)

    async def delete_old(self, days: int) -> None:
        """Delete the runs of all principals, and the orders, that ended so many days ago."""
        when = utc_now() - timedelta(days=days)
        for run in await asyncio.to_thread(self.client.ended_before, when):
            try:
                metadata = (await asyncio.to_thread(self.client.find, run.folder)).metadata
                await asyncio.to_thread(self.client.delete, run.folder)
            except (LeadlineError, OSError) as error:  # it is continued just now
                logs.write(log, "run kept", logging.WARNING, run_id=run.id, reason=error)
            else:
                await asyncio.to_thread(self.store.end_share, run.id, metadata.principal or None if metadata else None)
                self.store.audit.write("run deleted", None, run_id=run.id, reason=f"older than {days} days")
        await asyncio.to_thread(self.queue.forget_ended, when.timestamp())

    # --- read --------------------------------------------------------------------------------------------------------

    async def report(self, run_id: str, principal: str | None) -> Report:
        """Return the report of a run. Raises `Problem`."""
        view = await self.view(run_id, principal)
        folder = self.folder(run_id, principal)
        # A report without `report.json` is made again, which takes a while: those of other runs do not wait for it.
        async with self._reading.setdefault(folder, asyncio.Lock()):
            stamp = (view.sessions, *await asyncio.to_thread(_stamp, folder / "report.json"))
            known, report = self._reports.get(folder, (None, None))
            if report is None or known != stamp:
                try:
                    report = await self.client.report(folder, principal=principal)
                except LeadlineError:
                    raise Problem(409, "no_report", f"the run has no report: {view.reason or view.status}") from None
                self._reports[folder] = (stamp, report)
            self._reports.move_to_end(folder)
            while len(self._reports) > _REPORTS:
                self._reports.popitem(last=False)
            return report

    async def evidence(
        self, run_id: str, evidence_id: str, principal: str | None, context: int = _CONTEXT
    ) -> EvidenceView:
        """Return a passage of a report in its stored source, with the verdicts that cite it. Raises `Problem`."""
        return evidence_view(await self.report(run_id, principal), evidence_id, context)

    async def compare(self, first: str, second: str, principal: str | None) -> Comparison:
        """Compare the reports of two runs: claims, verdicts, sources. Raises `Problem`."""
        for run_id in (first, second):
            await self.report(run_id, principal)  # the clearer error
        folders = (self.folder(run_id, principal) for run_id in (first, second))
        return await self.client.compare(*folders, principal=principal)

    async def file(self, run_id: str, name: str, principal: str | None) -> Path:
        """Return the path of a file that the run lists in its `files`; a link out of its folder is none.

        Raises `Problem`.
        """
        known = await self.metadata(run_id, principal)
        if known is None:
            await self.view(run_id, principal)  # raises if there is no such run
        folder = self.folder(run_id, principal)
        if known and name in known[0].files:
            path = (folder / name).resolve()
            if path.is_relative_to(folder.resolve()) and path.is_file():
                return path
        raise Problem(404, "not_found", "the run has no such file", "its `files` lists them")

    def folder(self, run_id: str, principal: str | None) -> Path:
        """Return the folder in which the run of this principal is, or would be. Raises `Problem`."""
        if not RUN_ID.fullmatch(run_id):  # anything else never becomes a path
            raise no_such_run()
        return self.client.runs_folder(principal=principal).absolute() / run_id

    async def log_in(self, secret: str, request: Request) -> tuple[Token, str]:
        """Return the token with this secret, and the secret of a new session. Raises `Problem`."""
        token = await self.store.ask(self.store.token, secret)
        is_good = token is not None and token.role != "metrics"
        self.guesses.take(token if is_good else address_of(request))
        session = await self._begin_session(token, request) if token and is_good else ""
        if not token or not session:
            self.store.audit.write("login refused", None)
            raise unknown_token()
        self.store.audit.write("logged in", token.principal, token=token.name, role=token.role)
        return token, session

    async def sign_in(self, request: Request, provider: Provider, secret: str) -> tuple[str, str]:
        """Return the secret of a new session by the reply of a provider, and where to go. Raises `Problem`."""
        try:
            known = await provider.finish(request.query_params.multi_items(), secret)
            self.guesses.take(known.user)
        except Problem as problem:
            self.guesses.take(address_of(request))
            self.store.audit.write("login refused", None, reason=problem.body.message)
            raise
        role = self.access.roles.of(known.groups)
        if role is None:
            reason = "none of your groups has a role on this server"
            raise role_refused(self.store, Identity(known.user, "reader"), reason, "login")
        with suppress(UsageError):  # one that is none
            await asyncio.to_thread(self.store.set_address, known.user, known.address)
        now = time.time()
        session = await self._begin_session(Token("", known.user, role, now, 0, now, b""), request)
        self.store.audit.write("logged in", known.user, by="oidc", role=role)
        return session, known.target

    async def _begin_session(self, token: Token, request: Request) -> str:
        """Return the secret of a new session, which takes the place of that of the browser."""
        await asyncio.to_thread(self.store.end_session, cookie(request.headers))
        return await asyncio.to_thread(self.store.add_session, token)

    async def log_out(self, identity: Identity) -> None:
        """End the session of a browser."""
        if identity.session:
            await asyncio.to_thread(self.store.end_session, identity.session)
            self.store.audit.write("logged out", identity.principal)

    async def _count(self, run: QueuedRun) -> None:
        info = await asyncio.to_thread(self._find, self.folder(run.run_id, run.principal), run.principal)
        if info and info.metadata:
            await self.metrics.add_run(self.client, info, run.principal)


def principal_of(request: Request) -> str | None:
    return identity_of(request).principal


def identity_of(request: Request) -> Identity:
    identity: Identity = request.state.identity
    return identity


def address_of(request: Request) -> str:
    return request.client.host if request.client else ""


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        state = path.stat()
    except OSError:
        return ()
    return state.st_ino, state.st_mtime_ns, state.st_size
