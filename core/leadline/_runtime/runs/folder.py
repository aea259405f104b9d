"""Run folders: names, atomic writes, `metadata.json`; listing, finding and deleting the runs of a folder."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Container, Iterator
from datetime import datetime
from pathlib import Path
from secrets import token_hex

from leadline._runtime.journal.lock import FolderLock, is_locked
from leadline.display import choose_from
from leadline.errors import JournalBusy, LeadlineError, UsageError
from leadline.runs import Metadata, RunInfo

JOURNAL = "journal.sqlite"
LOCK = JOURNAL + ".lock"
EVENTS = "events.jsonl"
METADATA = "metadata.json"
_RESERVED = (JOURNAL, EVENTS, METADATA)
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def folder_name(trace_id: str, began: datetime) -> str:
    """Return the name of a run's folder: the first 8 of the trace id and the UTC time, `1f2e3d4c_20260131_235959`."""
    return f"{trace_id[:8]}_{began:%Y%m%d_%H%M%S}"


def is_run(names: Container[str]) -> bool:
    """Return whether a folder with files of these names belongs to a run: both files exist from its start."""
    return JOURNAL in names and METADATA in names


# --- files -----------------------------------------------------------------------------------------------------------


def write_atomically(path: Path, data: bytes) -> Path:
    """Write a file through a temporary one, so that a reader never sees half of it. Raises `LeadlineError`."""
    temporary = path.with_name(f".{path.name[:40]}.{token_hex(4)}")
    try:
        try:
            file = os.open(temporary, _NEW_FILE, 0o644)  # not mkstemp's 0600: a report is as readable as its folder
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(temporary, _NEW_FILE, 0o644)
        try:
            with os.fdopen(file, "wb") as opened:
                opened.write(data)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise LeadlineError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def path_inside(folder: Path, name: str) -> Path:
    """Return the path of a plugin's file. Raises `ValueError` for a name outside the folder or a reserved one."""
    # Resolved, because a link may lead out of the folder.
    path, top = (folder / name).resolve(), folder.resolve()
    if not path.is_relative_to(top) or path == top:
        raise ValueError(f"the file name {name!r} is outside of the run's folder {folder}")
    # By prefix: SQLite has further files beside the journal.
    if path.relative_to(top).as_posix().casefold().startswith(_RESERVED):
        raise ValueError(f"the file name {name!r} is that of the run's own {path.name}")
    return path


def write_metadata(folder: Path, metadata: Metadata) -> None:
    """Write `metadata.json`."""
    text = json.dumps(metadata.model_dump(mode="json"), ensure_ascii=False, indent=1)
    write_atomically(folder / METADATA, (text + "\n").encode("utf-8", "replace"))


def read_metadata(folder: Path) -> Metadata:
    """Read `metadata.json`. Raises `OSError` or `ValueError`."""
    return Metadata.model_validate_json((folder / METADATA).read_bytes())


# --- the runs of a folder --------------------------------------------------------------------------------------------


def list_runs(folder: Path) -> list[RunInfo]:
    """Return all runs of a folder, newest first."""
    runs = [run_info(path) for path in _run_folders(folder)]
    return sorted(runs, key=lambda run: (run.metadata.began.isoformat() if run.metadata else "", run.id), reverse=True)


def run_info(folder: Path) -> RunInfo:
    """Return the run in a folder."""
    try:
        metadata = read_metadata(folder)
        if _is_active(metadata) and not is_locked(folder / LOCK):
            metadata = read_metadata(folder)  # it may have ended since
            if _is_active(metadata):
                return RunInfo(folder.name, folder, "interrupted", metadata)
    except (OSError, ValueError):
        return RunInfo(folder.name, folder, "unreadable", None)
    return RunInfo(folder.name, folder, metadata.status, metadata)


def _is_active(metadata: Metadata) -> bool:
    return metadata.status in ("pending", "running", "waiting") and metadata.ended is None


def find_run(folder: Path, run: str | Path) -> Path:
    """Return the folder of a run, given its path, its id or the beginning of its id. Raises `UsageError`."""
    path = Path(run)
    if (path / JOURNAL).is_file():
        return path.absolute()
    names = [item.name for item in _run_folders(folder)]
    matching = [name for name in names if name.startswith(str(run))] if str(run) else []
    if len(matching) == 1:
        return (folder / matching[0]).absolute()
    if matching:
        raise UsageError(f"'{run}' is the beginning of {len(matching)} runs: {', '.join(sorted(matching))}")
    hint = choose_from(str(run), names) if names else f"there are no runs in {folder}"
    raise UsageError(f"there is no run '{run}' in {folder}: {hint}; see `leadline runs list`")


def delete_run(folder: Path) -> None:
    """Delete a run's folder. Raises `JournalBusy` if the run is active."""
    try:
        lock = FolderLock(folder / LOCK)
    except JournalBusy:
        raise JournalBusy(f"the run in {folder} is active; stop it first") from None
    try:
        shutil.rmtree(folder)
    finally:
        lock.release()


def _run_folders(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        return iter(())
    return (path for path in folder.iterdir() if (path / JOURNAL).is_file())
