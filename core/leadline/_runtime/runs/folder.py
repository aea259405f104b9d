"""Run folders: names, those of principals, atomic writes, `metadata.json`; finding and deleting runs."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Container, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

from leadline._runtime.journal.lock import FolderLock, is_locked
from leadline._runtime.runs.index import LARGEST_METADATA, RunIndex
from leadline.display import nearest
from leadline.encoding import digest, without_surrogates
from leadline.errors import JournalBusy, LeadlineError, UsageError
from leadline.files import read_limited
from leadline.records import Principal
from leadline.run_summary import ACTIVE, RunSummary
from leadline.runs import METADATA, PRINCIPALS, Metadata, RunInfo
from leadline.stores import changing, refresh, store_of

JOURNAL = "journal.sqlite"
LOCK = JOURNAL + ".lock"
EVENTS = "events.jsonl"
# The socket for the text that is being written.
LIVE = "live.sock"
_RESERVED = (JOURNAL, EVENTS, METADATA, LIVE)
# Runs that a message lists.
_NAMED = 5
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
        finally:
            temporary.unlink(missing_ok=True)
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


def detach(path: Path) -> None:
    """Replace a file by a copy of it: who has it open writes into the old one, which is gone."""
    copy = path.with_name(f".{path.name}.{token_hex(4)}")
    if path.exists():
        shutil.copyfile(path, copy)
        copy.replace(path)


def write_metadata(folder: Path, metadata: Metadata) -> None:
    """Write `metadata.json`."""
    text = json.dumps(metadata.model_dump(mode="json"), ensure_ascii=False, indent=1)
    write_atomically(folder / METADATA, (text + "\n").encode("utf-8", "replace"))


def read_metadata(folder: Path) -> Metadata:
    """Read `metadata.json`. Raises `OSError` or `ValueError`."""
    return Metadata.model_validate_json(read_limited(folder / METADATA, LARGEST_METADATA))


# What a user may change of a run that has ended.
_LABELS = ("title", "pinned", "tags")


def labels_of(folder: Path) -> dict[str, Any]:
    """Return what a session takes over from the metadata; nothing of a new run, or if they cannot be read."""
    try:
        metadata = read_metadata(folder)
    except (OSError, ValueError):
        return {}
    return {name: getattr(metadata, name) for name in _LABELS}


def label_run(folder: Path, changes: Mapping[str, Any]) -> None:
    """Change labels in the metadata. Raises `JournalBusy` if the run is active, `UsageError` if it has no metadata."""
    try:
        lock = FolderLock(folder / LOCK)
    except JournalBusy:
        raise JournalBusy(f"the run in {folder} is active; it can be labelled when it has ended") from None
    try:
        with changing(folder):
            write_metadata(folder, read_metadata(folder).model_copy(update=changes))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {folder / METADATA}: leadline resume {folder.name}") from error
    finally:
        lock.release()


# --- the runs of a folder --------------------------------------------------------------------------------------------


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
    return metadata.status in ACTIVE and metadata.ended is None


def find_run(folder: Path, run: str | Path, *, within: bool = False) -> Path:
    """Return the folder of a run, given its path, its id or the beginning of its id. Raises `UsageError`.

    With `within`, only runs of `folder` are found, whatever `run` is.
    """
    path = Path(run)
    if within:
        run = path.name if path.parent.absolute() == folder.absolute() else run
    else:
        refresh(path)
        if (path / JOURNAL).is_file():
            return path.absolute()
    refresh(folder / run)
    if not (folder / run / JOURNAL).is_file():
        refresh(folder)
    matching = sorted(_run_names(folder, str(run))) if str(run) else []
    if len(matching) == 1:
        refresh(folder / matching[0])
        return (folder / matching[0]).absolute()
    if matching:
        more = f" and {len(matching) - _NAMED} more" if len(matching) > _NAMED else ""
        raise UsageError(
            f"'{run}' is the beginning of {len(matching)} runs: {', '.join(matching[:_NAMED])}{more}; "
            "write more of the id"
        )
    names = list(_run_names(folder))
    near = nearest(str(run), names)
    hint = f"did you mean {near!r}? " if near else "" if names else f"there are no runs in {folder}; "
    raise UsageError(f"there is no run '{run}' in {folder}: {hint}`leadline runs list` lists them")


def delete_run(folder: Path) -> None:
    """Delete a run's folder. Raises `JournalBusy` if the run is active."""
    try:
        lock = FolderLock(folder / LOCK)
    except JournalBusy:
        raise JournalBusy(f"the run in {folder} is active; stop it first") from None
    try:
        if store := store_of(folder):
            store.delete(folder)
        shutil.rmtree(folder)
    finally:
        lock.release()
    RunIndex(folder.parent).forget_deleted()


def ended_before(folder: Path, when: datetime) -> list[RunSummary]:
    """Return the runs of all principals that ended before a time, or were left by their process before it."""
    refresh(folder)
    refresh(folder / PRINCIPALS)
    folders = [folder, *sorted((folder / PRINCIPALS).iterdir() if (folder / PRINCIPALS).is_dir() else ())]
    runs = (run for item in folders for run in RunIndex(item).runs() if run.status not in ACTIVE)
    return [run for run in runs if (last := run.ended or run.began) and last < when]


def _run_names(folder: Path, begin: str = "") -> Iterator[str]:
    """Yield the names of the runs in a folder that have this beginning."""
    names = (item.name for item in folder.iterdir()) if folder.is_dir() else iter(())
    return (name for name in names if name.startswith(begin) and (folder / name / JOURNAL).is_file())


# --- principals: each has a folder of runs of its own -----------------------------------------------------------------


# Characters of an id.
MAX_ID = 1_000
# Characters of an id that its folder shows.
_SHOWN = 32
_UNSAFE = re.compile(r"[^a-z0-9]+")


def principal_of(principal: Principal | str | None) -> Principal | None:
    """Return the principal with this id. Raises `UsageError` for an id that is blank, too long or not text."""
    if principal is None:
        return None
    name = principal.id if isinstance(principal, Principal) else principal
    if not isinstance(name, str) or without_surrogates(name) != name:
        raise UsageError(f"principal: the id must be Unicode text or a leadline.records.Principal, not {name!r:.80}")
    if not name.strip():
        raise UsageError("principal: the id is empty; leave `principal` out for a run without one")
    if len(name) > MAX_ID:
        raise UsageError(f"principal: the id has {len(name):,} characters, but at most {MAX_ID:,} are allowed")
    return principal if isinstance(principal, Principal) else Principal(id=name)


def folder_of(runs: Path, principal: Principal | None) -> Path:
    """Return the folder of a principal's runs; without a principal, the folder of runs itself.

    Ids may come from strangers: the name consists of letters and digits of the id, for people, and of its digest. So no
    id leads out of the folder or names a device, and different ids have different folders on every file system.
    """
    if principal is None:
        return runs
    shown = _UNSAFE.sub("-", principal.id[:_SHOWN].lower()).strip("-")
    return runs / PRINCIPALS / "-".join(filter(None, (shown, digest(principal.id.encode()))))
