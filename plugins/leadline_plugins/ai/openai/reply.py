"""A reply as it grows, whatever dialect it comes in: text and reasoning apart, tool calls put together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import JsonValue

from leadline.contracts import Call
from leadline.errors import BadReply
from leadline.records import ChatReply, Message, ToolCall
from leadline_plugins.ai.openai.thinking import Piece, Thinking

_ENDS = ("}", "}```", "}\n```")
"""Of thoughts that end with an object."""
Finish = Literal["stop", "length", "tool_calls", "content_filter"]


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of what should be a list of them: what else stands there is passed over."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


@dataclass
class ToolParts:
    """One tool call under way: its arguments arrive in pieces of JSON, or whole."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    whole: Mapping[str, JsonValue] | None = None
    extra: JsonValue = None
    """The vendor's own, wanted back with the call."""

    @property
    def complete(self) -> bool:
        """Whether its arguments are a whole JSON object: nothing of it is still to come."""
        return self.whole is not None or (self.arguments.rstrip()[-1:] == "}" and not self.made(0).unread)

    def made(self, place: int) -> ToolCall:
        """Return the call; arguments that are no JSON object are the model's to mend, and no fault of the vendor."""
        name = self.id or f"call_{place}"
        try:
            arguments: Any = json.loads(self.arguments.strip() or "{}") if self.whole is None else self.whole
        except (ValueError, RecursionError):
            arguments = None
        if not isinstance(arguments, Mapping):
            return ToolCall(id=name, name=self.name, arguments={}, unread=self.arguments)
        return ToolCall(id=name, name=self.name, arguments=arguments)


@dataclass
class Growing:
    """Takes pieces, passes on what came together, and makes the reply of them."""

    call: Call
    thinking: Thinking = field(default_factory=Thinking)
    texts: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    tools: list[ToolParts] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    _fresh: list[str] = field(default_factory=list)

    def text(self, piece: str) -> None:
        """Take a piece of the reply, which may be reasoning in tags."""
        self._fresh.append(piece)

    def reasoning(self, piece: str) -> None:
        """Take a piece of the reasoning."""
        if piece:
            self.pass_on()
            self._sorted(("reasoning", piece))

    def pass_on(self) -> None:
        """Pass on the text that came since: together, for a vendor sends an event a token."""
        if self._fresh:
            together, self._fresh = "".join(self._fresh), []
            for sorted_piece in self.thinking.feed(together):
                self._sorted(sorted_piece)

    def refusal(self, piece: str) -> None:
        """Take a piece of the model's own words why it will not answer."""
        self.refused.append(piece)

    def _sorted(self, piece: Piece) -> None:
        kind, words = piece
        (self.texts if kind == "text" else self.reasons).append(words)
        self.call.emit(kind, words)

    def made(self, model: str, finish: Finish, opaque: JsonValue = None) -> ChatReply:
        """Return the reply. Raises `BadReply` for one that says nothing."""
        self.pass_on()
        for piece in self.thinking.end():
            self._sorted(piece)
        text, reasoning = _apart("".join(self.texts), "".join(self.reasons))
        forgot = not text and finish == "stop" and self.thinking.unclosed and reasoning.rstrip().endswith(_ENDS)
        if forgot:  # to say where its thoughts end, and said what it was asked for
            text, reasoning = reasoning, ""
        if self.refused and not text:
            text, finish = "".join(self.refused), "content_filter"
        tools = tuple(parts.made(place) for place, parts in enumerate(self.tools)) if finish != "length" else ()
        if not text.strip() and not tools and finish in ("stop", "tool_calls"):
            only = "nothing but reasoning" if reasoning else "no word"
            raise BadReply(f"the reply of {model or 'the model'} holds {only}")
        message = Message(role="assistant", text=text, tool_calls=tools, opaque=opaque)
        return ChatReply(
            message=message,
            reasoning=reasoning,
            model=model,
            finish_reason="tool_calls" if tools and finish == "stop" else finish,
        )


def _apart(text: str, reasoning: str) -> tuple[str, str]:
    """Split off reasoning whose opening tag stood in the template of the prompt, so that only its end was written."""
    thought, closed, rest = text.partition("</think>")
    if not closed or reasoning or "<think>" in thought:
        return text, reasoning
    return rest.lstrip(), thought.strip()
