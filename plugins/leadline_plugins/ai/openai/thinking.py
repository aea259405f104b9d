"""Reasoning that a model writes into its reply, between `<think>` and `</think>`, told apart while it streams.

Mistral's models write `[THINK]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

Piece = tuple[Literal["text", "reasoning"], str]
_OPEN = re.compile(r"\s*[<\[](think|thinking|thought)[>\]]", re.IGNORECASE)
_LONGEST_TAG = len("</thinking>")


class Thinking:
    """Takes the pieces of a reply, gives them sorted. Only a reply that begins with the tag holds reasoning."""

    def __init__(self) -> None:
        self._held = ""
        self._state: Literal["begin", "thinking", "after", "text"] = "begin"
        self._close = _OPEN

    def feed(self, piece: str) -> Iterator[Piece]:
        """Yield what can be told by now."""
        self._held += piece
        if self._state == "begin":
            self._begin()
        if self._state == "thinking":
            yield from self._think()
        if self._state == "after":
            self._held = self._held.lstrip()
            self._state = "text" if self._held else "after"
        if self._state == "text" and self._held:
            text, self._held = self._held, ""
            yield "text", text

    @property
    def unclosed(self) -> bool:
        """Whether the end of the reasoning has not come."""
        return self._state == "thinking"

    def end(self) -> Iterator[Piece]:
        """Yield what was held back for a tag that did not come."""
        held, self._held = self._held, ""
        if held:
            yield ("reasoning" if self._state == "thinking" else "text"), held

    def _begin(self) -> None:
        if opened := _OPEN.match(self._held):
            self._close = re.compile(rf"[<\[]/{opened[1]}[>\]]", re.IGNORECASE)
            self._held = self._held[opened.end() :]
            self._state = "thinking"
        elif not _may_open(self._held):
            self._state = "text"

    def _think(self) -> Iterator[Piece]:
        if closed := self._close.search(self._held):
            thought, self._held = self._held[: closed.start()], self._held[closed.end() :]
            self._state = "after"
        else:
            sure = max(0, len(self._held) - _LONGEST_TAG)
            thought, self._held = self._held[:sure], self._held[sure:]
        if thought:
            yield "reasoning", thought


def _may_open(text: str) -> bool:
    """Tell whether the tag may still come."""
    start = text.lstrip().lower()
    return any(tag.startswith(start) for tag in ("<think>", "<thinking>", "<thought>", "[think]"))
