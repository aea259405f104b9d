"""HTTP/1.1 that leaves clients which send or take too slowly, so that they hold no connection for long."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# Seconds in which the head of a request must arrive.
HEAD_TIMEOUT = 15.0
# Seconds in which a client must take something of what was sent to it.
STALL_TIMEOUT = 30.0
# Bytes that are something: clients slower than this in `STALL_TIMEOUT` are left.
_LEAST = 16_384


class PatientProtocol(H11Protocol):
    """The protocol of the server. It cuts off clients whose request never arrives, or who do not take the reply."""

    _deadline: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request."""
        super().data_received(data)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._unwatch_head()
        self._unwatch_reader()

    def pause_writing(self) -> None:
        """Wait for a client that does not take what was sent to it."""
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        """Go on with a client that took it."""
        super().resume_writing()
        self._unwatch_reader()

    def on_response_complete(self) -> None:
        """End a reply; a connection that was closed is gone when the rest was taken, or not taken in time."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_reader()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection on which nothing comes any more."""
        super().timeout_keep_alive_handler()
        self._watch_reader()

    def _watch_head(self) -> None:
        # A connection that waits between two requests is uvicorn's matter (`timeout_keep_alive`).
        waiting = self.conn.their_state is h11.IDLE and (self.cycle is None or bool(self.conn.trailing_data[0]))
        if not waiting:
            self._unwatch_head()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_TIMEOUT, self.transport.close)

    def _unwatch_head(self) -> None:
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None

    def _watch_reader(self) -> None:
        if self._stall is None:
            left = self.transport.get_write_buffer_size()
            self._stall = self.loop.call_later(STALL_TIMEOUT, self._check_reader, left)

    def _check_reader(self, before: int) -> None:
        self._stall = None
        left = self.transport.get_write_buffer_size()
        if left and before - left < _LEAST:
            self.transport.abort()
        elif left:
            self._watch_reader()

    def _unwatch_reader(self) -> None:
        if self._stall:
            self._stall.cancel()
            self._stall = None
