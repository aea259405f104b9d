"""Programs that write formats: given their input, heard to their end, and ended when the time of the call is up."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE

from leadline.contracts import Call
from leadline.errors import BadReply


async def run(command: tuple[str, ...], given: bytes, what: str, call: Call) -> bytes:
    """Return what a program writes of what it is given.

    It is ended when the call is cancelled or its time is up. Raises `BadReply` where it fails, with what it said;
    `what` is what could not be done.
    """
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    try:
        async with asyncio.timeout(call.remaining()):
            made, said = await process.communicate(given)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise BadReply(f"{what}: {said.decode('utf-8', 'replace').strip()[:500] or f'ended by {process.returncode}'}")
    return made
