"""`StoredRuns`: the part of `Client` for runs on disk, which lists, finds, follows, controls and deletes them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

from leadline._runtime.journal.lock import is_locked
from leadline._runtime.runs.conversations import forget, memorable
from leadline._runtime.runs.event_log import follow
from leadline._runtime.runs.folder import EVENTS, JOURNAL, LOCK, delete_run, find_run, run_info
from leadline._runtime.runs.index import RunIndex
from leadline._runtime.runs.interprocess import Message, send
from leadline.comparison import Comparison, compare
from leadline.errors import LeadlineError, UsageError
from leadline.files import read_limited
from leadline.records import Answer, Event, Json, Principal, Report
from leadline.run_handle import RunHandle
from leadline.run_summary import RunSummary
from leadline.runs import Result, RunInfo

REPORT = "report.json"
# Bytes. A report has its sources and their passages, and its pictures.
_LARGEST = 256 * 2**20


def is_run(folder: Path) -> bool:
    """Return whether a folder belongs to a run, or is a copy with its report as data."""
    return (folder / JOURNAL).is_file() or (folder / REPORT).is_file()


def read_report(path: Path) -> Report:
    """Read a report in the format `json`. Raises `UsageError`."""
    try:
        return Report.model_validate_json(read_limited(path, _LARGEST))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not a report in the format json: {str(error).splitlines()[0]}") from error


class StoredRuns:
    """Runs on disk and those that this program works on; `runs_folder` says where they are."""

    def __init__(self) -> None:
        self._handles: list[RunHandle] = []

    def runs_folder(self, *, principal: Principal | str | None = None) -> Path:
        """Return the folder of the principal's runs, or of those without one."""
        raise NotImplementedError

    async def replay(self, run: str | Path, *, principal: Principal | str | None = None) -> Result:
        """Repeat a finished run offline, without writing files."""
        raise NotImplementedError

    def runs(
        self,
        *,
        text: str = "",
        status: str | None = None,
        conversation: str = "",
        limit: int | None = None,
        principal: Principal | str | None = None,
    ) -> list[RunSummary]:
        """Return all runs of the principal, or those without one, newest first.

        With a text, return those whose question, tags or report contain all its words, the best first. With the id of a
        conversation, return its runs.
        """
        index = RunIndex(self.runs_folder(principal=principal))
        if text.strip():
            return index.search(text, status=status, conversation=conversation, limit=limit)
        return index.runs(status=status, conversation=conversation, limit=limit)

    def find(self, run: str | Path, *, principal: Principal | str | None = None) -> RunInfo:
        """Return a run, given its folder, its id or the beginning of its id. Raises `UsageError`."""
        return run_info(self._find(run, principal))

    def events(
        self, run: str | Path, *, after: int = -1, deltas: bool = True, principal: Principal | str | None = None
    ) -> AsyncIterator[Event]:
        """Return the events of a run with numbers above `after`: first from its files, then until its session ends.

        The run may be finished, running here, or running in another process. To continue after a lost connection or a
        crash, pass the number of the last event received: none is missing or repeated. The observer `jsonl` writes the
        events; what it could not write is announced by an event `gap`.

        With `deltas`, text that is being written comes too (`call.delta`): of runs of this client, and of runs of other
        processes that called `RunHandle.publish`, as workers of a server do. It is not sent again: a late reader gets
        the replies in flight from their beginning.
        """
        folder = self._find(run, principal)
        handle = self._handle_in(folder)
        subscribe = partial(handle._session.run.bus.subscribe, deltas=True) if handle else None
        return follow(folder / EVENTS, after, subscribe, lambda: is_locked(folder / LOCK), deltas=deltas)

    async def stop(self, run: str | Path, reason: str = "stopped", *, principal: Principal | str | None = None) -> None:
        """Stop a run of this or another process as `RunHandle.stop` does, and return when it was told.

        Raises `UsageError` if the run is not active.
        """
        await self._tell(run, principal, Message(action="stop", reason=reason))

    async def cancel(
        self, run: str | Path, reason: str = "cancelled", *, principal: Principal | str | None = None
    ) -> None:
        """Cancel a run of this or another process, and return when it was told. Raises `UsageError` as `stop` does."""
        await self._tell(run, principal, Message(action="cancel", reason=reason))

    async def answer(
        self,
        run: str | Path,
        question_id: str,
        answer: Answer | Json,
        *,
        principal: Principal | str | None = None,
    ) -> None:
        """Answer a question of a run of this or another process; see `RunHandle.answer`."""
        given = answer if isinstance(answer, Answer) else Answer(action="accept", content=answer)
        await self._tell(run, principal, Message(action="answer", question_id=question_id, answer=given))

    async def report(self, run: str | Path, *, principal: Principal | str | None = None) -> Report:
        """Return the report of a run as data: its `report.json`, or else the result of an offline replay.

        Raises `LeadlineError` if the run has no report.
        """
        folder = self._find(run, principal)
        if (folder / REPORT).is_file():
            return read_report(folder / REPORT)
        result = await self.replay(folder, principal=principal)
        if result.report is None:
            raise LeadlineError(f"the run in {folder} has no report: {result.reason or result.status}")
        return result.report

    async def compare(
        self, first: str | Path, second: str | Path, *, principal: Principal | str | None = None
    ) -> Comparison:
        """Return what two runs took and made, and what their reports have in common: claims, verdicts, sources.

        Raises `LeadlineError` if neither has a report.
        """
        runs = [self.find(run, principal=principal) for run in (first, second)]
        mine, other = [
            await self.report(run.folder, principal=principal)
            if run.status in ("complete", "partial") or (run.folder / REPORT).is_file()
            else None
            for run in runs
        ]
        if mine is None and other is None:
            raise LeadlineError(f"neither {runs[0].id} nor {runs[1].id} has a report, so there is nothing to compare")
        return compare(mine, other, [run.metadata for run in runs if run.metadata])

    def memory(self, *, principal: Principal | str | None = None) -> list[RunSummary]:
        """Return the runs that later questions may remember (`memory` of the settings), newest first."""
        return memorable(self.runs_folder(principal=principal))

    def forget(self, run: str | Path, *, principal: Principal | str | None = None) -> None:
        """Keep a run out of the memory of later questions; the run itself stays."""
        forget(self._find(run, principal))

    def delete(self, run: str | Path, *, principal: Principal | str | None = None) -> None:
        """Delete a run with all its files. Raises `JournalBusy` if the run is active."""
        delete_run(self._find(run, principal))

    def _find(self, run: str | Path, principal: Principal | str | None) -> Path:
        return find_run(self.runs_folder(principal=principal), run, within=principal is not None)

    def _handle_in(self, folder: Path) -> RunHandle | None:
        return next((handle for handle in self._handles if handle.folder == folder), None)

    async def _tell(self, run: str | Path, principal: Principal | str | None, message: Message) -> None:
        folder = self._find(run, principal)
        if handle := self._handle_in(folder):
            await handle.take(message)
            return
        if not is_locked(folder / LOCK):
            raise UsageError(f"the run {folder.name} is not active: it is {run_info(folder).status}")
        await send(folder, message, lambda: is_locked(folder / LOCK))
