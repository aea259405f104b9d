"""Processes that do functions, so that the event loop and the other runs go on meanwhile.

What Python computes holds the interpreter: with eight threads of it the loop stood still for most of a second. A
process is also bounded: one that hangs or dies on a monstrous page is ended, and takes nothing with it. They are
programs of their own (no fork, no import of the user's script), begun when they are first needed.

A thread waits at each process. Read by the event loop, an answer took some turns of it, and where 32 runs made those
long the processes stood idle: pages waited for 5 s in the middle and 15 s at worst.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import struct
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from subprocess import PIPE, Popen
from threading import Lock
from typing import Any, Literal, TypeVar

T = TypeVar("T")
LENGTH = struct.Struct("!Q")
"""Before each message: its bytes."""
_COMMAND = ("-P", "-m", "leadline.concurrency.worker")


@dataclass(frozen=True)
class Answer:
    """What a process says of a call. `unknown`: what was sent or what came of it cannot travel, and why."""

    how: Literal["returned", "raised", "unknown"]
    value: Any


class Died(Exception):
    """There is no process, or it ended in the middle of a call; `late`: because the call took longer than it may."""

    def __init__(self, status: int | None, *, late: bool = False) -> None:
        super().__init__(f"the process ended with status {status}")
        self.status = status
        self.late = late


class Unknown(Exception):
    """A call cannot be done elsewhere: the function is not importable by name, or something of it cannot be pickled."""


@dataclass
class _Call:
    """A call on its way through a process; changed under the lock of its workers."""

    process: Popen[bytes] | None = None
    given_up: bool = False


class Workers:
    """At most `count` processes. With `seconds`, a call that takes longer ends its process; so does cancelling it."""

    def __init__(self, count: int, seconds: float = 0.0) -> None:
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="leadline-worker")
        self._seconds = seconds
        self._lock = Lock()
        self._idle: list[Popen[bytes]] = []
        self._busy: set[Popen[bytes]] = set()
        self._closed = False
        self._owner = os.getpid()

    async def do(self, function: Callable[..., T], *args: Any) -> T:
        """Return what a function returns in the next free process, and raise what it raises.

        Function, arguments and result travel by pickle, so the function is one of an installed module. Raises `Unknown`
        where they cannot, `Died` where the process ends over it or none can be begun.
        """
        call = _Call()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._do, call, function, args)
        except asyncio.CancelledError:
            if self._seconds:
                self._give_up(call)
            raise

    def begin(self) -> None:
        """Begin one process now, where none is idle: what it imports is ready when it is needed. Raises `Died`."""
        if not self._idle:
            self._idle.append(self._begun())

    def close(self) -> None:
        """End all processes, those that are at something too."""
        if os.getpid() != self._owner:
            return  # a child by fork: they are its parent's
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._closed, idle = True, self._idle
            self._idle = []
            for process in self._busy:
                process.kill()  # who waits for it sees to the rest
        for process in idle:
            _end(process)

    def _do(self, call: _Call, function: Callable[..., T], args: tuple[Any, ...]) -> T:
        message = _message(function, args)
        process = self._taken(call)
        began = time.monotonic()
        try:
            told = _ask(process, message)
        except (EOFError, OSError) as error:
            self._let_go(call, process, alive=False)
            late = bool(self._seconds) and time.monotonic() - began >= self._seconds
            raise Died(process.returncode, late=late) from error
        self._let_go(call, process, alive=True)
        answer = _read_here(told)
        if answer.how == "unknown":
            raise Unknown(answer.value)
        if answer.how == "raised":
            raise answer.value
        value: T = answer.value
        return value

    def _taken(self, call: _Call) -> Popen[bytes]:
        """Return a process for a call; raises `Died` where it is not wanted any more."""
        process = self._free() or self._begun()
        with self._lock:
            if not (self._closed or call.given_up):
                call.process = process
                self._busy.add(process)
                return process
        _end(process)
        raise Died(process.returncode)

    def _free(self) -> Popen[bytes] | None:
        while True:
            with self._lock:
                process = self._idle.pop() if self._idle else None
            if process is None or process.poll() is None:
                return process
            _end(process)

    def _let_go(self, call: _Call, process: Popen[bytes], *, alive: bool) -> None:
        with self._lock:
            call.process = None
            self._busy.discard(process)
            if keep := alive and not self._closed:
                self._idle.append(process)
        if not keep:
            _end(process)

    def _give_up(self, call: _Call) -> None:
        """End the process that is at a call; one that is being taken for it is let go again."""
        with self._lock:
            call.given_up = True
            if call.process:
                call.process.kill()

    def _begun(self) -> Popen[bytes]:
        try:
            command = [sys.executable, *_COMMAND, str(self._seconds)]
            return Popen(command, stdin=PIPE, stdout=PIPE)  # noqa: S603 - a program of this package
        except (OSError, TypeError) as error:  # no more processes; no interpreter of its own (embedded)
            raise Died(None) from error


def _message(function: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    try:
        return pickle.dumps((function, args), pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # whatever an object's own methods raise
        raise Unknown(str(error)) from error


def _ask(process: Popen[bytes], message: bytes) -> bytes:
    assert process.stdin
    process.stdin.write(LENGTH.pack(len(message)))
    process.stdin.write(message)
    process.stdin.flush()
    (size,) = LENGTH.unpack(_read(process, LENGTH.size))
    return _read(process, size)


def _read_here(told: bytes) -> Answer:
    try:
        answer = pickle.loads(told)  # noqa: S301 - of a program of this package, with this user's rights
    except Exception as error:  # noqa: BLE001 - as above
        return Answer("unknown", str(error))
    assert isinstance(answer, Answer)
    return answer


def _read(process: Popen[bytes], size: int) -> bytes:
    assert process.stdout
    data = process.stdout.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _end(process: Popen[bytes]) -> None:
    process.kill()
    with suppress(OSError):  # what it was not sent is flushed in vain
        process.communicate()
