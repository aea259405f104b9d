"""Processes that parse HTML, so that the event loop and the other runs go on meanwhile.

Parsing is Python's own work, and threads that do it hold the interpreter: with eight of them the loop stood still for
most of a second. A process is also bounded: one that hangs or dies on a monstrous page is ended, and takes nothing
with it. They are programs of their own (no fork, no import of the user's script), begun at the first page.

A thread waits at each process. Read by the event loop, a page took some turns of it, and where 32 runs made those long
the processes stood idle: pages waited for 5 s in the middle and 15 s at worst.
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from subprocess import PIPE, Popen

from leadline import errors
from leadline.records import Blob, Document

LENGTHS = struct.Struct("!II")
"""Before each message: bytes of its header in JSON, and of what follows that."""
_SECONDS = 25.0
"""That one page may take."""
_COMMAND = ("-P", "-m", "leadline_plugins.parse.worker")


class _Page:
    """A page on its way through a process."""

    def __init__(self, blob: Blob) -> None:
        self.blob = blob
        self.process: Popen[bytes] | None = None

    def give_up(self) -> None:
        """End the process that is at it."""
        if process := self.process:
            process.kill()


class Workers:
    """At most `count` processes, each of which ends itself where a page takes it longer than `seconds`."""

    def __init__(self, count: int, seconds: float = _SECONDS) -> None:
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="leadline-parse")
        self._seconds = seconds
        self._idle: list[Popen[bytes]] = []

    async def parse(self, blob: Blob) -> Document:
        """Parse in the next free process; raises what parsing raises, `BadReply` where the process died of it."""
        page = _Page(blob)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._parse, page)
        except asyncio.CancelledError:
            page.give_up()
            raise

    async def close(self) -> None:
        """End all processes."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        while self._idle:
            _end(self._idle.pop())

    def _parse(self, page: _Page) -> Document:
        process = page.process = self._free()
        began = time.monotonic()
        try:
            told, body = _ask(process, page.blob)
        except (EOFError, OSError) as error:
            _end(process)
            if time.monotonic() - began >= self._seconds:
                raise errors.Unsupported(f"{page.blob.name}: was not parsed within {self._seconds:g} s") from error
            raise errors.BadReply(f"{page.blob.name}: the parser died of it ({process.returncode})") from error
        page.process = None
        self._idle.append(process)
        if told:
            raise _error(told)
        return Document.model_validate_json(body)

    def _free(self) -> Popen[bytes]:
        while self._idle:
            process = self._idle.pop()
            if process.poll() is None:
                return process
            _end(process)
        command = [sys.executable, *_COMMAND, str(self._seconds)]
        return Popen(command, stdin=PIPE, stdout=PIPE)  # noqa: S603 - a program of this package


def _ask(process: Popen[bytes], blob: Blob) -> tuple[dict[str, str], bytes]:
    assert process.stdin
    header = json.dumps({"name": blob.name, "media_type": blob.media_type}).encode()
    process.stdin.write(LENGTHS.pack(len(header), len(blob.data)) + header)
    process.stdin.write(blob.data)
    process.stdin.flush()
    told, size = LENGTHS.unpack(_read(process, LENGTHS.size))
    return json.loads(_read(process, told)), _read(process, size)


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


def _error(told: dict[str, str]) -> errors.ProviderError:
    kind: type[errors.ProviderError] = getattr(errors, told["error"], errors.BadReply)
    return kind(told["message"])
