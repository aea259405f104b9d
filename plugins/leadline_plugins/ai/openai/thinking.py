"""Reasoning that a model writes into its reply, between `<think>` and `</think>`, told apart while it streams.

Mistral's models write `[THINK]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import JsonValue

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


class ThinkingBlocks:
    """Anthropic's signed blocks of reasoning, as litellm passes them on: the signature comes behind the words."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, Any]] = []

    def take(self, pieces: Any) -> None:
        """Take blocks, or pieces of one."""
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                self._piece(piece)

    def _piece(self, piece: dict[str, Any]) -> None:
        last = self._blocks[-1] if self._blocks else {}
        open_still = last.get("type") == piece.get("type") == "thinking" and not last.get("signature")
        if not open_still:
            self._blocks.append(dict(piece))
            return
        last["thinking"] = str(last.get("thinking") or "") + str(piece.get("thinking") or "")
        if signature := piece.get("signature"):
            last["signature"] = signature

    @property
    def whole(self) -> list[JsonValue]:
        """The blocks that may go back: an unsigned one is refused."""
        return [block for block in self._blocks if block.get("signature") or block.get("data")]
