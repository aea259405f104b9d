"""Server-sent events as the WHATWG specification has them, whatever pieces the bytes arrive in."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

from leadline.errors import BadReply

_LINE_END = re.compile(r"\r\n|\n|\r(?=[^\n])")
"""A CR at the very end waits: a LF may follow in the next piece. Python's own `splitlines` also splits at U+2028."""
_LONGEST = 8_000_000
"""Characters of one line; what is longer is no event but a fault, and would be copied with every piece."""


@dataclass(frozen=True)
class Event:
    """One event; `name` is `message` unless the server says otherwise."""

    name: str
    data: str


class EventReader:
    """Takes bytes, gives events. Comments, ids and retry times are passed over."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._rest = ""
        self._name = ""
        self._data: list[str] = []

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yield the events that are whole now. Raises `BadReply` for a line without end."""
        return self._lines(self._decoder.decode(data))

    def close(self) -> Iterator[Event]:
        """Yield what stood at the end without its blank line: many servers leave it out."""
        return self._lines(self._decoder.decode(b"", final=True) + "\n\n")

    def _lines(self, text: str) -> Iterator[Event]:
        *lines, self._rest = _LINE_END.split(self._rest + text)
        if len(self._rest) > _LONGEST:
            raise BadReply(f"the stream has a line of more than {_LONGEST} characters")
        for line in lines:
            yield from self._line(line)

    def _line(self, line: str) -> Iterator[Event]:
        if not line:
            yield from self._dispatch()
            return
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value

    def _dispatch(self) -> Iterator[Event]:
        name, data = self._name or "message", self._data
        self._name, self._data = "", []
        if data:
            yield Event(name, "\n".join(data))
