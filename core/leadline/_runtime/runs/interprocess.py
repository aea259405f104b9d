"""Between a run and other processes: the pieces of streamed replies for them, and their messages to the run.

Pieces go through a Unix socket in the folder of the run, or through TCP if a store keeps the run: a reader sends the
password first. They are worth nothing once their reply has returned, so they
are neither stored nor sent again: a reader that comes gets the replies in flight from their beginning, and without a
reader no reply need be streamed.

Messages (stop, cancel, an answer) are files in the folder `.inbox`: the sender writes `ID.json`; the process that works
on the run replaces it by `ID.reply`, which may have an error. A store has a mailbox in place of the folder.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import socket
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Literal

from pydantic import ValidationError

from leadline._runtime.event_bus import Bus
from leadline._runtime.runs.folder import LIVE, LOCK, write_atomically
from leadline.errors import AlreadyAnswered, LeadlineError, UsageError
from leadline.records import Answer, Event, Record
from leadline.stores import Mailbox, RunStore, store_of

# Seconds from the start of a session in which readers are expected: replies are streamed as if one had come.
_EXPECTED = 3.0
# Bytes that wait for a reader; one that takes its pieces more slowly is left.
_WAITING = 1_000_000
# The longest path of a socket on any system; a longer one is reached through its folder, which only Linux can.
_LONGEST = 100
# Seconds for which a piece waits for the events before it. They may never come: the file is off or cannot be written.
_HELD = 1.0
_PIECE = 65_536
# Seconds in which a reader must send the password.
_GREETING = 5.0
log = logging.getLogger(__name__)


class LiveText:
    """The end of the run: create it when the session begins, then `send` until the session has ended."""

    def __init__(self, bus: Bus, folder: Path) -> None:
        self._bus, self._folder = bus, folder
        self._password = b""
        expected = bus.subscribe(deltas=True)
        asyncio.get_running_loop().call_later(_EXPECTED, expected.close)

    async def send(self) -> None:
        """Serve readers until this is cancelled. A folder that can have no socket has no live text."""
        if store := store_of(self._folder):
            await self._send_over_tcp(store)
            return
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

    async def _send_over_tcp(self, store: RunStore) -> None:
        bound, advertised = store.live_host()
        self._password = token_hex(16).encode()
        try:
            server = await asyncio.start_server(self._serve, bound, 0)
        except OSError as error:
            log.warning("the text of the run %s cannot be followed: runs.live: %s", self._folder.name, error)
            return
        try:
            address = f"{advertised} {server.sockets[0].getsockname()[1]} {self._password.decode()}"
            await asyncio.to_thread(store.set_live, self._folder, address)
            await asyncio.get_running_loop().create_future()
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                async with asyncio.timeout(_GREETING):
                    sent = await reader.readexactly(len(self._password))
                if hmac.compare_digest(sent, self._password):
                    await self._send_pieces(reader, writer)
        finally:
            writer.close()

    async def _send_pieces(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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


class LiveReader:
    """The end of a reader. Its methods do not block.

    Pieces come in their order among the events of the run: each follows the event whose number it has.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._socket: socket.socket | None = None
        self._greeting = self._rest = b""
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
            if self._socket and self._greeting:
                self._socket.send(self._greeting)
                self._greeting = b""
            while self._socket:
                data = self._socket.recv(_PIECE)
                if not data:
                    raise ConnectionResetError
                *lines, self._rest = (self._rest + data).split(b"\n")
                now = time.monotonic()
                self._held.extend((now, Event.model_validate_json(line)) for line in lines)
        except BlockingIOError:
            return
        except (OSError, ValueError):  # or somebody else has the address by now
            self._lost = self._socket is not None
            self._rest = b""
            self.close()

    def _connect(self) -> None:
        if store := store_of(self._folder):
            if address := store.live(self._folder):
                host, port, password = address.split()
                self._socket, self._greeting = socket.socket(), password.encode()
                self._socket.setblocking(False)
                self._socket.connect_ex((host, int(port)))
            return
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


class _Folder:
    """The mailbox of a run in its folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder / INBOX, folder / LOCK

    def send(self, name: str, text: bytes) -> None:
        write_atomically(self._folder / f"{name}.json", text)

    def messages(self) -> Sequence[tuple[str, bytes]]:
        known = []
        for path in sorted(self._folder.glob("*.json")):
            with suppress(OSError):  # of a sender that gave up meanwhile
                if path.stat().st_mtime_ns >= self._lock.stat().st_mtime_ns:
                    known.append((path.stem, path.read_bytes()))
                else:  # it is for an earlier session
                    path.unlink()
        return known

    def reply(self, name: str, text: bytes) -> None:
        write_atomically(self._folder / f"{name}.reply", text)
        (self._folder / f"{name}.json").unlink(missing_ok=True)

    def reply_to(self, name: str) -> bytes | None:
        with suppress(FileNotFoundError):
            return (self._folder / f"{name}.reply").read_bytes()
        return None

    def remove(self, name: str) -> None:
        for suffix in (".json", ".reply"):
            with suppress(OSError):
                (self._folder / f"{name}{suffix}").unlink(missing_ok=True)


def _mailbox(folder: Path) -> Mailbox:
    store = store_of(folder)
    return store.mailbox(folder) if store else _Folder(folder)


async def send(folder: Path, message: Message, is_active: Callable[[], bool]) -> None:
    """Send a message to a run of another process and wait until it was taken.

    Raises the errors of `Run.answer`, and `LeadlineError` if the run ends first or does not take the message.
    """
    mailbox, name = _mailbox(folder), token_hex(8)
    await asyncio.to_thread(mailbox.send, name, message.model_dump_json().encode())
    end = time.monotonic() + _PATIENCE
    try:
        while not (reply := await asyncio.to_thread(mailbox.reply_to, name)):
            if not await asyncio.to_thread(is_active) and not await asyncio.to_thread(mailbox.reply_to, name):
                raise LeadlineError(f"the run in {folder} ended before it took the message")
            if time.monotonic() > end:
                raise LeadlineError(f"the run in {folder} did not take the message within {_PATIENCE:g} s")
            await asyncio.sleep(_INTERVAL)
        taken = _Reply.model_validate_json(reply)
    finally:
        await asyncio.to_thread(mailbox.remove, name)
    if taken.kind == AlreadyAnswered.__name__:
        raise AlreadyAnswered(message.question_id)
    if taken.error:
        raise (UsageError if taken.kind == UsageError.__name__ else LeadlineError)(taken.error)


async def receive(folder: Path, handle: Callable[[Message], Awaitable[None]], is_current: Callable[[], bool]) -> None:
    """Handle the messages to a run until this is cancelled, or another session has the run."""
    mailbox = _mailbox(folder)
    while await asyncio.sleep(_INTERVAL, result=True) and is_current():
        with suppress(OSError, LeadlineError):  # a full disk; a store that does not answer
            for name, text in await asyncio.to_thread(mailbox.messages):
                reply = _Reply()
                try:
                    await handle(Message.model_validate_json(text))
                except (LeadlineError, ValidationError) as error:
                    reply = _Reply(error=str(error), kind=type(error).__name__)
                await asyncio.to_thread(mailbox.reply, name, reply.model_dump_json().encode())
