"""Reading JSON that is none: what models write where a comma is missing, a quote not escaped, the end cut off.

One pass, never back, every look ahead of bounded length: so the time is linear in the text, whatever stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

DEEPEST = 100
"""Objects and lists in one another; what nests deeper is noise."""
_BLANK = re.compile(r"(?:\s+|//[^\n]*|\#[^\n]*|/\*.*?(?:\*/|\Z))*", re.DOTALL)
_SPACE = re.compile(r"\s*")
_BARE = re.compile(r"(?:(?!(?<!:)//|/\*)[^,\]}\n])+")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?=[\s,\]}/#]|\Z)")
_KEY = re.compile(r"""([^\s:=,{}\[\]"']+)(?:["']\s{0,9}(?=[:=]))?""")
_NEXT_KEY = re.compile(r"""["'“][^"'”\n]{1,80}(?:["'”]\s{0,9}(?:[:=]|\Z)|\Z)|[A-Za-z_]\w{0,80}\s{0,9}[:=]""")
"""The last may be cut off itself."""
_NEXT_ITEM = re.compile(r"""["'“\[{]|-?\d|true|false|null|None|True|False""")
_CHUNKS = {
    '"': re.compile(r'[^"\\]+'),
    "'": re.compile(r"[^'\\]+"),
    "`": re.compile(r"[^`\\]+"),
    "“": re.compile(r'[^”"\\]+'),
}
"""By what opens a text: the run of it that needs no look."""
_TRIPLE = '"""'
_HEX = re.compile(r"u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?")
_PYTHON_HEX = re.compile(r"x([0-9a-fA-F]{2})|U(000[0-9a-fA-F]{5}|0010[0-9a-fA-F]{4})")
_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "n": "\n", "t": "\t", "r": "\r"}
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "none": None, "nan": None, "undefined": None}
_NOTHING = object()
Place = Literal["key", "value", "item"]


class TooDeep(ValueError):
    """The text nests deeper than any reply."""


