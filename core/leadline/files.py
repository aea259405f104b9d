"""Files: those of a folder that may be anybody's, read with limits, and those that only their owner may read."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from contextlib import closing, suppress
from pathlib import Path

_SCHEMA = "select type, name, tbl_name, sql from sqlite_master"
# The end of a rollback journal with the name of another file: after the rollback SQLite deletes that file.
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")


def home_folder() -> Path:
    """Return the user's home folder; one that cannot exist in a container that knows neither HOME nor the user."""
    with suppress(RuntimeError):
        return Path.home()
    return Path(os.devnull)


def read_limited(path: Path, most: int) -> bytes:
    """Return the bytes of a file. Raises `OSError` for a pipe or a device, and for more than `most` bytes."""
    # Opening a pipe would wait for its writer.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        # `read(most + 1)` takes memory for that many bytes first: it is for a file that grows now.
        data = file.read(min(status.st_size, most) + 1)
        if status.st_size < len(data) <= most:
            data += file.read(most + 1 - len(data))
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return data


def check_database(path: Path) -> None:
    """Raise `sqlite3.DatabaseError` if SQLite would reach another file by this database or a file beside it."""
    for beside in (f"{path}{suffix}" for suffix in ("", "-journal", "-wal", "-shm")):
        try:
            file = os.open(beside, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise sqlite3.DatabaseError(f"{beside}: {error.strerror}") from error
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise sqlite3.DatabaseError(f"{beside} is no regular file")
            if beside.endswith("-journal") and os.pread(file, 8, max(0, status.st_size - 8)) == _NAMES_ANOTHER:
                raise sqlite3.DatabaseError(f"{beside} names another file, which SQLite would delete")
        finally:
            os.close(file)


def has_layout(db: sqlite3.Connection, *scripts: str) -> bool:
    """Return whether a database has the tables of these scripts or some of them, and nothing else.

    A file of somebody else's could have an endless view in place of a table, or triggers.
    """
    with closing(sqlite3.connect(":memory:")) as own:
        for script in scripts:
            with suppress(sqlite3.OperationalError):  # a build without full-text search
                own.executescript(script)
        expected = set(own.execute(_SCHEMA))
    return set(db.execute(_SCHEMA)) <= expected


def private_folder(path: Path) -> Path:
    """Make a folder, with those above it, that only its owner may enter; a folder that exists keeps its mode."""
    if not path.is_dir():
        private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
    return path


def private_file(path: Path) -> Path:
    """Make an empty file in a private folder that only its owner may read; a file that exists keeps its mode.

    Raises `OSError` for a link, which could lead to any other file. A pipe is not waited for.
    """
    private_folder(path.parent)
    os.close(os.open(path, os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600))
    return path
