"""One container with its interpreter: the connection to it, and its end."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from leadline_plugins.sandboxes.messages import LONGEST_REPLY, Lost, framed, length_of

if TYPE_CHECKING:
    from httpx import AsyncClient

_PIECE = 1 << 16
_STDOUT, _STDERR = 1, 2
_TOLD = 2000


class Container:
    """Speaks to the interpreter inside; what it writes comes in frames of eight bytes and a text."""

    def __init__(self, name: str, client: AsyncClient, stream: Any) -> None:
        self._name = name
        self._client = client
        self._stream = stream
        self._raw = bytearray()
        self._said = bytearray()
        self._errors = bytearray()
        self._seconds: float | None = None

    async def ready(self, seconds: float) -> None:
        """Wait until it is."""
        self._seconds = seconds
        await self._message()

    async def ask(self, message: bytes) -> bytes:
        """Return the reply. Raises `Lost`."""
        self._seconds = None
        try:
            await self._stream.write(framed(message), timeout=None)
        except Exception as error:  # whatever the transport calls it: it is gone
            raise Lost(f"the connection broke: {type(error).__name__}") from error
        return await self._message()

    async def _message(self) -> bytes:
        size = length_of(await self._take(4))
        return await self._take(size)

    async def _take(self, size: int) -> bytes:
        while len(self._said) < size:
            await self._frame()
        taken = bytes(self._said[:size])
        del self._said[:size]
        return taken

    async def _frame(self) -> None:
        kind, length = struct.unpack(">BxxxL", await self._read(8))
        if length > LONGEST_REPLY:
            raise Lost(f"a frame of {length:,} bytes")
        data = await self._read(length)
        if kind == _STDOUT:
            self._said += data
        elif kind == _STDERR:
            self._errors = (self._errors + data)[-_TOLD:]

    async def _read(self, size: int) -> bytes:
        while len(self._raw) < size:
            try:
                piece = await self._stream.read(_PIECE, timeout=self._seconds)
            except Exception as error:
                raise Lost(f"the connection broke: {type(error).__name__}") from error
            if not piece:
                raise Lost("it ended" + (f": {self._errors.decode(errors='replace').strip()}" if self._errors else ""))
            self._raw += piece
        taken = bytes(self._raw[:size])
        del self._raw[:size]
        return taken

    async def close(self) -> None:
        """Let go of the connection, and take the container away whatever it does."""
        with suppress(Exception):  # it may be gone already, by itself
            await self._stream.aclose()
        with suppress(Exception):
            await self._client.delete(f"/containers/{self._name}", params={"force": "1", "v": "1"})
