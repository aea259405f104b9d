"""Messages to a run from other processes: stop, cancel, an answer. They are files in the folder `.inbox` of the run.

The sender writes `ID.json`; the process that works on the run replaces it by `ID.reply`, which may have an error.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Literal

from pydantic import ValidationError

from leadline._runtime.runs.folder import LOCK, write_atomically
from leadline.errors import AlreadyAnswered, LeadlineError, UsageError
from leadline.records import Answer, Record

INBOX = ".inbox"
# Seconds between two looks into the folder, on either side.
_INTERVAL = 0.25
# Seconds in which a running run takes a message.
_PATIENCE = 15.0


class Message(Record):
    """A message to a run."""

    action: Literal["stop", "cancel", "answer"]
    reason: str = ""
    question_id: str = ""
    answer: Answer | None = None


class _Reply(Record):
    error: str = ""
    kind: str = ""


async def send(folder: Path, message: Message, is_active: Callable[[], bool]) -> None:
    """Send a message to a run of another process and wait until it was taken.

    Raises the errors of `RunHandle.answer`, and `LeadlineError` if the run ends first or does not take the message.
    """
    inbox, name = folder / INBOX, token_hex(8)
    request, reply = inbox / f"{name}.json", inbox / f"{name}.reply"
    await asyncio.to_thread(write_atomically, request, message.model_dump_json().encode())
    end = time.monotonic() + _PATIENCE
    try:
        while not await asyncio.to_thread(reply.exists):
            if not await asyncio.to_thread(is_active) and not reply.exists():
                raise LeadlineError(f"the run in {folder} ended before it took the message")
            if time.monotonic() > end:
                raise LeadlineError(f"the run in {folder} did not take the message within {_PATIENCE:g} s")
            await asyncio.sleep(_INTERVAL)
        taken = _Reply.model_validate_json(await asyncio.to_thread(reply.read_bytes))
    finally:
        for path in (request, reply):
            with suppress(OSError):
                path.unlink(missing_ok=True)
    if taken.kind == AlreadyAnswered.__name__:
        raise AlreadyAnswered(message.question_id)
    if taken.error:
        raise (UsageError if taken.kind == UsageError.__name__ else LeadlineError)(taken.error)


async def receive(folder: Path, handle: Callable[[Message], Awaitable[None]]) -> None:
    """Handle the messages to a run until this is cancelled."""
    inbox = folder / INBOX
    while True:
        await asyncio.sleep(_INTERVAL)
        for path in sorted(inbox.glob("*.json")):
            with suppress(OSError):  # of a sender that gave up meanwhile
                if path.stat().st_mtime_ns >= (folder / LOCK).stat().st_mtime_ns:  # else it is for an earlier session
                    reply = await _handled(path.read_bytes(), handle)
                    write_atomically(path.with_suffix(".reply"), reply.model_dump_json().encode())
                path.unlink(missing_ok=True)


async def _handled(data: bytes, handle: Callable[[Message], Awaitable[None]]) -> _Reply:
    try:
        await handle(Message.model_validate_json(data))
    except (LeadlineError, ValidationError) as error:
        return _Reply(error=str(error), kind=type(error).__name__)
    return _Reply()
