"""Parts that all routes share: client, board of runs, limits; and how a request finds its principal and its run."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from starlette.requests import Request

from leadline import Client
from leadline.errors import LeadlineError
from leadline.records import Report
from leadline.runs import Metadata, Result
from leadline_server.access import Identity
from leadline_server.board import Board
from leadline_server.limits import Limits, Rate, Slots
from leadline_server.metrics import ServerMetrics
from leadline_server.problems import Problem, no_such_run
from leadline_server.store import Store
from leadline_server.views import RunView

log = logging.getLogger("leadline.server")
_RUN_ID = re.compile(r"[0-9a-f]{8}_[0-9]{8}_[0-9]{6}")
# Reports that are kept in memory, because a page asks for many passages of the same one.
_REPORTS = 4


@dataclass
class Service:
    """The parts of a running server."""

    client: Client
    store: Store
    board: Board
    limits: Limits
    guesses: Rate
    metrics: ServerMetrics = field(default_factory=ServerMetrics)
    ready: bool = False

    def __post_init__(self) -> None:
        self.streams = Slots(self.limits.streams, f"{self.limits.streams} streams are open, which is the limit")
        self.board.when_ended = self._count
        self._reports: OrderedDict[Path, tuple[tuple[int, ...], Report]] = OrderedDict()
        self._reading = asyncio.Lock()

    async def _count(self, result: Result, principal: str | None) -> None:
        try:
            await self.metrics.add_run(self.client, result.folder, principal, result.metadata)
        except LeadlineError:
            log.exception("run %s is not counted", result.metadata.run_id)

    def run(self, request: Request) -> tuple[str, str | None]:
        """Return the id of the run that the path names, and the principal. Raises `Problem`."""
        return self.run_id(request.path_params["run_id"]), principal_of(request)

    @staticmethod
    def run_id(text: str) -> str:
        """Return the id of a run. Anything else never becomes a path. Raises `Problem`."""
        if not _RUN_ID.fullmatch(text):
            raise no_such_run()
        return text

    async def metadata(self, run_id: str, principal: str | None) -> tuple[Metadata, str] | None:
        """Return the metadata of a run as of now, and its status; None if it has no folder yet. Raises `Problem`."""
        entry = self.board.entry(run_id, principal)
        if entry and entry.handle:
            metadata = entry.handle.snapshot()
            return metadata, metadata.status
        if not await asyncio.to_thread((self.board.folder(run_id, principal) / "metadata.json").is_file):
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

    async def report(self, run_id: str, principal: str | None) -> Report:
        """Return the report of a run. Raises `Problem`."""
        view = await self.view(run_id, principal)
        folder = self.board.folder(run_id, principal)
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
