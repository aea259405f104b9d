"""A paragraph as it is made anew: what is taken out leaves no gap, and a citation becomes no link."""

from __future__ import annotations

import re
from itertools import accumulate

from leadline_plugins.drafts.statements import Lost

_BEGUN = re.compile(r"(?:^|\n)(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t]|\[@[^\[\]\s]{1,100}\]){0,60}\Z")
"""A line that holds nothing yet but citations: with a colon behind them it would define where they lead."""
_BETWEEN = re.compile(r"\s*[,;，、–&-]?\s*(?:and\s+)?")
_SEPARATED = re.compile(r"\]\s*[,;，、]\s*\Z")
_SEPARATOR = re.compile(r"\s*[,;，、]\s*\Z")
_EMPTY_LINE = re.compile(r"(?:^|\n)((?:[ \t>]|[-*+]|\d{1,9}[.)]){1,60})\Z")
"""A line with nothing but the mark of a list or a quotation: below text, a dash would make a heading of it."""
_LINE_ENDS = re.compile(r"[ \t]*+(?:\n|\Z)")
_AROUND = re.compile(r"[ \t]*(?:(\*{1,3}|_{1,3}|~~)|([(（\[【]))\Z")
_CLOSES = {"(": ")", "（": "）", "[": "]", "【": "】"}
_TAIL = 300


class Made:
    """The paragraph so far."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._removed = -1
        """How many parts there were when something was taken out last."""
        self._marks: list[Lost] = []
        """What was taken out, and behind how many parts."""

    @property
    def removed(self) -> list[Lost]:
        """What was taken out, and where in the text it stood."""
        ends = [0, *accumulate(map(len, self._parts))]
        return [(ends[min(part, len(self._parts))], mark) for part, mark in self._marks]

    def text(self) -> str:
        """Return what was made so far."""
        return "".join(self._parts)

    def add(self, text: str) -> None:
        """Go on with this."""
        if text:
            self._parts.append(text)

    def cite(self, citations: str, text: str, at: int) -> int:
        """Go on with citations, behind which the text goes on at a place; return that place."""
        if self._parts and self._lately_removed():
            del self._parts[self._removed :]
            self.add(" ")
        self.add(citations)
        follows = text[at : at + 1]
        if follows == "(" or (follows == ":" and _BEGUN.search(self._end())):
            self.add(" ")
        return at

    def remove(self, mark: str, text: str, at: int) -> int:
        """Leave a mark out, with the space and what else was around it; return where the text goes on."""
        if self._lately_removed():
            del self._parts[self._removed :]
        self._cut(_SEPARATOR if _SEPARATED.search(self._end()) else None)
        while around := _AROUND.search(self._end()):
            closes = around[1] or _CLOSES[around[2]]
            if not text.startswith(closes, at):
                break
            at += len(closes)
            self._cut(_AROUND)
            self._cut()
        self._marks.append((len(self._parts), mark))
        at = self._onward(text, at)
        self._removed = len(self._parts)
        return at

    def _onward(self, text: str, at: int) -> int:
        """Return where a text goes on behind what was taken out: a line that held nothing else goes too."""
        if _LINE_ENDS.match(text, at) and (line := _EMPTY_LINE.search(self._end(64))):
            self._chop(len(line[1]))
        last = self._end(1)
        if last in ("", "\n"):
            while text[at : at + 1] in (" ", "\t"):
                at += 1
            if text[at : at + 1] == "\n":
                return at + 1
            if at == len(text) and last:
                self._parts[-1] = self._parts[-1][:-1]
        elif last.isascii() and last.isalnum() and text[at : at + 1].isalnum() and text[at].isascii():
            self.add(" ")
        return at

    def _lately_removed(self) -> bool:
        """Return whether nothing but what separates two marks was added since something was taken out."""
        since = self._parts[self._removed :] if self._removed >= 0 else []
        return bool(since) and len(since) < 3 and bool(_BETWEEN.fullmatch("".join(since)[:20] or "."))

    def _cut(self, what: re.Pattern[str] | None = None) -> None:
        """Cut the end off that a pattern finds, and space."""
        while self._parts:
            last = self._parts.pop().rstrip(" \t")
            last = what.sub("", last) if what else last
            if last:
                self._parts.append(last)
                return

    def _chop(self, length: int) -> None:
        while length > 0:
            last = self._parts.pop()
            if len(last) > length:
                self._parts.append(last[:-length])
            length -= len(last)

    def _end(self, length: int = _TAIL) -> str:
        end = ""
        for part in reversed(self._parts):
            end = part[-length:] + end
            if len(end) >= length:
                break
        return end[-length:]
