"""Server-sent events as the WHATWG specification has them, whatever pieces the bytes arrive in."""

from __future__ import annotations

import codecs
import re
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

    def feed(self, data: bytes) -> list[Event]:
        """Return the events that are whole now. Raises `BadReply` for a line without end."""
        return self._events(self._decoder.decode(data))

    def close(self) -> list[Event]:
        """Return what stood at the end without its blank line: many servers leave it out."""
        return self._events(self._decoder.decode(b"", final=True) + "\n\n")

    def _events(self, text: str) -> list[Event]:
        *lines, self._rest = _LINE_END.split(self._rest + text)
        if len(self._rest) > _LONGEST:
            raise BadReply(f"the stream has a line of more than {_LONGEST} characters")
        events = []
        for line in lines:
            if line:
                self._take(line)
                continue
            if self._data:
                events.append(Event(self._name or "message", "\n".join(self._data)))
            self._name, self._data = "", []
        return events

    def _take(self, line: str) -> None:
        field, _, value = line.partition(":")
        if field == "data":
            self._data.append(value.removeprefix(" "))
        elif line[0] == "{":  # an error of a server that had begun a stream, and now says it as it always does
            self._data.append(line)
        elif field == "error":  # llama.cpp, before it said errors as data
            self._data.append(f'{{"error": {value}}}')
        elif field == "event":
            self._name = value.removeprefix(" ")
