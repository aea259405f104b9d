"""The files of a complete run, copied aside while another session goes through it: what comes to less replaces none.

The copy stays whole until all is settled, and is given up under another name: whoever finds it, after a kill or where
a file could not be put back, finds all of it.
"""

from __future__ import annotations

import asyncio
import filecmp
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from leadline.errors import LeadlineError
from leadline.journal.journal import Journal
from leadline.runs.folder import EVENTS, JOURNAL, METADATA, write_whole
from leadline.runs.opening import keep_order
from leadline.runs.order import Order
from leadline.runs.state import Metadata
from leadline.runs.summary import read_metadata, write_metadata

ASIDE = ".complete"
TOLD = "the run was complete before and this session came to less: its earlier report, files and settings are kept"
_REPORTS = ("report.*", "references.*")
"""The files of a report by their names: one format more or less, and they are others."""


@dataclass(frozen=True)
class Earlier:
    """What a complete session left in the folder of a run."""

    folder: Path

    @classmethod
    def of(cls, folder: Path) -> Earlier | None:
        """Copy the files of a run aside where it is complete. Raises `LeadlineError` where that fails."""
        aside = folder / ASIDE
        _remove(folder / f"{ASIDE}.old")  # of one that was killed while it gave them up
        if aside.is_dir():
            return cls(folder)
        if not _complete(folder):
            return None
        fresh = aside.with_name(f"{ASIDE}.new")
        try:
            _remove(fresh)  # of one that was killed while it put them aside
            fresh.mkdir()
            for path in [*_files(folder)]:
                there = fresh / path.relative_to(folder)
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, there)
            fresh.replace(aside)
        except OSError as error:
            _remove(fresh)
            raise LeadlineError(
                f"the report in {folder} cannot be put aside to go through its run again: {error.strerror or error}"
            ) from error
        return cls(folder)

    async def settle(self, journal: Journal, order: Order, metadata: Metadata) -> None:
        """Leave the files and the settings of the session that ends where it made a whole of it, else the earlier."""
        if metadata.status == "complete":
            await keep_order(journal, order)
            await asyncio.to_thread(self.replace)
        else:
            await asyncio.to_thread(self.take_back, metadata)

    def take_back(self, lesser: Metadata) -> None:
        """Put the files where they were, in place of all that the session made that ends.

        Whatever cannot be put back, all of it stays aside for the next session. What that session cost is the run's.
        """
        aside = self.folder / ASIDE
        whole = True
        for path in [*_files(self.folder)]:
            if not (aside / path.relative_to(self.folder)).exists():
                whole = _done(path.unlink) and whole
        # The metadata last: as long as it tells of the lesser session, not all is back.
        for path in sorted(_files(aside), key=lambda path: path.name == METADATA):
            whole = _done(partial(_put, path, self.folder / path.relative_to(aside))) and whole
        if whole and _done(lambda: self._count(lesser)):
            self._let_go()

    def replace(self) -> None:
        """Give the files up, and reports that the session that ends did not write: they are not its own."""
        aside = self.folder / ASIDE
        for path in [*_files(aside)]:
            own = self.folder / path.relative_to(aside)
            if any(fnmatch(own.name, report) for report in _REPORTS) and _untouched(own, path):
                _done(own.unlink)
        self._let_go()

    def _count(self, lesser: Metadata) -> None:
        told = read_metadata(self.folder)
        spent = {"usage": lesser.usage, "budget": lesser.budget, "calls": lesser.calls}
        write_metadata(self.folder, told.model_copy(update=spent))

    def _let_go(self) -> None:
        gone = self.folder / f"{ASIDE}.old"
        _remove(gone)
        if _done(lambda: (self.folder / ASIDE).rename(gone)):
            _remove(gone)


def _put(path: Path, there: Path) -> None:
    """Copy a file to its place where it is not there as it is."""
    if not (there.is_file() and filecmp.cmp(path, there, shallow=False)):
        write_whole(there, path.read_bytes())


def _untouched(own: Path, copy: Path) -> bool:
    return own.is_file() and own.stat().st_mtime_ns == copy.stat().st_mtime_ns


def _done(do: Callable[[], object]) -> bool:
    try:
        do()
    except (OSError, LeadlineError):
        return False
    return True


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _complete(folder: Path) -> bool:
    try:
        return read_metadata(folder).status == "complete"
    except (OSError, ValueError):
        return False


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder but those that only grow, and hidden ones."""
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith((".", JOURNAL, EVENTS)):
            yield path
