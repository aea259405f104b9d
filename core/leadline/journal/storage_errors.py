"""What went wrong with the journal's file, in words for people: what, where, and the next command."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

from leadline.errors import JournalBusy, JournalError
from leadline.runs.folder import resuming

_NOT_WRITABLE = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "EROFS", "EACCES", "EPERM")


def explain(error: sqlite3.Error | OSError, path: Path) -> JournalError:
    """Return the error as one of ours."""
    name = getattr(error, "sqlite_errorname", "") or errno.errorcode.get(getattr(error, "errno", None) or 0, "")
    resume = resuming(path.parent)
    if name in ("SQLITE_FULL", "ENOSPC", "EDQUOT"):
        return JournalError(f"the disk of {path.parent} is full; what came before is kept: make room, then: {resume}")
    if name.startswith(_NOT_WRITABLE):
        return JournalError(
            f"cannot write to {path.parent} ({error}); make it writable, or choose another folder with "
            "--set runs.folder=DIR"
        )
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return JournalError(
            f"the journal {path} is damaged ({error}); the report and files beside it are untouched. Restore it from a "
            "backup, or begin anew: leadline research QUESTION"
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return JournalBusy(f"another program has the journal {path} open for writing; close it, then: {resume}")
    return JournalError(
        f"the journal {path} cannot be read or written ({name or type(error).__name__}: {error}); then: {resume}"
    )
