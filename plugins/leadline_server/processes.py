"""The memory of a process that runs for weeks, and names that never mean another process.

The number of a process alone is used again after its end.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

_PROC = Path("/proc")
# The parameter of glibc's `mallopt` for the number of heaps.
_ARENA_MAX = -8


def use_one_heap() -> None:
    """Let all threads of this process take memory from one heap; call it before it starts threads.

    glibc gives each thread a heap of its own and returns little of it: a sixth of a worker's memory was such remains.
    """
    with suppress(AttributeError, OSError, TypeError):  # other C libraries have no such heaps
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def name_of(pid: int) -> str:
    """Return the name of a process of this machine: `MACHINE.PID.START`."""
    return f"{_machine()}.{pid}.{_start(pid)}"


def is_local(name: str) -> bool:
    """Return whether a process is, or was, one of this machine since it was started."""
    return name.partition(".")[0] == _machine()


def is_running(name: str) -> bool:
    """Return whether a process of this machine has not ended."""
    pid, start = _parts(name)
    if _PROC.is_dir():
        return _start(pid) == start
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def kill(name: str) -> None:
    """Kill a process of this machine, paused or not, if it is certainly the one that is meant."""
    pid, start = _parts(name)
    if start and _start(pid) == start:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _parts(name: str) -> tuple[int, str]:
    _, pid, start = name.split(".")
    return int(pid), start


def _start(pid: int) -> str:
    """Return the time at which a process began, in ticks since the start of the machine; empty if it has ended."""
    try:
        # The name of the program, in parentheses, may contain anything.
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in (b"Z", b"X") else fields[19].decode()


@cache
def _machine() -> str:
    """Return a name of this machine since it was started, and of the container that numbers its processes."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text() + str((_PROC / "self/ns/pid").readlink())
    except OSError:
        boot = socket.gethostname()
    return sha256(boot.encode()).hexdigest()[:12]
