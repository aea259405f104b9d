"""The files of a complete run, put aside while another session goes through it: what comes to less replaces none.

A session that is killed leaves them aside; the next one finds them there, and they are again what it is held against.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from leadline.errors import LeadlineError
from leadline.folder import EVENTS, JOURNAL, METADATA
from leadline.journal import Journal
from leadline.opening import keep_order
from leadline.order import Order
from leadline.summary import read_metadata

ASIDE = ".complete"
TOLD = "the run was complete before and this session came to less: its earlier report, files and settings are kept"


@dataclass(frozen=True)
class Earlier:
    """What a complete session left in the folder of a run."""

    folder: Path

    @classmethod
    def of(cls, folder: Path) -> Earlier | None:
        """Put the files of a run aside where it is complete. Raises `LeadlineError` where that fails."""
        aside = folder / ASIDE
        if aside.is_dir():
            return cls(folder)
        if not _complete(folder):
            return None
        fresh = aside.with_name(f"{ASIDE}.new")
        try:
            shutil.rmtree(fresh, ignore_errors=True)  # of one that was killed while it put them aside
            for path in [*_files(folder)]:
                there = fresh / path.relative_to(folder)
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, there)
            fresh.replace(aside)
        except OSError as error:
            shutil.rmtree(fresh, ignore_errors=True)
            raise LeadlineError(
                f"the report in {folder} cannot be put aside to go through its run again: {error.strerror or error}"
            ) from error
        return cls(folder)

    async def settle(self, journal: Journal, order: Order, *, whole: bool) -> None:
        """Leave the files and the settings of the session that ends where it made a whole of it, else the earlier."""
        if whole:
            await keep_order(journal, order)
        await asyncio.to_thread(self.let_go if whole else self.take_back)

    def take_back(self) -> None:
        """Put the files where they were, in place of those of the same names and of all other reports."""
        aside = self.folder / ASIDE
        with suppress(OSError):  # what stays aside is there for the next session
            for report in self.folder.glob("report.*"):
                if not (aside / report.name).exists():
                    report.unlink()
            # The metadata last: as long as it tells of the lesser session, not all is back.
            for path in sorted(_files(aside), key=lambda path: path.name == METADATA):
                there = self.folder / path.relative_to(aside)
                there.parent.mkdir(parents=True, exist_ok=True)
                path.replace(there)
            self.let_go()

    def let_go(self) -> None:
        """Forget the files: those of the session that ends are complete, too."""
        shutil.rmtree(self.folder / ASIDE, ignore_errors=True)


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
