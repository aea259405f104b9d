"""One writer at a time over all processes: `flock` on a file beside the index.

The system lets go of the lock when its owner dies, however it dies.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

_PAUSE = 0.1
"""Seconds between two attempts."""


@asynccontextmanager
async def locked(path: Path) -> AsyncIterator[None]:
    """Hold the lock of this path, after waiting for whoever has it."""
    file = _open(path)
    try:
        while not _taken(file):  # noqa: ASYNC110 - another process cannot set an event here
            await asyncio.sleep(_PAUSE)
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)  # said aloud: a forked child may hold a copy of the descriptor
        os.close(file)


def _open(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _taken(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
