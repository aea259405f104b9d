"""What a person would read of a JSON reply, while it is streamed: the texts of some of its fields, decoded."""

from __future__ import annotations

import json
import re
from collections.abc import Collection

_STRUCTURE = re.compile(r'[{}\[\]:,"]')
_PLAIN = re.compile(r'(?:[^"\\]|\\(?:[^u]|u[0-9a-fA-F]{4}))*')
"""As much of a text as can be decoded: an escape may be cut in two."""
_HIGH = re.compile(r"(?<!\\)(?:\\\\)*(\\u[dD][89abAB][0-9a-fA-F]{2})\Z")
"""The first half of a character that needs two escapes."""
BETWEEN = "\n"
"""What stands between two texts."""


class Prose:
    """Takes a reply piece by piece; each time returns what is new of the fields that are shown."""

    def __init__(self, fields: Collection[str]) -> None:
        self._fields = fields
        self._rest = ""
        self._within: list[str] = []
        """The field whose value each object or list around is; `{` stands for one that is in no field."""
        self._lists: list[bool] = []
        self._field = ""
        self._value = False
        """Whether the next text is a value, and no name of a field."""
        self._inside = self._began = self._any = False

    def take(self, piece: str) -> str:
        """Return what of the piece, and of what was held back before, is to be read now."""
        text, self._rest = self._rest + piece, ""
        said: list[str] = []
        place = 0
        while place < len(text):
            place = self._through(text, place, said) if self._inside else self._outside(text, place)
        return "".join(said)

    def _outside(self, text: str, place: int) -> int:
        """Go on to the next mark of structure."""
        found = _STRUCTURE.search(text, place)
        if not found:
            return len(text)
        mark = found.group()
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
        return found.end()

    def _through(self, text: str, place: int, said: list[str]) -> int:
        """Go on to the end of a text, or of what of it has come."""
        found = _PLAIN.match(text, place)
        end = found.end() if found else place
        if not text.startswith('"', end) and (half := _HIGH.search(text, place, end)):
            end = half.start(1)
        raw = text[place:end]
        if not self._value:
            self._field += raw
        elif raw and self._field in self._fields:
            said.append(self._decoded(raw))
        if text.startswith('"', end):
            self._inside = False
            return end + 1
        self._rest = text[end:]
        return len(text)

    def _decoded(self, raw: str) -> str:
        try:
            told: str = json.loads(f'"{raw}"', strict=False)
        except ValueError:
            told = raw
        between = BETWEEN if self._any and not self._began else ""
        self._any = self._began = True
        return between + told
