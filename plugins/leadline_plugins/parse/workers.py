"""Processes that parse HTML, so that the event loop and the other runs go on meanwhile.

Parsing is Python's own work, and threads that do it hold the interpreter: with eight of them the loop stood still for
most of a second. A process is also bounded: one that hangs or dies on a monstrous page is ended, and takes nothing
with it. They are programs of their own (no fork, no import of the user's script), begun at the first page.
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
from asyncio.subprocess import PIPE, Process

from leadline import errors
from leadline.records import Blob, Document

LENGTHS = struct.Struct("!II")
"""Before each message: bytes of its header in JSON, and of what follows that."""
_SECONDS = 25.0
"""That one page may take."""
_COMMAND = ("-P", "-m", "leadline_plugins.parse.worker")


class Workers:
    """At most `count` processes; close them on the loop that used them."""

    def __init__(self, count: int, seconds: float = _SECONDS) -> None:
        self._slots = asyncio.Semaphore(count)
        self._seconds = seconds
        self._idle: list[Process] = []

    async def parse(self, blob: Blob) -> Document:
        """Parse in the next free process; raises what parsing raises, `BadReply` where the process died of it."""
        async with self._slots:
            process = self._idle.pop() if self._idle else await _start()
            try:
                async with asyncio.timeout(self._seconds):
                    told, body = await _ask(process, blob)
            except (asyncio.IncompleteReadError, ConnectionError) as error:
                await _end(process)
                raise errors.BadReply(f"{blob.name}: the parser died of it ({process.returncode})") from error
            except TimeoutError as error:
                await _end(process)
                raise errors.Unsupported(f"{blob.name}: was not parsed within {self._seconds:g} s") from error
            except asyncio.CancelledError:
                await _end(process)
                raise
            self._idle.append(process)
        if told:
            raise _error(told)
        return Document.model_validate_json(body)

    async def close(self) -> None:
        """End all processes."""
        while self._idle:
            await _end(self._idle.pop())


async def _start() -> Process:
    return await asyncio.create_subprocess_exec(sys.executable, *_COMMAND, stdin=PIPE, stdout=PIPE)


async def _ask(process: Process, blob: Blob) -> tuple[dict[str, str], bytes]:
    assert process.stdin
    assert process.stdout
    header = json.dumps({"name": blob.name, "media_type": blob.media_type}).encode()
    process.stdin.write(LENGTHS.pack(len(header), len(blob.data)) + header)
    process.stdin.write(blob.data)
    await process.stdin.drain()
    told, size = LENGTHS.unpack(await process.stdout.readexactly(LENGTHS.size))
    return json.loads(await process.stdout.readexactly(told)), await process.stdout.readexactly(size)


async def _end(process: Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()
    if process.stdin:
        process.stdin.close()


def _error(told: dict[str, str]) -> errors.ProviderError:
    kind: type[errors.ProviderError] = getattr(errors, told["error"], errors.BadReply)
    return kind(told["message"])
