"""One container: the connection to its interpreter, and its removal."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from leadline_plugins.sandboxes.interpreters import LONGEST_REPLY, InterpreterLost, message_length, with_length

if TYPE_CHECKING:
    from httpx import AsyncClient

_PIECE = 1 << 16
_STDOUT, _STDERR = 1, 2
# Bytes of the errors that are kept.
_ERRORS_KEPT = 2000


class Container:
    """Exchanges messages with the interpreter inside; its output arrives in frames with a header of eight bytes."""

    def __init__(self, name: str, client: AsyncClient, stream: Any) -> None:
        self._name = name
        self._client = client
        self._stream = stream
        self._raw = bytearray()
        self._output = bytearray()
        self._errors = bytearray()
        self._seconds: float | None = None

    async def ready(self, seconds: float) -> None:
        """Wait until the interpreter is ready."""
        self._seconds = seconds
        await self._message()

    async def ask(self, message: bytes) -> bytes:
        """Return the reply. Raises `InterpreterLost`."""
        self._seconds = None
        try:
            await self._stream.write(with_length(message), timeout=None)
        except Exception as error:  # any error of the transport means that it is gone
            raise InterpreterLost(f"the connection broke: {type(error).__name__}") from error
        return await self._message()

    async def _message(self) -> bytes:
        size = message_length(await self._take(4))
        return await self._take(size)

    async def _take(self, size: int) -> bytes:
        while len(self._output) < size:
            await self._frame()
        taken = bytes(self._output[:size])
        del self._output[:size]
        return taken

    async def _frame(self) -> None:
        kind, length = struct.unpack(">BxxxL", await self._read(8))
        if length > LONGEST_REPLY:
            raise InterpreterLost(f"a frame of {length:,} bytes")
        data = await self._read(length)
        if kind == _STDOUT:
            self._output += data
        elif kind == _STDERR:
            self._errors = (self._errors + data)[-_ERRORS_KEPT:]

    async def _read(self, size: int) -> bytes:
        while len(self._raw) < size:
            try:
                piece = await self._stream.read(_PIECE, timeout=self._seconds)
            except Exception as error:
                raise InterpreterLost(f"the connection broke: {type(error).__name__}") from error
            if not piece:
                raise InterpreterLost(
                    "it ended" + (f": {self._errors.decode(errors='replace').strip()}" if self._errors else "")
                )
            self._raw += piece
        taken = bytes(self._raw[:size])
        del self._raw[:size]
        return taken

    async def close(self) -> None:
        """Close the connection and remove the container, whatever it does."""
        with suppress(Exception):  # it may have ended by itself
            await self._stream.aclose()
        with suppress(Exception):
            await self._client.delete(f"/containers/{self._name}", params={"force": "1", "v": "1"})
