"""The runs of a folder: listed, found by the beginning of their name, deleted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from leadline.errors import LeadlineError, UsageError
from leadline.nearest import choose_from
from leadline.runs.folder import JOURNAL, LOCK
from leadline.runs.lock import is_locked
from leadline.runs.state import Metadata
from leadline.runs.summary import read_metadata


@dataclass(frozen=True)
class RunInfo:
    """A run on disk. `status` is that of its metadata, or `interrupted` where it says running and nobody runs it."""

    id: str
    folder: Path
    status: str
    metadata: Metadata | None


def list_runs(folder: Path) -> list[RunInfo]:
    """Return all runs of a folder, the newest first."""
    runs = [info(path) for path in _folders(folder)]
    return sorted(runs, key=lambda run: (run.metadata.began.isoformat() if run.metadata else "", run.id), reverse=True)


def info(folder: Path) -> RunInfo:
    """Return what is known of the run in a folder."""
    try:
        metadata = read_metadata(folder)
    except (OSError, ValueError):
        return RunInfo(folder.name, folder, "unreadable", None)
    going = metadata.status in ("pending", "running") and metadata.ended is None
    status = "interrupted" if going and not is_locked(folder / LOCK) else metadata.status
    return RunInfo(folder.name, folder, status, metadata)


def find_run(folder: Path, run: str | Path) -> Path:
    """Return the folder of a run, by its path, its id, or the beginning of it. Raises `UsageError`."""
    path = Path(run)
    if (path / JOURNAL).is_file():
        return path.absolute()
    names = [item.name for item in _folders(folder)]
    matching = [name for name in names if name.startswith(str(run))] if str(run) else []
    if len(matching) == 1:
        return (folder / matching[0]).absolute()
    if matching:
        raise UsageError(f"'{run}' is the beginning of {len(matching)} runs: {', '.join(sorted(matching))}")
    hint = choose_from(str(run), names) if names else f"there are no runs in {folder}"
    raise UsageError(f"there is no run '{run}' in {folder}: {hint}; see `leadline runs list`")


def delete_run(folder: Path) -> None:
    """Delete a run's folder. Raises `LeadlineError` while the run goes on."""
    if is_locked(folder / LOCK):
        raise LeadlineError(f"the run in {folder} is going on; stop it first")
    shutil.rmtree(folder)


def _folders(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        return iter(())
    return (path for path in folder.iterdir() if (path / JOURNAL).is_file())
