"""Functions in worker processes: parsers of untrusted bytes, and computations that would block the event loop.

A worker is a program of its own (no fork, no import of the user's script). It is killed when a function exceeds its
time limit or is cancelled, and takes nothing with it when a page crashes it. All runs of a process share the workers:
the first one starts with the first call, another one when a call has waited for a while.

The protocol on stdin: length, and pickles of (module path, files of modules) and of (function, arguments, timeout,
memory); on stdout: length and pickle of (outcome, value).
"""

from __future__ import annotations

import asyncio
import atexit
import faulthandler
import logging
import os
import pickle
import resource
import signal
import struct
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from io import BytesIO
from pathlib import Path
from subprocess import PIPE, Popen
from threading import Condition
from types import ModuleType
from typing import IO, Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_MAX_WORKERS = max(2, min(4, os.cpu_count() or 1))
# Seconds that a call waits for a busy worker before another one is started, which costs 0.7 s of CPU.
_PATIENCE = 2.0
# Seconds of wall time for each second of processor time: the machine may have more to do than this.
_WALL = 5.0
# Bytes of memory above which a worker is replaced: what a large document leaves behind.
_GROWN = 160 * 2**20
# Seconds in which a new worker should have replied once: on a busy machine it takes long to import its modules.
_STARTUP = 10.0
# Below the event loop, and not so low that other programs starve the workers.
_NICENESS = 5
# glibc reserves 64 MB of address space for each thread that allocates. The thread of the time limit would take them
# from the memory limit of the function, at a moment that nobody can predict.
_ENVIRONMENT = {"MALLOC_ARENA_MAX": "1"}
_LENGTH = struct.Struct("!Q")
_ORIGINAL_LIMITS = resource.getrlimit(resource.RLIMIT_AS)


class WorkerDied(Exception):
    """The worker process ended during the call, or could not be started."""

    def __init__(self, status: int | None, memory: int | None = None) -> None:
        advice = "; `memory` limits address space, of which runtimes such as V8 reserve more: None sets no limit"
        super().__init__(f"the worker process ended with status {status}{advice if status and memory else ''}")
        self.status = status


class NotPicklable(Exception):
    """The function cannot be imported by its name, or an argument or the result cannot be pickled."""


async def run(function: Callable[..., T], *args: Any, timeout: float, memory: int | None = None) -> T:  # noqa: ASYNC109
    """Return the result of a function in a worker process; raise what it raises.

    `function` is importable by name; it, the arguments and the result are pickled. `timeout`: seconds of processor time
    from the start in the worker; a function that waits ends after five times as many. `memory`: bytes of address space
    that it may add to the worker. Raises TimeoutError, MemoryError, WorkerDied or NotPicklable. If the caller is
    cancelled, the worker is killed.
    """
    result: T = await _pool().call(_Call(partial(function, *args), timeout, memory))
    return result


