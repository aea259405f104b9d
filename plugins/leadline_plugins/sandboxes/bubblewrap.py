"""Sandbox `bubblewrap`: runs code in Linux namespaces, without a container engine; it needs the program `bwrap`.

The interpreter is the running one, mounted read-only. Code can create no namespaces of its own, and a filter denies
system calls that it does not need (`seccomp`). Memory is limited per process, not in total, which only the control
group of a container can do.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import site
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pydantic import Field

from leadline.errors import Unavailable
from leadline.plugin import Limits, sandbox
from leadline_plugins.sandboxes import seccomp
from leadline_plugins.sandboxes.interpreters import InterpreterLost, PooledSandbox, message_length, with_length
from leadline_plugins.sandboxes.limits import GRACE, SandboxSettings, command

_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/alternatives", "/etc/ld.so.cache")
_ENV = {"HOME": "/tmp/.cache", "MPLCONFIGDIR": "/tmp/.cache", "MPLBACKEND": "Agg", "LANG": "C.UTF-8"}  # noqa: S108
_ENV |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_START, _LONGEST = 30.0, 660.0


class BubblewrapSettings(SandboxSettings):
    """The program, and the limits of code."""

    authority = {"program": "a program"}

    program: str = Field("bwrap", description="name or path of the program")


def arguments(settings: BubblewrapSettings, options: Sequence[str] = ()) -> list[str]:
    """Return the command: own namespaces, no network, no capabilities, and only a small /tmp to write to."""
    visible = [Path(path) for path in _SYSTEM]
    visible += [Path(sys.prefix), Path(sys.base_prefix), *map(Path, site.getsitepackages())]
    mounts = [part for path in dict.fromkeys(visible) if path.exists() for part in ("--ro-bind", str(path), str(path))]
    variables = [part for name, value in _ENV.items() for part in ("--setenv", name, value)]
    size = str(settings.memory * 1_000_000 // 4)
    return [
        settings.program,
        *options,
        *("--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL"),
        *("--die-with-parent", "--new-session", "--as-pid-1", "--clearenv", "--hostname", "sandbox"),
        *("--proc", "/proc", "--dev", "/dev", "--size", size, "--tmpfs", "/tmp"),  # noqa: S108
        *mounts,  # after /tmp, where the virtual environment may be
        *("--chdir", "/tmp"),  # noqa: S108
        # /dev is a file system of its own, with /dev/shm in it: writable, it has no limit and outlives an execution.
        *("--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/"),
        *variables,
        *command([sys.executable], settings, processes=settings.processes),
    ]


class Process:
    """An interpreter connected by pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def ask(self, message: bytes) -> bytes:
        """Return the reply. Raises `InterpreterLost`."""
        assert self._process.stdin
        try:
            self._process.stdin.write(with_length(message))
            await self._process.stdin.drain()
        except OSError as error:
            raise InterpreterLost(f"it is gone: {error}") from error
        return await self.message()

    async def message(self) -> bytes:
        """Return the next message. Raises `InterpreterLost`."""
        assert self._process.stdout
        try:
            return await self._process.stdout.readexactly(message_length(await self._process.stdout.readexactly(4)))
        except (asyncio.IncompleteReadError, OSError) as error:
            raise InterpreterLost("it ended") from error

    async def close(self) -> None:
        """Kill the process, and with it all in its namespaces."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.communicate()


class Bubblewrap(PooledSandbox):
    """Runs code in processes."""

    def __init__(self, settings: BubblewrapSettings) -> None:
        super().__init__(settings, partial(start_process, settings))


async def start_process(settings: BubblewrapSettings) -> Process:
    """Return a new interpreter. Raises `Unavailable` if namespaces cannot be created."""
    pipe = asyncio.subprocess.PIPE
    options = ["--disable-userns"] if await _disables_namespaces(settings.program) else []
    filter_end = _pipe_with(seccomp.program() or b"")
    try:
        made = await asyncio.create_subprocess_exec(
            *arguments(settings, [*options, "--seccomp", str(filter_end)]),
            stdin=pipe, stdout=pipe, stderr=pipe, pass_fds=(filter_end,),
        )  # fmt: skip
    finally:
        os.close(filter_end)
    process = Process(made)
    try:
        async with asyncio.timeout(_START):
            await process.message()
    except (InterpreterLost, TimeoutError) as error:
        errors = b"" if made.returncode is None or not made.stderr else await made.stderr.read(2000)
        await process.close()
        reason = errors.decode(errors="replace").strip() or type(error).__name__
        raise Unavailable(f"bubblewrap could not create a sandbox here: {reason}") from error
    except BaseException:
        await process.close()
        raise
    return process


async def _disables_namespaces(program: str) -> bool:
    """Return whether the program has `--disable-userns` (0.8.0, 2023). The filter denies nested namespaces as well."""
    pipe = asyncio.subprocess.PIPE
    asked = await asyncio.create_subprocess_exec(program, "--help", stdin=pipe, stdout=pipe, stderr=pipe)
    return any(b"--disable-userns" in text for text in await asked.communicate())


def _pipe_with(data: bytes) -> int:
    """Return the end of a pipe from which the data can be read; it has room for them."""
    read, write = os.pipe()
    with os.fdopen(write, "wb") as file:
        file.write(data)
    return read


def ready(settings: BubblewrapSettings) -> str | None:
    """Return why the sandbox cannot work here; None if it can."""
    if os.name != "posix" or not sys.platform.startswith("linux"):
        return "bubblewrap needs Linux: use plugins.docker"
    if os.geteuid() == 0:
        # In its namespace root has no rights, but it still owns the files of the kernel.
        return "bubblewrap does not run code as root: start Leadline as another user, or use plugins.docker"
    if seccomp.program() is None:
        return f"bubblewrap has no filter of system calls for {platform.machine()} here: use plugins.docker"
    if not shutil.which(settings.program):
        return f"{settings.program} is missing: install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap)"
    return None


sandbox(
    "Runs Python in Linux namespaces, without a container engine (bubblewrap)",
    settings=BubblewrapSettings,
    ready=ready,
    cache_key=("timeout", "memory", "processes", "output", "files", "files_size"),
    limits=Limits(at_once=4, timeout=_LONGEST + GRACE),
)(Bubblewrap)
