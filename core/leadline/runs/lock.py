"""One process at a run: a lock on its folder that ends with its owner, however that dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from weakref import WeakSet

from leadline.errors import JournalBusy
from leadline.runs.folder import resuming


class FolderLock:
    """An exclusive `flock`; raises `JournalBusy` if another process, or another run in this one, holds it.

    Not `lockf`: that is lost when anything in the process opens and closes the file.
    """

    def __init__(self, path: Path) -> None:
        self._fd: int | None = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(self._fd, 32, 0).decode("ascii", "replace").strip() or "unknown"
            self.close()
            raise JournalBusy(
                f"another process (id {owner}) is at the run in {path.parent}; wait for it or end it, "
                f"then: {resuming(path.parent)}"
            ) from None
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, str(os.getpid()).encode(), 0)
        _held.add(self)

    def release(self) -> None:
        """Give the lock up; a second time does nothing."""
        if self._fd is not None:
            # In words: a child forked just now has the file open until its turn comes to close it.
            fcntl.flock(self._fd, fcntl.LOCK_UN)
            self.close()

    def close(self) -> None:
        """Close the file, and leave the lock to whoever has it open as well."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


_held: WeakSet[FolderLock] = WeakSet()


def _after_fork() -> None:
    # A forked child shares the lock, and would hold it for as long as it lives; to release it would take it from its
    # owner.
    for lock in list(_held):
        with contextlib.suppress(OSError):
            lock.close()


os.register_at_fork(after_in_child=_after_fork)


def is_locked(path: Path) -> bool:
    """Return whether somebody holds the lock at this path now."""
    if not path.exists():
        return False
    try:
        FolderLock(path).release()
    except JournalBusy:
        return True
    except OSError:  # not ours to open: a folder that can only be read has no owner at work
        return False
    return False
