"""Between a run and other processes: the pieces of streamed replies for them, and their messages to the run.

Pieces go through a Unix socket in the folder of the run. They are worth nothing once their reply has returned, so they
are neither stored nor sent again: a reader that comes gets the replies in flight from their beginning, and without a
reader no reply need be streamed.

Messages (stop, cancel, an answer) are files in the folder `.inbox`: the sender writes `ID.json`; the process that works
on the run replaces it by `ID.reply`, which may have an error.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Literal

from pydantic import ValidationError

from leadline._runtime.event_bus import Bus
from leadline._runtime.runs.folder import LIVE, LOCK, write_atomically
from leadline.errors import AlreadyAnswered, LeadlineError, UsageError
from leadline.records import Answer, Event, Record

# Seconds from the start of a session in which readers are expected: replies are streamed as if one had come.
_EXPECTED = 3.0
# Bytes that wait for a reader; one that takes its pieces more slowly is left.
_WAITING = 1_000_000
# The longest path of a socket on any system; a longer one is reached through its folder, which only Linux can.
_LONGEST = 100
# Seconds for which a piece waits for the events before it. They may never come: the file is off or cannot be written.
_HELD = 1.0
_PIECE = 65_536
log = logging.getLogger(__name__)


class LiveText:
    """The end of the run: create it when the session begins, then `send` until the session has ended."""

    def __init__(self, bus: Bus, folder: Path) -> None:
        self._bus, self._folder = bus, folder
        expected = bus.subscribe(deltas=True)
        asyncio.get_running_loop().call_later(_EXPECTED, expected.close)

    async def send(self) -> None:
        """Serve readers until this is cancelled. A folder that can have no socket has no live text."""
        path = self._folder / LIVE
        listener = socket.socket(socket.AF_UNIX)
        try:
            path.unlink(missing_ok=True)  # of a process that was killed
            with _address(self._folder) as address:
                listener.bind(address)
            path.chmod(0o600)
            own = path.lstat()
            server = await asyncio.start_unix_server(self._serve, sock=listener)
        except OSError as error:
            listener.close()
            log.info("the text of the run %s cannot be followed by other processes: %s", self._folder.name, error)
            return
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            server.close()
            with suppress(OSError):
                if os.path.samestat(path.lstat(), own):  # else another session has the run
                    path.unlink()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pieces = self._bus.subscribe(deltas=True)
        left = asyncio.create_task(reader.read(1), name="reader of live text")
        left.add_done_callback(lambda _: pieces.close())
        try:
            async for event in pieces:
                if event.kind == "call.delta":
                    if writer.transport.get_write_buffer_size() > _WAITING:
                        break
                    writer.write(event.model_dump_json().encode() + b"\n")
        finally:
            left.cancel()
            pieces.close()
            writer.close()


class LiveReader:
    """The end of a reader. Its methods do not block.

    Pieces come in their order among the events of the run: each follows the event whose number it has.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._socket: socket.socket | None = None
        self._rest = b""
        self._held: deque[tuple[float, Event]] = deque()
        # Set when the connection ended: what was missed cannot be had, so it is opened again only for a new session.
        self._lost = False

    def close(self) -> None:
        """End the connection."""
        if self._socket:
            self._socket.close()
            self._socket = None

    def among(self, events: list[Event], last: int) -> Iterator[Event]:
        """Yield the events that were read from the file, up to the number `last`, and the pieces among them."""
        self._receive()
        for event in events:
            yield from self._before(event.seq)
            yield event
            if event.kind == "run.started":
                self._lost = False
        yield from self._before(last + 1)

    def _before(self, seq: int) -> Iterator[Event]:
        late = time.monotonic() - _HELD
        while self._held and (self._held[0][1].seq < seq or self._held[0][0] < late):
            yield self._held.popleft()[1]

    def _receive(self) -> None:
        try:
            if self._socket is None and not self._lost:
                self._connect()
            while self._socket:
                data = self._socket.recv(_PIECE)
                if not data:
                    raise ConnectionResetError
                *lines, self._rest = (self._rest + data).split(b"\n")
                now = time.monotonic()
                self._held.extend((now, Event.model_validate_json(line)) for line in lines)
        except BlockingIOError:
            return
        except OSError:
            self._lost = self._socket is not None
            self._rest = b""
            self.close()

    def _connect(self) -> None:
        connecting = socket.socket(socket.AF_UNIX)
        try:
            connecting.setblocking(False)
            with _address(self._folder) as address:
                connecting.connect(address)
        except OSError:
            connecting.close()
            raise
        self._socket = connecting


@contextmanager
def _address(folder: Path) -> Iterator[str]:
    path = folder / LIVE
    if len(os.fsencode(path)) <= _LONGEST:
        yield str(path)
        return
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{opened}/{LIVE}"
    finally:
        os.close(opened)


# --- messages to a run ------------------------------------------------------------------------------------------------


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

    Raises the errors of `Run.answer`, and `LeadlineError` if the run ends first or does not take the message.
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


async def receive(folder: Path, handle: Callable[[Message], Awaitable[None]], is_current: Callable[[], bool]) -> None:
    """Handle the messages to a run until this is cancelled, or another session has the run."""
    inbox = folder / INBOX
    while await asyncio.sleep(_INTERVAL, result=True) and is_current():
        for path in sorted(inbox.glob("*.json")):
            with suppress(OSError, LeadlineError):  # of a sender that gave up meanwhile; a full disk
                if path.stat().st_mtime_ns >= (folder / LOCK).stat().st_mtime_ns:  # else it is for an earlier session
                    reply = _Reply()
                    try:
                        await handle(Message.model_validate_json(path.read_bytes()))
                    except (LeadlineError, ValidationError) as error:
                        reply = _Reply(error=str(error), kind=type(error).__name__)
                    write_atomically(path.with_suffix(".reply"), reply.model_dump_json().encode())
                path.unlink(missing_ok=True)
