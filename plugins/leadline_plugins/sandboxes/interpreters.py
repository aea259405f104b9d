"""Interpreters in sandboxes, and the messages to them and back.

One interpreter per run is kept running; if it is lost, a new one runs the code once more. No data from a sandbox is
trusted.
"""

from __future__ import annotations

import asyncio
import base64
import json
import struct
from collections.abc import Awaitable, Callable, Iterable
from pathlib import PurePosixPath
from typing import Protocol, Self

from pydantic import JsonValue

from leadline.contracts import Call
from leadline.errors import Unsupported
from leadline.records import Blob, Code, Execution
from leadline_plugins.parse.media import media_type
from leadline_plugins.sandboxes.limits import GRACE, SandboxSettings, time_for

LONGEST_REPLY = 64_000_000
# Levels of lists and tables in a value.
DEEPEST = 100
_NO_VALUE = (
    "[sandbox] the code broke the way of its value: it wrote to file descriptor 3 itself, and what arrived is not one "
    f"JSON value of at most {DEEPEST} levels"
)


class InterpreterLost(Exception):
    """The interpreter has ended or sent an invalid message."""


def with_length(message: bytes) -> bytes:
    return struct.pack(">I", len(message)) + message


def message_length(head: bytes) -> int:
    """Return the length of a message by its header. Raises `InterpreterLost` if it is impossible."""
    size: int = struct.unpack(">I", head)[0]
    if size > LONGEST_REPLY:
        raise InterpreterLost(f"a reply of {size:,} bytes")
    return size


def encode_request(code: Code, seconds: float) -> bytes:
    """Return a request. Raises `Unsupported` for another language, or for a file outside the working folder."""
    if code.language not in ("python", "py"):
        raise Unsupported(f"the sandbox runs python, not {code.language!r}")
    for file in code.files:
        if not _inside(file.name):
            raise Unsupported(f"a file cannot be named {file.name!r}: a plain path below the working folder")
    input_files = [{"name": file.name, "data": base64.b64encode(file.data).decode()} for file in code.files]
    return json.dumps({"text": code.text, "seconds": seconds, "files": input_files}).encode("utf-8", "replace")


def decode_reply(reply: bytes) -> Execution:
    """Return the execution in a reply; names of files are checked again."""
    try:
        fields = json.loads(reply)
        text = fields.pop("value")
        try:
            fields["value"] = _value(text) if text else None
        except (ValueError, RecursionError):
            fields["stderr"] = "\n".join(filter(None, (fields["stderr"], _NO_VALUE)))
            fields["exit_code"] = 1
        output_files = tuple(_blob(file) for file in fields.pop("files") if _inside(file["name"]))
        return Execution(**fields, files=output_files)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InterpreterLost(f"an invalid reply: {type(error).__name__}") from error


def _value(text: str) -> JsonValue:
    """Return the value that code handed over. Raises `ValueError` or `RecursionError` if it is no plain JSON."""
    value: JsonValue = json.loads(text, parse_constant=_refused)
    level = [value]
    for _ in range(DEEPEST):
        level = [item for container in level if isinstance(container, list | dict) for item in _items(container)]
        if not level:
            return value
    raise ValueError("too deep")


def _items(value: list[JsonValue] | dict[str, JsonValue]) -> Iterable[JsonValue]:
    return value if isinstance(value, list) else value.values()


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _blob(file: dict[str, str]) -> Blob:
    data = base64.b64decode(file["data"], validate=True)
    return Blob(name=file["name"], media_type=media_type(file["name"]), data=data)


def _inside(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and ".." not in parts and name.isprintable() and len(name) < 200


# Exit code of code that ended its sandbox.
LOST = 137


class Interpreter(Protocol):
    """One interpreter in its sandbox."""

    async def ask(self, message: bytes) -> bytes: ...
    async def close(self) -> None: ...


Start = Callable[[], Awaitable[Interpreter]]


class _RunInterpreter:
    """The interpreter of one run, which executes one piece of code at a time."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.interpreter: Interpreter | None = None
        self.ends: asyncio.TimerHandle | None = None


class InterpreterPool:
    """Interpreters by run: started when needed, ended when idle, and replaced once if lost."""

    def __init__(self, start: Start, idle: float) -> None:
        self._start = start
        self._idle = idle
        self._kept: dict[str, _RunInterpreter] = {}
        self._ending: set[asyncio.Task[None]] = set()

    async def execute(self, run: str, code: Code, seconds: float) -> Execution:
        """Run code in the interpreter of the run; if that is lost, once more in a new one."""
        request = encode_request(code, seconds)
        try:
            return await self._warm(run, request, seconds)
        except InterpreterLost:
            return await self._once(request, seconds)

    async def _warm(self, run: str, request: bytes, seconds: float) -> Execution:
        slot = self._kept.setdefault(run, _RunInterpreter())
        async with slot.lock:
            if slot.ends:
                slot.ends.cancel()
            if slot.interpreter is None:
                slot.interpreter = await self._start()
            try:
                reply = await _within(slot.interpreter, request, seconds)
            except BaseException:
                lost, slot.interpreter = slot.interpreter, None
                await lost.close()
                raise
            slot.ends = asyncio.get_running_loop().call_later(self._idle, self._end, run)
            return reply

    async def _once(self, request: bytes, seconds: float) -> Execution:
        interpreter = await self._start()
        try:
            return await _within(interpreter, request, seconds)
        except InterpreterLost as lost:
            text = f"[sandbox] the code ended the whole sandbox, most likely by its use of memory ({lost})"
            return Execution(stderr=text, exit_code=LOST)
        finally:
            await interpreter.close()

    def _end(self, run: str) -> None:
        slot = self._kept[run]
        if not slot.lock.locked() and slot.interpreter:
            del self._kept[run]
            ending = asyncio.create_task(slot.interpreter.close())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        for slot in self._kept.values():
            if slot.ends:
                slot.ends.cancel()
        alive = [slot.interpreter.close() for slot in self._kept.values() if slot.interpreter]
        self._kept.clear()
        await asyncio.gather(*alive, *self._ending)


async def _within(interpreter: Interpreter, request: bytes, seconds: float) -> Execution:
    try:
        async with asyncio.timeout(seconds + GRACE):
            return decode_reply(await interpreter.ask(request))
    except TimeoutError as error:
        raise InterpreterLost(f"no answer after {seconds + GRACE:g} seconds") from error


class PooledSandbox:
    """Runs code in the interpreter of its run, which is kept running; in a new one if that fails."""

    def __init__(self, settings: SandboxSettings, start: Start) -> None:
        self._settings = settings
        self._interpreters = InterpreterPool(start, settings.idle)

    async def __aenter__(self) -> Self:
        """Return the sandbox; interpreters start when needed."""
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._interpreters.close()

    async def execute(self, code: Code, call: Call, /) -> Execution:
        """Run code; an execution may have failed or been stopped."""
        seconds = time_for(code, self._settings, call.remaining())
        return await self._interpreters.execute(getattr(call.run, "id", ""), code, seconds)
