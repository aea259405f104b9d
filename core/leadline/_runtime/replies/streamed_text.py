"""Extracts readable text from a JSON reply while it is streamed: the decoded strings of selected fields."""

from __future__ import annotations

import json
import re
from collections.abc import Collection

_STRUCTURE = re.compile(r'[{}\[\]:,"]')
# The part of a string that can be decoded: an escape may be incomplete.
_PLAIN = re.compile(r'(?:[^"\\]|\\(?:[^u]|u[0-9a-fA-F]{4}))*')
# The first half of a surrogate pair.
_HIGH = re.compile(r"(?<!\\)(?:\\\\)*(\\u[dD][89abAB][0-9a-fA-F]{2})\Z")
# Separates two texts.
BETWEEN = "\n"


class StreamedText:
    """Receives a reply piece by piece and returns the new text of the selected fields."""

    def __init__(self, fields: Collection[str]) -> None:
        self._fields = fields
        self._rest = ""
        # The field of each enclosing object or list.
        self._within: list[str] = []
        self._lists: list[bool] = []
        self._field = ""
        # True if the next string is a value and not a key.
        self._value = False
        self._inside = self._began = self._any = False
        # The last value of a field `id`.
        self._id = ""

    def take(self, piece: str) -> list[tuple[str, str]]:
        """Return the readable texts of a piece and of what was held back before, each after the `id` beside it."""
        text, self._rest = self._rest + piece, ""
        texts: list[tuple[str, str]] = []
        position = 0
        while position < len(text):
            position = self._through(text, position, texts) if self._inside else self._outside(text, position)
        return texts

    def _outside(self, text: str, position: int) -> int:
        """Move to the next structural character."""
        match = _STRUCTURE.search(text, position)
        if not match:
            return len(text)
        mark = match.group()
        if mark == '"':
            self._inside, self._began = True, False
            if not self._value:
                self._field = ""
        elif mark in "{[":
            self._within.append(self._field)
            self._lists.append(mark == "[")
            self._value = mark == "["
        elif mark in "}]":
            self._field = self._within.pop() if self._within else ""
            self._value = bool(self._lists and self._lists.pop() and self._lists and self._lists[-1])
        else:
            self._value = mark == ":" or bool(self._lists and self._lists[-1])
            if mark == "," and self._value:
                self._field = self._within[-1]
        return match.end()

    def _through(self, text: str, position: int, texts: list[tuple[str, str]]) -> int:
        """Move to the end of a string, or of the part received so far."""
        match = _PLAIN.match(text, position)
        end = match.end() if match else position
        if not text.startswith('"', end) and (half := _HIGH.search(text, position, end)):
            end = half.start(1)
        raw = text[position:end]
        if not self._value:
            self._field += raw
        elif raw and self._field in self._fields:
            texts.append((self._id, self._decoded(raw)))
        elif self._field == "id":
            self._id, self._began = self._id * self._began + raw, True
        if text.startswith('"', end):
            self._inside = False
            return end + 1
        self._rest = text[end:]
        return len(text)

    def _decoded(self, raw: str) -> str:
        try:
            decoded: str = json.loads(f'"{raw}"', strict=False)
        except ValueError:
            decoded = raw
        between = BETWEEN if self._any and not self._began else ""
        self._any = self._began = True
        return between + decoded
