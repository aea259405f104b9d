"""Processes that do functions, so that the event loop and the other runs go on meanwhile.

What Python computes holds the interpreter: with eight threads of it the loop stood still for most of a second. A
process is also bounded: one that hangs or dies on a monstrous page is ended, and takes nothing with it. They are
programs of their own (no fork, no import of the user's script), begun when they are first needed.

A thread waits at each process. Read by the event loop, an answer took some turns of it, and where 32 runs made those
long the processes stood idle: pages waited for 5 s in the middle and 15 s at worst.
"""

from __future__ import annotations

import asyncio
import pickle
import struct
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from subprocess import PIPE, Popen
from typing import Any, Literal, TypeVar

T = TypeVar("T")
LENGTH = struct.Struct("!Q")
"""Before each message: its bytes."""
_COMMAND = ("-P", "-m", "leadline.worker")


@dataclass(frozen=True)
class Answer:
    """What a process says of a call. `unknown`: it cannot import what it was sent."""

    how: Literal["returned", "raised", "unknown"]
    value: Any


class Died(Exception):
    """The process ended in the middle of a call; `late`: because the call took longer than it may."""

    def __init__(self, status: int | None, *, late: bool) -> None:
        super().__init__(f"the process ended with status {status}")
        self.status = status
        self.late = late


class Unknown(Exception):
    """A process cannot be told of a function or its arguments: they are not importable by name, or hold what stays."""


class _Call:
    """A call on its way through a process."""

    process: Popen[bytes] | None = None

    def give_up(self) -> None:
        """End the process that is at it."""
        if process := self.process:
            process.kill()


class Workers:
    """At most `count` processes. With `seconds`, a call that takes longer ends its process; so does cancelling it."""

    def __init__(self, count: int, seconds: float = 0.0) -> None:
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="leadline-worker")
        self._seconds = seconds
        self._idle: list[Popen[bytes]] = []

    async def do(self, function: Callable[..., T], *args: Any) -> T:
        """Return what a function returns in the next free process, and raise what it raises.

        Function and arguments go there by pickle, so the function is one of an installed module. Raises `Unknown` where
        they cannot, `Died` where the process ends over it.
        """
        call = _Call()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._do, call, function, args)
        except asyncio.CancelledError:
            if self._seconds:
                call.give_up()
            raise

    def begin(self) -> None:
        """Begin one process now, where none is idle: what it imports is ready when it is needed."""
        if not self._idle:
            self._idle.append(self._begun())

    def close(self) -> None:
        """End all processes."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        while self._idle:
            _end(self._idle.pop())

    def _do(self, call: _Call, function: Callable[..., T], args: tuple[Any, ...]) -> T:
        message = _message(function, args)
        process = call.process = self._free()
        began = time.monotonic()
        try:
            answer = _ask(process, message)
        except (EOFError, OSError) as error:
            _end(process)
            late = bool(self._seconds) and time.monotonic() - began >= self._seconds
            raise Died(process.returncode, late=late) from error
        call.process = None
        self._idle.append(process)
        if answer.how == "unknown":
            raise Unknown(str(answer.value))
        if answer.how == "raised":
            raise answer.value
        value: T = answer.value
        return value

    def _free(self) -> Popen[bytes]:
        while self._idle:
            process = self._idle.pop()
            if process.poll() is None:
                return process
            _end(process)
        return self._begun()

    def _begun(self) -> Popen[bytes]:
        command = [sys.executable, *_COMMAND, str(self._seconds)]
        return Popen(command, stdin=PIPE, stdout=PIPE)  # noqa: S603 - a program of this package


def _message(function: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    try:
        return pickle.dumps((function, args), pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise Unknown(str(error)) from error


def _ask(process: Popen[bytes], message: bytes) -> Answer:
    assert process.stdin
    process.stdin.write(LENGTH.pack(len(message)))
    process.stdin.write(message)
    process.stdin.flush()
    (size,) = LENGTH.unpack(_read(process, LENGTH.size))
    answer = pickle.loads(_read(process, size))  # noqa: S301 - of a program of this package, with this user's rights
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
