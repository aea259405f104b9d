"""What a server can do with runs, for its routes, its page and its endpoints for other protocols.

Every method takes the principal on whose behalf it works; the run of another one is the same as no run.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from starlette.requests import Request

from leadline import Client
from leadline.comparison import Comparison
from leadline.errors import LeadlineError
from leadline.events import utc_now
from leadline.records import Answer, Event, Json, Report
from leadline.runs import Metadata
from leadline_server.access import Identity
from leadline_server.board import Board
from leadline_server.evidence import evidence_view
from leadline_server.limits import Limits, Rate, Slots
from leadline_server.metrics import ServerMetrics
from leadline_server.problems import Problem, no_such_run
from leadline_server.requests import NewRun, overrides
from leadline_server.store import Store, Taken
from leadline_server.views import EvidenceView, RunItem, RunPage, RunView

_RUN_ID = re.compile(r"[0-9a-f]{8}_[0-9]{8}_[0-9]{6}")
# Reports that are kept in memory, because a page asks for many passages of the same one.
_REPORTS = 4
_PAGE = 50
# Characters of the source on either side of a passage.
_CONTEXT = 1_000
_MAX_KEY = 255
_ACTIVE = ("pending", "running", "waiting")
# An end of the run that was not the last one, because the run was continued.
SESSION_FINISHED = "session.finished"


@dataclass
class Service:
    """The parts of a running server, and its operations on runs."""

    client: Client
    store: Store
    board: Board
    limits: Limits
    guesses: Rate
    metrics: ServerMetrics = field(default_factory=ServerMetrics)
    ready: bool = False

    def __post_init__(self) -> None:
        self.streams = Slots(self.limits.streams, f"{self.limits.streams} streams are open, which is the limit")
        # Set when the server begins to shut down.
        self.closing = self.board.closing
        self.board.when_ended = partial(self.metrics.add_run, self.client)
        self._reports: OrderedDict[Path, tuple[tuple[int, ...], Report]] = OrderedDict()
        self._reading = asyncio.Lock()

    # --- order and list ----------------------------------------------------------------------------------------------

    async def order(self, body: NewRun, principal: str | None, key: str | None = None) -> str:
        """Accept a question for good and return the id of its run; a repetition with the same `key` returns the same.

        Raises `Problem` and the errors of `Client.order`.
        """
        if key is not None and not 0 < len(key) <= _MAX_KEY:
            raise Problem(422, "invalid_request", f"Idempotency-Key: 1 to {_MAX_KEY} characters")
        changed = overrides(body, self.client.plugins.settings)
        order = self.client.order(body.question, set=changed, tags=body.tags, principal=principal)
        digest = hashlib.sha256(body.model_dump_json().encode("utf-8", "surrogatepass")).hexdigest()
        try:
            await self.board.submit(order, principal, key, digest)
        except Taken as taken:
            if not taken.same:
                raise Problem(
                    422, "key_reused", "the Idempotency-Key was used for another request", "use a new key"
                ) from None
            return taken.run_id
        return order.run_id

    async def runs(
        self,
        principal: str | None,
        *,
        text: str = "",
        status: str | None = None,
        tag: str = "",
        after: str | None = None,
        limit: int = _PAGE,
    ) -> RunPage:
        """Return a page of runs: those with all words of `text`, this status and this tag, KEY or KEY=VALUE.

        Raises `Problem`.
        """
        found = await asyncio.to_thread(self.client.runs, text=text, principal=principal)
        items = [RunItem.of(run) for run in found]
        if not text.strip():
            known = {item.id for item in items if item.status != "unreadable"}  # one that begins has no metadata yet
            begun = (RunItem.of_entry(entry) for entry in self.board.entries(principal) if entry.run_id not in known)
            upcoming = {item.id: item for item in begun if item}
            items = [*upcoming.values(), *(item for item in items if item.id not in upcoming)]
        name, _, value = tag.partition("=")
        chosen = [
            item
            for item in items
            if (not status or item.status == status)
            and (not tag or (name in item.tags and (not value or item.tags[name] == value)))
        ]
        ids = [item.id for item in chosen]
        if after and after not in ids:
            raise Problem(422, "invalid_request", "after: no run of this list has this id")
        first = ids.index(after) + 1 if after else 0
        page = chosen[first : first + limit]
        return RunPage(runs=tuple(page), next=page[-1].id if first + limit < len(chosen) else None)

    # --- watch -------------------------------------------------------------------------------------------------------

    async def metadata(self, run_id: str, principal: str | None) -> tuple[Metadata, str] | None:
        """Return the metadata of a run as of now, and its status; None if it has no folder yet. Raises `Problem`."""
        folder = self.folder(run_id, principal)
        entry = self.board.entry(run_id, principal)
        if entry and entry.handle:
            metadata = entry.handle.snapshot()
            return metadata, metadata.status
        if not await asyncio.to_thread((folder / "metadata.json").is_file):
            return None
        found = await asyncio.to_thread(self.board.find, run_id, principal)
        if found.metadata is None:
            raise Problem(500, "unreadable", "the state of the run cannot be read", "POST …/resume restores it")
        return found.metadata, "pending" if entry else found.status

    async def view(self, run_id: str, principal: str | None) -> RunView:
        """Return a run as of now. Raises `Problem` if the principal has no such run."""
        if known := await self.metadata(run_id, principal):
            return RunView.of(*known)
        stored = await asyncio.to_thread(self.store.order, run_id, principal)
        if stored is None or stored.order is None:
            raise no_such_run()
        return RunView.of_order(stored.order, stored.problem)

    async def events(self, run_id: str, principal: str | None, after: int = -1) -> AsyncIterator[Event]:
        """Yield the events of a run above a number. The last one, and no other, is a `run.finished`.

        It waits for a run that is about to start or to be continued, and ends without `run.finished` if the server
        does. If the events do not tell the end, the state of the run does: no file of events was written, or the reader
        knows them all. Raises `Problem` if the principal has no such run.
        """
        await self.view(run_id, principal)
        folder, last = self.folder(run_id, principal), after
        end: Event | None = None
        while True:
            entry = self.board.entry(run_id, principal)
            if entry:
                await entry.started.wait()
            has_begun = entry is not None and entry.handle is not None
            if has_begun or await asyncio.to_thread((folder / "metadata.json").is_file):
                async for event in self.client.events(folder, after=last, principal=principal):
                    if end:
                        yield end.model_copy(update={"kind": SESSION_FINISHED})
                        end = None
                    if event.kind != "call.delta":
                        last = max(last, event.seq)
                    if event.kind == "run.finished":
                        end = event
                    else:
                        yield event
            if entry:
                await entry.ended.wait()
            if self.closing.is_set():
                return
            if not self.board.entry(run_id, principal):
                break
        yield end or await self._end(run_id, principal)

    async def _end(self, run_id: str, principal: str | None) -> Event:
        view = await self.view(run_id, principal)
        data: Json = {"status": view.status, "reason": view.reason}
        return Event(seq=-1, time=utc_now(), run_id=run_id, kind="run.finished", data=data)

    # --- control -----------------------------------------------------------------------------------------------------

    async def answer(self, run_id: str, principal: str | None, question_id: str, answer: Answer) -> None:
        """Answer a question of a run; return when the answer is stored. Raises `Problem`, `AlreadyAnswered`."""
        folder = await self._active(run_id, principal)
        await self.client.answer(folder, question_id, answer, principal=principal)

    async def stop(self, run_id: str, principal: str | None, reason: str = "") -> None:
        """End the search of a run and have it write up what was found. Raises `Problem`."""
        await self.client.stop(await self._active(run_id, principal), reason or "stopped", principal=principal)

    async def cancel(self, run_id: str, principal: str | None, reason: str = "") -> None:
        """End a run at once. Raises `Problem`."""
        await self.client.cancel(await self._active(run_id, principal), reason or "cancelled", principal=principal)

    async def _active(self, run_id: str, principal: str | None) -> Path:
        """Wait for a run that is about to start, and return its folder. Raises `Problem` if it is not active."""
        view = await self.view(run_id, principal)
        if entry := self.board.entry(run_id, principal):
            await entry.started.wait()
        elif view.status not in _ACTIVE:
            raise Problem(409, "not_active", f"the run is not active: it is {view.status}")
        return self.folder(run_id, principal)

    async def resume(self, run_id: str, principal: str | None, *, retry_failed: bool = False) -> None:
        """Continue a run that has ended; completed calls are not repeated. Raises `Problem`, `JournalBusy`."""
        await self.view(run_id, principal)
        await self.board.resume(run_id, principal, retry_failed=retry_failed)

    async def delete(self, run_id: str, principal: str | None) -> None:
        """Delete a run with all its files. Raises `Problem` while it is active."""
        await self.view(run_id, principal)
        if self.board.entry(run_id, principal):
            raise Problem(409, "busy", "the run is active", "stop or cancel it first")
        folder = self.folder(run_id, principal)
        if await asyncio.to_thread(folder.is_dir):
            await asyncio.to_thread(self.client.delete, folder, principal=principal)
        await asyncio.to_thread(self.store.forget, run_id)

    # --- read --------------------------------------------------------------------------------------------------------

    async def report(self, run_id: str, principal: str | None) -> Report:
        """Return the report of a run. Raises `Problem`."""
        view = await self.view(run_id, principal)
        folder = self.folder(run_id, principal)
        async with self._reading:  # a report without `report.json` is made again, which takes a while
            stamp = (view.sessions, *await asyncio.to_thread(_stamp, folder / "report.json"))
            known, report = self._reports.get(folder, (None, None))
            if report is None or known != stamp:
                try:
                    report = await self.client.report(folder, principal=principal)
                except LeadlineError:
                    message = f"the run has no report: {view.reason or view.status}"
                    raise Problem(409, "no_report", message) from None
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
        if not _RUN_ID.fullmatch(run_id):  # anything else never becomes a path
            raise no_such_run()
        return self.board.folder(run_id, principal)


def principal_of(request: Request) -> str | None:
    """Return the principal of a request."""
    identity: Identity = request.state.identity
    return identity.principal


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        state = path.stat()
    except OSError:
        return ()
    return state.st_ino, state.st_mtime_ns, state.st_size