async def compute(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of a pure function that computes for milliseconds, without blocking the event loop.

    It runs in a worker process if one is running, otherwise in a thread, which competes with the event loop for the
    interpreter. Use `context.in_thread` for code that waits for a disk or a server.
    """
    pool, work = _pool(), partial(function, *args, **kwargs)
    if pool.is_running:
        with suppress(NotPicklable, WorkerDied):  # a function of a notebook; a worker that somebody killed
            result: T = await pool.call(_Call(work))
            return result
    # One thread for all runs: several would only take turns at the interpreter.
    return await asyncio.get_running_loop().run_in_executor(pool.thread, work)


@dataclass(eq=False)
class _Call:
    """A call on its way to a worker and back."""

    function: Callable[[], Any]
    timeout: float | None = None
    memory: int | None = None
    queued: float = field(default_factory=time.monotonic)
    worker: Popen[bytes] | None = None
    cancelled: bool = False


class _Pool:
    """The workers of this process. A thread waits for each: the event loop would read their replies late."""

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1, "leadline-compute")
        # Computations have waiters of their own: they take milliseconds, and would wait behind a hundred documents.
        self._waiters = {
            limited: ThreadPoolExecutor(_MAX_WORKERS, f"leadline-{'worker' if limited else 'computation'}")
            for limited in (True, False)
        }
        self._changed = Condition()
        self._idle: list[Popen[bytes]] = []
        self._count = 0
        # The time before which no further worker is started.
        self._next_start = 0.0
        self._calls: set[_Call] = set()

    @property
    def is_running(self) -> bool:
        """Whether a worker has been started."""
        return self._count > 0

    async def call(self, call: _Call) -> Any:
        """Return the result of a call; see `run`."""
        try:
            waiters = self._waiters[call.timeout is not None]
            return await asyncio.get_running_loop().run_in_executor(waiters, self._call, call)
        except asyncio.CancelledError:
            if call.timeout is not None:
                self._cancel(call)
            raise

    def close(self) -> None:
        for waiters in self._waiters.values():
            waiters.shutdown(wait=False, cancel_futures=True)
        for call in [*self._calls]:
            self._cancel(call)
        with self._changed:
            while self._idle:
                self._end(self._idle.pop())

    def _call(self, call: _Call) -> Any:
        try:
            function = pickle.dumps((call.function, call.timeout, call.memory), pickle.HIGHEST_PROTOCOL)
            message = pickle.dumps((sys.path, _files)), function  # a file is large: not copied once more
        except Exception as error:  # whatever the methods of an argument raise
            raise NotPicklable(str(error)) from error
        with self._changed:
            self._calls.add(call)
        try:
            outcome, value = self._exchange(call, self._acquire(call), message)
        finally:
            with self._changed:
                self._calls.discard(call)
        if outcome == "returned":
            return value
        raise NotPicklable(value) if outcome == "unpicklable" else value

    def _acquire(self, call: _Call) -> Popen[bytes]:
        """Return an idle worker, or a new one if there is none or the call has waited long enough."""
        start = False
        with self._changed:
            while not (self._idle or start or call.cancelled):
                patience = max(call.queued + _PATIENCE, self._next_start) - time.monotonic()
                start = not self._count or (self._count < _MAX_WORKERS and patience <= 0)
                if not start:
                    self._changed.wait(patience if self._count < _MAX_WORKERS else None)
            worker = self._idle.pop() if self._idle else None
            if worker and worker.poll() is not None:  # killed from outside while it was idle
                self._end(worker)
                worker, start = None, True
            if start:
                self._count += 1
                self._next_start = time.monotonic() + _STARTUP
        if start:
            worker = self._start()
        with self._changed:
            if worker and not call.cancelled:
                call.worker = worker
                return worker
            if worker:
                self._end(worker)
        raise WorkerDied(None)

    def _start(self) -> Popen[bytes]:
        try:
            command = [sys.executable, "-P", "-m", "leadline.workers"]
            return Popen(command, env=os.environ | _ENVIRONMENT, stdin=PIPE, stdout=PIPE)  # noqa: S603 - this module
        except (OSError, TypeError) as error:  # no more processes; no interpreter of its own (embedded)
            with self._changed:
                self._count -= 1
                self._changed.notify()
            raise WorkerDied(None) from error

    def _exchange(self, call: _Call, worker: Popen[bytes], message: Sequence[bytes]) -> tuple[str, Any]:
        started, keep = time.monotonic(), False
        try:
            outcome, value = _send_and_receive(worker, message)
            keep = not isinstance(value, MemoryError) and _resident(worker.pid) < _GROWN
        except (EOFError, OSError) as error:
            worker.kill()  # does nothing to one that a limit has ended
            status, limit = worker.wait(), call.timeout
            if limit is not None and (status == -signal.SIGPROF or time.monotonic() - started >= limit * _WALL):
                raise TimeoutError(f"the function took longer than {limit:g} s") from error
            raise WorkerDied(status, call.memory) from error
        finally:
            with self._changed:
                call.worker = None
                self._next_start = min(self._next_start, time.monotonic() + _PATIENCE)
                if keep and not call.cancelled:
                    self._idle.append(worker)
                    self._changed.notify()
                else:
                    self._end(worker)
        return outcome, value

    def _cancel(self, call: _Call) -> None:
        with self._changed:
            call.cancelled = True
            if call.worker:
                call.worker.kill()
            self._changed.notify_all()

    def _end(self, worker: Popen[bytes]) -> None:
        self._count -= 1
        self._changed.notify()
        worker.kill()
        with suppress(OSError):  # flushing what it did not read fails
            worker.communicate()


# Files of modules that are on no path, by the module's name: plugins of one file. Workers get them with each call.
_files: dict[str, str] = {}


class _FileFinder:
    """Finds the modules of `_files`."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return spec_from_file_location(name, _files[name]) if name in _files else None


sys.meta_path.append(_FileFinder)


def module_of(file: Path) -> str:
    """Return the name under which a file can be imported, in this process and in workers; another one once it changed.

    Raises `OSError`.
    """
    text = f"{file}\n".encode() + file.read_bytes()
    name = f"leadline_file_{file.stem}_{sha256(text).hexdigest()[:12]}"
    _files[name] = str(file)
    return name


_pools: list[_Pool] = []
os.register_at_fork(after_in_child=_pools.clear)  # a child has neither the threads nor the workers


def _pool() -> _Pool:
    if not _pools:
        _pools.append(_Pool())
    return _pools[0]


def close() -> None:
    """Kill all workers of this process; the next call starts new ones."""
    while _pools:
        _pools.pop().close()


atexit.register(close)


def _resident(pid: int) -> int:
    """Return the bytes of memory of a process; 0 on systems without /proc."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def _send_and_receive(worker: Popen[bytes], message: Sequence[bytes]) -> tuple[str, Any]:
    assert worker.stdin
    assert worker.stdout
    worker.stdin.write(_LENGTH.pack(sum(map(len, message))))
    worker.stdin.writelines(message)
    worker.stdin.flush()
    reply = _read_message(worker.stdout)
    if reply is None:
        raise EOFError
    try:
        outcome, value = pickle.loads(reply)  # noqa: S301 - from this module, with this user's rights
    except Exception as error:  # noqa: BLE001 - whatever the methods of the result raise
        return "unpicklable", str(error)
    return outcome, value


def _read_message(pipe: IO[bytes]) -> bytes | None:
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(head)
    message = pipe.read(size)
    return message if len(message) == size else None


# --- in the worker -------------------------------------------------------------------------------------------------


def _serve() -> None:
    """Answer calls until the other side closes.

    Prints, warnings and tracebacks of the functions go nowhere: neither into the pipe nor, for a broken document, by
    the thousand to the terminal.
    """
    replies = os.fdopen(os.dup(1), "wb")
    logging.getLogger().addHandler(logging.NullHandler())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash leaves no file
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for this one
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # the limit of processor time ends the process
    sys.modules["__main__"] = ModuleType("__main__")  # a function of the user's script is not one of this module
    os.nice(_NICENESS)  # the event loop comes first
    with Path(os.devnull).open("w") as nowhere:
        for descriptor in (1, 2):
            os.dup2(nowhere.fileno(), descriptor)
        while (call := _read_message(sys.stdin.buffer)) is not None:
            reply = _answer(call, nowhere)
            replies.write(_LENGTH.pack(len(reply)) + reply)
            replies.flush()


def _answer(call: bytes, nowhere: IO[str]) -> bytes:
    parts = BytesIO(call)
    try:  # the pickles come from the process that started this one
        path, files = pickle.load(parts)  # noqa: S301
        _files.update(files)
        sys.path += [entry for entry in path if entry not in sys.path]  # at the end: no file of the user hides a module
        function, timeout, memory = pickle.load(parts)  # noqa: S301
    except Exception as error:  # noqa: BLE001 - a module that cannot be imported here, among others
        return pickle.dumps(("unpicklable", str(error)))
    try:
        if timeout is not None:  # a signal and a thread outside Python also end C code that holds the interpreter
            signal.setitimer(signal.ITIMER_PROF, timeout)
            faulthandler.dump_traceback_later(timeout * _WALL, exit=True, file=nowhere)
        _limit_memory(memory)
        outcome, value = "returned", function()
    except Exception as error:  # noqa: BLE001 - raised in the caller
        outcome, value = "raised", error
    finally:
        _limit_memory(None)
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
    return _pickle_reply(outcome, value)


def _limit_memory(more: int | None) -> None:
    """Limit the address space to its present size and so many bytes more; None restores the original limit."""
    soft, hard = _ORIGINAL_LIMITS
    if more is not None:
        with suppress(OSError):  # systems without /proc do not enforce the limit either
            limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + more
            soft = limit if soft == resource.RLIM_INFINITY else min(soft, limit)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _pickle_reply(outcome: str, value: Any) -> bytes:
    try:
        reply = pickle.dumps((outcome, value), pickle.HIGHEST_PROTOCOL)
        if outcome == "raised":
            pickle.loads(reply)  # noqa: S301 - some errors can be pickled but not restored
    except Exception as error:  # noqa: BLE001 - whatever the methods of the value raise
        if outcome == "raised":
            return pickle.dumps(("raised", RuntimeError(f"{type(value).__name__}: {value}")))
        return pickle.dumps(("unpicklable", str(error)))
    return reply


if __name__ == "__main__":
    _serve()
