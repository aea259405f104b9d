"""Sandbox `bubblewrap`: code in namespaces of its own, without an engine; where there is no `bwrap` it refuses.

The interpreter is the one that runs this, mounted read-only. Memory is limited a process, not for all together, which
only a container's control group does.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import site
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from leadline.contracts import Call, Context
from leadline.errors import Unavailable
from leadline.hookspecs import Offer, hookimpl
from leadline.records import Code, Execution
from leadline_plugins.sandboxes.interpreters import Warm
from leadline_plugins.sandboxes.limits import GRACE, SandboxSettings, command, time_for
from leadline_plugins.sandboxes.messages import Lost, framed, length_of

_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/alternatives", "/etc/ld.so.cache")
_ENV = {"HOME": "/tmp/.cache", "MPLCONFIGDIR": "/tmp/.cache", "MPLBACKEND": "Agg", "LANG": "C.UTF-8"}  # noqa: S108
_ENV |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_START, _LONGEST = 30.0, 660.0


class BubblewrapSettings(SandboxSettings):
    """Where bubblewrap is, and what code may use."""

    program: str = Field("bwrap", description="Its name, or a path.")


def arguments(settings: BubblewrapSettings) -> list[str]:
    """Return the command: namespaces of its own, no network, nothing to write on but a small /tmp, no capability."""
    shown = [Path(path) for path in _SYSTEM]
    shown += [Path(sys.prefix), Path(sys.base_prefix), *map(Path, site.getsitepackages())]
    mounts = [part for path in dict.fromkeys(shown) if path.exists() for part in ("--ro-bind", str(path), str(path))]
    variables = [part for name, value in _ENV.items() for part in ("--setenv", name, value)]
    size = str(settings.memory * 1_000_000 // 4)
    return [
        settings.program,
        *("--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL"),
        *("--die-with-parent", "--new-session", "--as-pid-1", "--clearenv", "--hostname", "sandbox"),
        *mounts,
        *("--proc", "/proc", "--dev", "/dev", "--size", size, "--tmpfs", "/tmp", "--chdir", "/tmp"),  # noqa: S108
        *("--remount-ro", "/proc", "--remount-ro", "/"),
        *variables,
        *command([sys.executable], settings, processes=settings.processes),
    ]


class Process:
    """An interpreter behind pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def ask(self, message: bytes) -> bytes:
        """Return the reply. Raises `Lost`."""
        assert self._process.stdin
        try:
            self._process.stdin.write(framed(message))
            await self._process.stdin.drain()
        except OSError as error:
            raise Lost(f"it is gone: {error}") from error
        return await self.message()

    async def message(self) -> bytes:
        """Return the next message. Raises `Lost`."""
        assert self._process.stdout
        try:
            return await self._process.stdout.readexactly(length_of(await self._process.stdout.readexactly(4)))
        except (asyncio.IncompleteReadError, OSError) as error:
            raise Lost("it ended") from error

    async def close(self) -> None:
        """Kill it, and with it all in its namespaces."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.communicate()


class Bubblewrap:
    """Runs code in the process of its run, kept warm; in a throw-away one where that fails."""

    def __init__(self, settings: BubblewrapSettings) -> None:
        self._settings = settings
        self._warm = Warm(self._start, settings.idle)

    async def __aenter__(self) -> Bubblewrap:
        """Start nothing yet."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """End all processes."""
        await self._warm.close()

    async def execute(self, code: Code, call: Call, /) -> Execution:
        """Run code; one that fails, or is stopped, is an execution all the same."""
        seconds = time_for(code, self._settings, call.remaining())
        return await self._warm.execute(getattr(call.run, "id", ""), code, seconds)

    async def _start(self) -> Process:
        pipe = asyncio.subprocess.PIPE
        made = await asyncio.create_subprocess_exec(*arguments(self._settings), stdin=pipe, stdout=pipe, stderr=pipe)
        process = Process(made)
        try:
            async with asyncio.timeout(_START):
                await process.message()
        except (Lost, TimeoutError) as error:
            said = b"" if made.returncode is None or not made.stderr else await made.stderr.read(2000)
            await process.close()
            told = said.decode(errors="replace").strip() or type(error).__name__
            raise Unavailable(f"bubblewrap could not make a sandbox here: {told}") from error
        except BaseException:
            await process.close()
            raise
        return process


def ready(settings: BubblewrapSettings) -> str | None:
    """Say why it cannot work here."""
    if os.name != "posix" or not sys.platform.startswith("linux"):
        return "bubblewrap is for Linux: take plugins.docker"
    if os.geteuid() == 0:
        # In its namespace root is nobody, but to the kernel's files it stays their owner.
        return "bubblewrap does not run code as root: start Leadline as another user, or take plugins.docker"
    if not shutil.which(settings.program):
        return f"there is no {settings.program}: install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap)"
    return None


def _make(settings: BubblewrapSettings, context: Context) -> Bubblewrap:
    return Bubblewrap(settings)


@hookimpl
def leadline_sandboxes() -> Iterator[Offer[Any, Bubblewrap]]:
    """Offer the sandbox."""
    yield Offer(
        _make,
        BubblewrapSettings,
        "Runs Python in namespaces of its own, without an engine (Linux, bubblewrap)",
        ready=ready,
        answers=("timeout", "memory", "processes", "output", "files", "files_size"),
        at_once=4,
        timeout=_LONGEST + GRACE,
    )
