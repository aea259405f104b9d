"""The lock of a run's folder: one process works on a run, and the lock ends with it, however it dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from weakref import WeakSet

from leadline.errors import JournalBusy
from leadline.stores import store_of

# The default folder of runs, below the working folder.
RUNS = "runs"


def resume_command(folder: Path) -> str:
    """Return the command that resumes the run in a folder: by name in the default place, otherwise by path."""
    try:
        default = folder.absolute() == Path.cwd() / RUNS / folder.name
    except OSError:  # the working folder was deleted
        default = False
    return shlex.join(["leadline", "resume", folder.name if default else str(folder)])


class FolderLock:
    """An exclusive lock; raises `JournalBusy` if another process, or another run in this one, holds it.

    With `owns` it is taken over from a holder that had one as well, if `owns` returns True: that one may be paused. Not
    `lockf`: it is lost as soon as anything in the process opens and closes the file.
    """

    def __init__(self, path: Path, owns: Callable[[], bool] | None = None) -> None:
        self._path = path
        self._fd: int | None = _open(path)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # a run, or for an instant `is_locked`
            holder, _, owned = os.pread(self._fd, 32, 0).decode("ascii", "replace").partition(" ")
            self.close()
            if not (owned and owns and owns()):
                raise JournalBusy(
                    f"another process (id {holder or 'unknown'}) is working on the run in {path.parent}; nothing was "
                    f"changed. Come back when it has ended: {resume_command(path.parent)}"
                ) from None
            own = path.with_name(f"{path.name}.{token_hex(4)}")
            self._fd = _open(own)
            fcntl.flock(self._fd, fcntl.LOCK_EX)
            own.replace(path)
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()}{' owned' if owns else ''}".encode(), 0)
        _held.add(self)

    def is_current(self) -> bool:
        """Return whether no other process has taken the lock over."""
        try:
            return self._fd is not None and os.path.samestat(os.fstat(self._fd), self._path.lstat())
        except OSError:  # its folder was deleted
            return False

    def release(self) -> None:
        """Release the lock; a second time does nothing."""
        if self._fd is not None:
            # Explicitly, because a child that was forked just now may not have closed its copy of the file yet.
            fcntl.flock(self._fd, fcntl.LOCK_UN)
            self.close()

    def close(self) -> None:
        """Close the file without releasing a lock that another process shares."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)


_held: WeakSet[FolderLock] = WeakSet()


def _after_fork() -> None:
    # A forked child shares the lock and would hold it as long as it lives; releasing it would take it from the parent.
    for lock in list(_held):
        with contextlib.suppress(OSError):
            lock.close()


os.register_at_fork(after_in_child=_after_fork)


def is_locked(path: Path) -> bool:
    """Return whether some process holds the lock at this path now. A missing or unreadable lock is held by nobody."""
    if store := store_of(path):
        return store.is_active(path.parent)
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        # Shared and for a moment: whoever opens a journal just then tries again.
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
