#!/usr/bin/env python3
"""Starts bubblewrap as `nobody`, for tests that root runs: in a view of the machine of its own, nothing of it changes.

Root's interpreter may stand where nobody else may walk (`/root`, a private temporary folder). In a mount namespace of
its own, such a folder is covered by an empty one in which only what bubblewrap shows stands again.
"""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from pathlib import Path

NOBODY = 65534
NEW_MOUNTS = 0x00020000
BIND, RECURSIVE, PRIVATE, DETACH = 4096, 16384, 1 << 18, 2
LIBC = ctypes.CDLL(None, use_errno=True)


def mount(source: Path | str, target: Path | str, kind: bytes | None = None, flags: int = 0, data: str = "") -> None:
    """Mount, or raise `OSError`."""
    if LIBC.mount(os.fsencode(source), os.fsencode(target), kind, flags, data.encode() or None):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(target))


def closed(path: Path) -> Path | None:
    """Return the outermost folder on the way to a path that others may not walk through."""
    return next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & 1), None)


def open_way(paths: list[Path]) -> None:
    """Let everybody walk to these paths; for this process and its children only."""
    behind: dict[Path, list[Path]] = {}
    for path in paths:
        if folder := closed(path):
            behind.setdefault(folder, []).append(path)
    for folder, held in behind.items():
        kept = [Path(tempfile.mkdtemp()) for _ in held]
        for path, place in zip(held, kept, strict=True):
            mount(path, place, flags=BIND | RECURSIVE)
        mount("none", folder, b"tmpfs", data="mode=755")
        for path, place in zip(held, kept, strict=True):
            path.mkdir(parents=True, exist_ok=True)
            mount(place, path, flags=BIND | RECURSIVE)
            LIBC.umount2(os.fsencode(place), DETACH)
            place.rmdir()


def main() -> None:
    """Become nobody, and bubblewrap."""
    if LIBC.unshare(NEW_MOUNTS):
        raise OSError(ctypes.get_errno(), "no mount namespace here")
    mount("none", "/", flags=RECURSIVE | PRIVATE)
    shown = [Path(after) for before, after in zip(sys.argv, sys.argv[1:], strict=False) if before == "--ro-bind"]
    open_way([path for path in shown if path.is_dir()])
    os.umask(0o022)
    os.chdir("/")
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    os.execvp("bwrap", ["bwrap", *sys.argv[1:]])


if __name__ == "__main__":
    main()