class Mender:
    """Reads objects from a text, one after the other; `at` is the offset it has come to."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0
        self.broken = False
        """Whether the text ended within a string or a list, or where a value had to follow."""
        self.severed = False
        """Whether it ended within a string."""
        self._last_triple = text.rfind(_TRIPLE)

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield every object that can be made out, the empty ones left out. Raises `TooDeep`."""
        while (start := self._text.find("{", self.at)) >= 0:
            self.at = start
            if found := self._object(1, listed=False):
                yield found

    def _ended(self) -> None:
        """Note that the text ended within what is being read."""
        self.broken = True

    def _char(self) -> str:
        return self._text[self.at : self.at + 1]

    def _blank(self) -> str:
        """Skip white space and comments; return the character that comes then."""
        match = _BLANK.match(self._text, self.at)
        self.at = match.end() if match else self.at
        return self._char()

    def _value(self, depth: int, place: Place, *, listed: bool) -> Any:
        if depth > DEEPEST:
            raise TooDeep
        char = self._char()
        if char == "{":
            return self._object(depth, listed=listed)
        if char == "[":
            return self._list(depth)
        return self._string(place) if char in _CHUNKS else self._bare()

    def _object(self, depth: int, *, listed: bool) -> dict[str, Any]:
        """Read an object; `listed`: it stands in a list, whose `]` ends it too."""
        found: dict[str, Any] = {}
        self.at += 1
        while char := self._blank():
            if char == "}" or (char == "]" and listed):
                self.at += char == "}"
                break
            if char in "{[":
                self._value(depth + 1, "item", listed=listed)  # what no key names is nothing
            elif (key := self._key()) and self._blank() not in ("", ",", "}", "]"):
                value = self._value(depth + 1, "value", listed=listed)
                if value is not _NOTHING:
                    found[key] = value
        if not char and self._text.rstrip()[-1:] in (",", ":"):
            self._ended()
        return found

    def _key(self) -> str:
        """Read a key and its colon; empty where none stands, and then what stands there is skipped."""
        quoted = self._char() in _CHUNKS
        key = self._string("key") if quoted else self._word()
        if self._blank() in (":", "="):
            self.at += 1
        elif not quoted:  # a word of prose; the colon behind a quoted key may be missing
            return ""
        return key

    def _word(self) -> str:
        match = _KEY.match(self._text, self.at)
        self.at = match.end() if match else self.at + 1
        return match.group(1) if match else ""

    def _list(self, depth: int) -> list[Any]:
        found = []
        self.at += 1
        while char := self._blank():
            if char in "]}":  # an object's end ends the list in it, whose own is missing
                self.at += char == "]"
                break
            if char in ",:;":
                self.at += 1
            elif (item := self._value(depth + 1, "item", listed=True)) is not _NOTHING:
                found.append(item)
        if not char:
            self._ended()
        return found

    def _bare(self) -> Any:
        """Read what stands without quotes: a number, a word of JSON or of Python, else text."""
        if number := _NUMBER.match(self._text, self.at):
            self.at = number.end()
            return _number(number.group())
        match = _BARE.match(self._text, self.at)
        self.at = match.end() if match else self.at + 1
        said = match.group().strip() if match else ""
        if not said.strip("."):  # `...`, where a model had enough
            return _NOTHING
        return _WORDS.get(said.lower().lstrip("+-").replace("infinity", "nan"), said) if len(said) < 12 else said

    def _string(self, place: Place) -> str:
        opening, parts = self._char(), []
        if self._text.startswith(_TRIPLE, self.at) and self.at < self._last_triple - 2:
            return self._tripled()
        self.at += 1
        while char := self._char():
            if char == "\\":
                parts.append(self._escaped())
            elif char in (opening, "”", '"') and (opening == "“" or char == opening):
                self.at += 1
                if place == "key" or self._closes(char, place):
                    break
                parts.append(char)
            elif chunk := _CHUNKS[opening].match(self._text, self.at):
                parts.append(chunk.group())
                self.at = chunk.end()
        if not char:
            self._ended()
            self.severed = True
        return "".join(parts)

    def _tripled(self) -> str:
        """Read a text between three quotes on each side, as Python has it."""
        start = self.at + len(_TRIPLE)
        end = self._text.find(_TRIPLE, start)
        self.at = end + len(_TRIPLE)
        return self._text[start:end]

    def _closes(self, quote: str, place: Place) -> bool:
        """Say whether the quote just read ends its text, by what comes behind it."""
        behind = self._after_space(self.at)
        char = self._text[behind : behind + 1]
        if char in ("", "}", "]"):
            return True
        if char == ",":
            return self._goes_on(self._after_space(behind + 1), place)
        if char in "/#":
            return self._text.startswith(("//", "/*", "#"), behind)
        # The next text, the comma missing: of two quotes side by side the second is the end.
        return behind > self.at and char in (quote, '"') and self._goes_on(behind, place)

    def _goes_on(self, at: int, place: Place) -> bool:
        """Say whether the next key or item begins at an offset, or the end."""
        if self._text[at : at + 1] in ("", "}", "]", "/", "#"):
            return True
        return bool((_NEXT_KEY if place == "value" else _NEXT_ITEM).match(self._text, at))

    def _after_space(self, at: int) -> int:
        match = _SPACE.match(self._text, at)
        return match.end() if match else at

    def _escaped(self) -> str:
        """Read an escape; a backslash before anything else is one, as LaTeX has it."""
        self.at += 1
        char = self._char()
        if hexadecimal := _HEX.match(self._text, self.at):
            self.at = hexadecimal.end()
            units = b"".join(int(unit, 16).to_bytes(2) for unit in hexadecimal.groups() if unit)
            return units.decode("utf-16-be", "replace")
        if python := _PYTHON_HEX.match(self._text, self.at):
            self.at = python.end()
            return chr(int(python.group(1) or python.group(2), 16))
        if char not in _ESCAPES or (char.isalpha() and self._word_behind()):
            return "\\"
        self.at += 1
        return _ESCAPES[char]

    def _word_behind(self) -> bool:
        """Say whether a command of LaTeX stands here: that of `times` is no tab before `imes`."""
        return bool(_LATEX.match(self._text, self.at))


_LATEX = re.compile(
    r"(?:nabla|natural|ne|neq|neg|ni|not|notin|nu|nsubseteq|tan|tanh|tau|text|textbf|textit|textrm|tfrac|theta|tilde|times"
    r"|to|top|triangle|rangle|rceil|rfloor|rho|right|rightarrow|rm)(?![A-Za-z])"
)
"""Commands that begin like an escape of JSON."""


def _number(said: str) -> float | int | None:
    """Return a number; None for one that is beyond all measure."""
    if len(said) > 300:
        return None
    number = float(said) if re.search(r"[.eE]", said) else int(said)
    return number if abs(number) != float("inf") else None
