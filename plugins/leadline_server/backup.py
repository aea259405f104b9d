"""Backup of a folder of runs, also while a server works on it, and what else belongs to it; and the way back."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from leadline.errors import LeadlineError, UsageError
from leadline_server.queue import open_queue

# The name of the folder of runs in a backup, whatever its own.
RUNS = "runs"
# What belongs to a process, and not to what it keeps.
_OF_PROCESSES = ("-wal", "-shm", ".lock", ".sock")


def back_up(runs: Path, others: Iterable[Path], into: Path) -> int:
    """Write a backup and return the number of its files. Raises `LeadlineError`."""
    count = 0
    try:
        with (
            os.fdopen(os.open(into, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file,
            tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as archive,
            tempfile.TemporaryDirectory() as folder,
        ):
            tops = [(runs, RUNS), *((path, path.name) for path in others)]
            for path, name in ((path, Path(name, path.relative_to(top))) for top, name in tops for path in _files(top)):
                copy = _snapshot(path, Path(folder, "copy")) if path.suffix == ".sqlite" else path
                with suppress(FileNotFoundError):  # a run was deleted meanwhile
                    archive.add(copy, name, recursive=False)
                    count += path.is_file()
    except (OSError, sqlite3.Error) as error:
        raise LeadlineError(f"cannot write the backup {into}: {error}") from error
    return count


def _files(top: Path) -> Iterator[Path]:
    """Yield files and folders: first the files of the top folder, in which the queue is.

    An order in the queue whose run has ended since is crossed out; a run without its order would never go on.
    """
    paths = [top, *sorted(top.rglob("*"), key=lambda path: (len(path.parts), path))]
    for path in paths:
        kind = path.lstat().st_mode if path.exists() else 0
        if (stat.S_ISREG(kind) or stat.S_ISDIR(kind)) and not path.name.endswith(_OF_PROCESSES):
            yield path


def _snapshot(path: Path, copy: Path) -> Path:
    """Copy a database as of one moment, whoever writes it."""
    copy.unlink(missing_ok=True)
    address = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    copy.chmod(0o600)
    return copy


def restore(file: Path, runs: Path, others: Path = Path()) -> int:
    """Bring a backup back: its runs into an empty folder, the `others` into the working folder. Raises `UsageError`."""
    if runs.is_dir() and any(runs.iterdir()):
        raise UsageError(f"{runs} is not empty: name another folder with --folder, or move this one away")
    try:
        with tarfile.open(file) as archive:
            members = archive.getmembers()
            if taken := [name for member in members if (name := member.name) != RUNS and _is_taken(name, others)]:
                raise UsageError(f"{taken[0]} exists already: move it away, or restore in another working folder")
            for member in members:
                top, _, rest = member.name.partition("/")
                _extract(archive, member, runs / rest if top == RUNS else others / member.name)
        with closing(open_queue("", runs)) as queue:
            for worker in queue.workers():  # of the other server, which may be on this machine: not to be killed
                queue.leave(worker.id)
    except (OSError, tarfile.TarError) as error:
        raise LeadlineError(f"cannot restore {file}: {error}") from error
    return sum(member.isfile() for member in members)


def _is_taken(name: str, folder: Path) -> bool:
    return not name.startswith(f"{RUNS}/") and "/" not in name and (folder / name).exists()


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    """Write a file or folder of a backup, which has nothing else; the filters of `tarfile` need Python 3.11.4."""
    if member.name.startswith("/") or ".." in Path(member.name).parts:
        raise tarfile.TarError(f"{member.name} would be outside of the folder")
    if member.isdir():
        path.mkdir(0o700, parents=True, exist_ok=True)
    elif content := archive.extractfile(member) if member.isfile() else None:
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, member.mode & 0o700), "wb") as file:
            shutil.copyfileobj(content, file)
        os.utime(path, (member.mtime, member.mtime))
