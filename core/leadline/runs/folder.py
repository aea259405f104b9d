"""Run folders: their names, and files written whole or not at all."""

from __future__ import annotations

import os
import shlex
from collections.abc import Container
from datetime import datetime
from pathlib import Path
from secrets import token_hex

from leadline.errors import LeadlineError

RUNS = "runs"
"""Where runs are kept if nothing else is said, below the working folder."""
JOURNAL = "journal.sqlite"
LOCK = JOURNAL + ".lock"
EVENTS = "events.jsonl"
METADATA = "metadata.json"
_OWN = (JOURNAL, EVENTS, METADATA)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def folder_name(trace_id: str, began: datetime) -> str:
    """Return the name of a run's folder: the first 8 of the trace id and the UTC time, `1f2e3d4c_20260131_235959`."""
    return f"{trace_id[:8]}_{began:%Y%m%d_%H%M%S}"


def resuming(folder: Path) -> str:
    """Return the command that goes on with the run in a folder: by its name in the usual place, else by its path."""
    usual = folder.absolute() == Path.cwd() / RUNS / folder.name
    return shlex.join(["leadline", "resume", folder.name if usual else str(folder)])


def is_run(names: Container[str]) -> bool:
    """Return whether a folder with files of these names is that of a run: it has both from its start on."""
    return JOURNAL in names and METADATA in names


def write_whole(path: Path, data: bytes) -> Path:
    """Write a file by a temporary one and a rename, so that a reader sees the old or the new, never half."""
    beside = path.with_name(f".{path.name[:40]}.{token_hex(4)}")
    try:
        try:
            file = os.open(beside, _NEW, 0o644)  # as the umask lets it be: a report is as readable as its folder
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(beside, _NEW, 0o644)
        try:
            with os.fdopen(file, "wb") as opened:
                opened.write(data)
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise LeadlineError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def inside(folder: Path, name: str) -> Path:
    """Return the path of a plugin's file in the folder.

    Raises `ValueError` for a name that would leave it, and for those of the files by which a run is known.
    """
    path, top = (folder / name).resolve(), folder.resolve()
    if not path.is_relative_to(top) or path == top:
        raise ValueError(f"the file name {name!r} leads out of the run's folder {folder}")
    if path.relative_to(top).as_posix().casefold().startswith(_OWN):  # the journal has files beside it
        raise ValueError(f"the file name {name!r} is that of the run's own {path.name}")
    return path
