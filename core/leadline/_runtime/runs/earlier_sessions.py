"""What a session takes over from the earlier ones: the output of a complete run, failed calls, the numbers of events.

A worse result never overwrites a complete one. Its copy stays until the session has ended; if the process is killed,
the next session finds the whole copy.
"""

from __future__ import annotations

import filecmp
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from leadline._runtime.calls.outcomes import SHUTDOWN
from leadline._runtime.journal.journal import Journal
from leadline._runtime.journal.rows import with_consequences
from leadline._runtime.runs.folder import EVENTS, JOURNAL, read_metadata, write_atomically, write_metadata
from leadline.errors import LeadlineError
from leadline.pipeline import Pipeline
from leadline.records import Answer, Failure
from leadline.runs import METADATA, Metadata
from leadline.stores import store_of

BACKUP = ".complete"
# Files of a report. A session with other formats replaces all of them.
_REPORTS = ("report.*", "references.*")


@dataclass(frozen=True)
class PreviousOutput:
    """A copy of the files that a complete session left in a run's folder."""

    folder: Path

    @classmethod
    def back_up(cls, folder: Path) -> PreviousOutput | None:
        """Copy the files of a complete run; return None for another run. Raises `LeadlineError` if that fails."""
        backup = folder / BACKUP
        # Left by a process that was killed while it removed its backup.
        _remove(folder / f"{BACKUP}.old")
        if backup.is_dir():
            return cls(folder)
        if not _is_complete(folder):
            return None
        incomplete = backup.with_name(f"{BACKUP}.new")
        try:
            _remove(incomplete)
            incomplete.mkdir()
            for path in [*_files(folder)]:
                copy = incomplete / path.relative_to(folder)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, copy)
            incomplete.replace(backup)
        except OSError as error:
            _remove(incomplete)
            raise LeadlineError(
                f"cannot back up the report in {folder} before resuming its run: {error.strerror or error}"
            ) from error
        return cls(folder)

    def settle(self, metadata: Metadata) -> None:
        """Keep the new files of a complete session, else restore the previous ones."""
        if metadata.status == "complete":
            self.discard()
        else:
            self.restore(metadata)

    def restore(self, failed: Metadata) -> None:
        """Restore the previous files and remove new ones; usage and cost of the failed session count.

        If a file cannot be restored, the backup stays for the next session.
        """
        backup = self.folder / BACKUP
        restored = True
        for path in [*_files(self.folder)]:
            if not (backup / path.relative_to(self.folder)).exists():
                restored = _succeeds(path.unlink) and restored
        # The metadata last: while it still describes the failed session, the run is not fully restored.
        for path in sorted(_files(backup), key=lambda path: path.name == METADATA):
            restored = _succeeds(partial(_restore, path, self.folder / path.relative_to(backup))) and restored
        if restored and _succeeds(lambda: self._add_usage(failed)):
            self._remove_backup()

    def discard(self) -> None:
        """Remove the backup, and reports of formats that the complete session did not write."""
        backup = self.folder / BACKUP
        for path in [*_files(backup)]:
            current = self.folder / path.relative_to(backup)
            is_report = any(fnmatch(current.name, report) for report in _REPORTS)
            if is_report and current.is_file() and current.stat().st_mtime_ns == path.stat().st_mtime_ns:
                _succeeds(current.unlink)
        self._remove_backup()

    def _add_usage(self, failed: Metadata) -> None:
        metadata = read_metadata(self.folder)
        usage = {"usage": failed.usage, "budget": failed.budget, "calls": failed.calls}
        write_metadata(self.folder, metadata.model_copy(update=usage))

    def _remove_backup(self) -> None:
        # Renamed first, so that a kill during the removal leaves no partial backup under its name.
        old = self.folder / f"{BACKUP}.old"
        _remove(old)
        if _succeeds(lambda: (self.folder / BACKUP).rename(old)):
            _remove(old)


def _restore(copy: Path, path: Path) -> None:
    if not (path.is_file() and filecmp.cmp(copy, path, shallow=False)):
        write_atomically(path, copy.read_bytes())


def _succeeds(do: Callable[[], object]) -> bool:
    try:
        do()
    except (OSError, LeadlineError):
        return False
    return True


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _is_complete(folder: Path) -> bool:
    try:
        return read_metadata(folder).status == "complete"
    except (OSError, ValueError):
        return False


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder, except journal, events and hidden files."""
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith((".", JOURNAL, EVENTS)):
            yield path


# --- calls of earlier sessions ----------------------------------------------------------------------------------------


async def forget_failures(journal: Journal, pipeline: Pipeline, *, everything: bool = False) -> None:
    """Remove failed calls from the journal, so that the next session repeats them.

    `everything`, or a last session that ended by itself and not by a failed call: all failures, and the calls of
    closing stages that did without them. Otherwise the calls whose failure ended a session. Calls that were refused
    because a session was to end are always removed. Searches and pages stay: all later work depends on them.
    """
    escaped = {row.key for row in journal.rows() if row.escaped}
    last = journal.sessions()[-2:-1]
    ended = bool(last) and last[0].status in ("no_evidence", "partial", "failed")
    closing = pipeline.closing_stages()
    if last and last[0].status == "failed":
        await _forget_refused_answers(journal)
    if everything or (ended and not escaped):
        await journal.forget(repeated_stages=closing)
        return
    if escaped:
        await journal.forget(escaped)
    if refused := await _refused_by_shutdown(journal):
        await journal.forget(refused, repeated_stages=closing)


async def _forget_refused_answers(journal: Journal) -> None:
    """Ask again what a person declined or cancelled: that may be why the run failed."""
    for row in journal.rows():
        if (row.kind, row.outcome) == ("ask", "reply"):
            body = await journal.body(row)
            if body and Answer.model_validate_json(body).action != "accept":
                await journal.drop([row.key])


def interrupted_notice(journal: Journal) -> tuple[str, ...]:
    """Return the notice about calls in flight at the end of the last session. It is no part of the report."""
    count = 0 if journal.readonly else sum(session.interrupted for session in journal.sessions()[-2:-1])
    if not count:
        return ()
    calls = "1 call was" if count == 1 else f"{count} calls were"
    again = "it is" if count == 1 else "they are"
    return (f"{calls} in flight when the last session was interrupted: {again} made again, and may be paid for again",)


async def _refused_by_shutdown(journal: Journal) -> set[str]:
    """Return the keys of calls that were refused because a session was to end, and of calls that failed for that."""
    refused = [row for row in journal.rows() if row.outcome == "refusal"]
    bodies = {row.body: await journal.body(row) for row in refused}
    by_shutdown = {name for name, body in bodies.items() if body and Failure.model_validate_json(body).type == SHUTDOWN}
    return with_consequences(journal.rows(), (row.key for row in refused if row.body in by_shutdown))


def next_seq(path: Path) -> int:
    """Return the number of the next event: a resumed run continues the numbers in its file of events."""
    if store := store_of(path):
        return store.next_seq(path.parent)
    if not path.exists():
        return 0
    last = -1
    with path.open("rb") as lines:
        for line in lines:
            try:
                last = max(last, int(json.loads(line)["seq"]))
            except (ValueError, KeyError, TypeError):
                continue  # a torn line, which the observer cuts off
    return last + 1
