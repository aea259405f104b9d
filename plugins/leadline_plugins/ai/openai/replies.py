"""Replies of either API while they arrive: text, reasoning, tool calls and usage."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import groupby
from math import inf
from operator import itemgetter
from typing import Any, Literal

from pydantic import JsonValue

from leadline.errors import BadReply
from leadline.records import ChatReply, Message, ToolCall, Usage

Finish = Literal["stop", "length", "tool_calls", "content_filter"]
Kind = Literal["text", "reasoning"]
Delta = tuple[Kind, str]
Emit = Callable[[Kind, str], None]
# Ends of an answer that a model wrote into its reasoning because it forgot the closing tag.
_OBJECT_ENDS = ("}", "}```", "}\n```")


def objects_in(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list; anything else in it, or in its place, is ignored."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


class DeltaBuffer:
    """Deltas that wait to be passed on together, because vendors send an event per token."""

    def __init__(self) -> None:
        self._deltas: list[Delta] = []

    def add(self, kind: Kind, piece: str) -> None:
        """Append a piece."""
        self._deltas.append((kind, piece))

    def flush(self) -> Iterator[Delta]:
        """Yield the pieces, adjacent ones of a kind joined, and forget them."""
        deltas, self._deltas = self._deltas, []
        for kind, pieces in groupby(deltas, itemgetter(0)):
            yield kind, "".join(piece for _, piece in pieces)


class ThinkingTags:
    """Separates reasoning between `<think>` and `</think>` (Mistral: `[THINK]`) from the text while it streams.

    Only a reply that begins with the tag contains reasoning.
    """

    _OPEN = re.compile(r"\s*[<\[](think|thinking|thought)[>\]]", re.IGNORECASE)
    _OPENING = ("<think>", "<thinking>", "<thought>", "[think]")

    def __init__(self) -> None:
        self._rest = ""
        self._state: Literal["begin", "thinking", "after", "text"] = "begin"
        self._close = self._OPEN

    def feed(self, piece: str) -> Iterator[Delta]:
        """Yield the pieces whose kind is certain."""
        self._rest += piece
        if self._state == "begin":
            self._begin()
        if self._state == "thinking":
            yield from self._think()
        if self._state == "after":
            self._rest = self._rest.lstrip()
            self._state = "text" if self._rest else "after"
        if self._state == "text" and self._rest:
            text, self._rest = self._rest, ""
            yield "text", text

    @property
    def unclosed(self) -> bool:
        """True while the closing tag is missing."""
        return self._state == "thinking"

    def end(self) -> Iterator[Delta]:
        """Yield the rest, which was kept back because a tag could have followed."""
        rest, self._rest = self._rest, ""
        if rest:
            yield ("reasoning" if self.unclosed else "text"), rest

    def _begin(self) -> None:
        if opened := self._OPEN.match(self._rest):
            self._close = re.compile(rf"[<\[]/{opened[1]}[>\]]", re.IGNORECASE)
            self._rest = self._rest[opened.end() :]
            self._state = "thinking"
        elif not any(tag.startswith(self._rest.lstrip().lower()) for tag in self._OPENING):
            self._state = "text"

    def _think(self) -> Iterator[Delta]:
        if closed := self._close.search(self._rest):
            thought, self._rest = self._rest[: closed.start()], self._rest[closed.end() :]
            self._state = "after"
        else:
            certain = max(0, len(self._rest) - len("</thinking>"))
            thought, self._rest = self._rest[:certain], self._rest[certain:]
        if thought:
            yield "reasoning", thought


@dataclass
class PartialToolCall:
    """A tool call whose arguments arrive in pieces of JSON, or as an object."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    parsed: Mapping[str, JsonValue] | None = None
    # Data of the vendor that the next request must contain.
    extra: JsonValue = None

    @property
    def complete(self) -> bool:
        """True if the arguments are a whole JSON object."""
        return self.parsed is not None or (self.arguments.rstrip()[-1:] == "}" and not self.build(0).unread)

    def build(self, index: int) -> ToolCall:
        """Return the call; arguments that are not a JSON object are kept in `unread`, for the model to repair."""
        name = self.id or f"call_{index}"
        try:
            arguments: Any = json.loads(self.arguments.strip() or "{}") if self.parsed is None else self.parsed
        except (ValueError, RecursionError):
            arguments = None
        if not isinstance(arguments, Mapping):
            return ToolCall(id=name, name=self.name, arguments={}, unread=self.arguments)
        return ToolCall(id=name, name=self.name, arguments=arguments)


@dataclass
class ReplyBuilder:
    """Collects the pieces of a reply, passes them on to `emit`, and builds the reply."""

    emit: Emit
    tools: list[PartialToolCall] = field(default_factory=list)
    # Pieces of a refusal by the model.
    refusals: list[str] = field(default_factory=list)
    deltas: DeltaBuffer = field(default_factory=DeltaBuffer)
    _thinking: ThinkingTags = field(default_factory=ThinkingTags)
    _texts: list[str] = field(default_factory=list)
    _thoughts: list[str] = field(default_factory=list)

    def text(self, piece: str) -> None:
        """Add a piece of the text, which may contain reasoning in tags."""
        self.deltas.add("text", piece)

    def reasoning(self, piece: str) -> None:
        """Add a piece of the reasoning."""
        if piece:
            self.deltas.add("reasoning", piece)

    def pass_on(self) -> None:
        """Emit the pieces that were added since the last time."""
        for kind, piece in self.deltas.flush():
            for delta in self._thinking.feed(piece) if kind == "text" else ((kind, piece),):
                self._emit(delta)

    def _emit(self, delta: Delta) -> None:
        kind, piece = delta
        (self._texts if kind == "text" else self._thoughts).append(piece)
        self.emit(kind, piece)

    def build(self, model: str, finish: Finish, opaque: JsonValue = None) -> ChatReply:
        """Return the reply. Raises `BadReply` if it is empty."""
        self.pass_on()
        for delta in self._thinking.end():
            self._emit(delta)
        text, reasoning = _split_reasoning("".join(self._texts), "".join(self._thoughts))
        unclosed = not text and finish == "stop" and self._thinking.unclosed
        if unclosed and reasoning.rstrip().endswith(_OBJECT_ENDS):
            text, reasoning = reasoning, ""
        if self.refusals and not text:
            text, finish = "".join(self.refusals), "content_filter"
        tools = tuple(call.build(index) for index, call in enumerate(self.tools)) if finish != "length" else ()
        if not text.strip() and not tools and finish in ("stop", "tool_calls"):
            raise BadReply(f"the reply of {model or 'the model'} {'is only reasoning' if reasoning else 'is empty'}")
        message = Message(role="assistant", text=text, tool_calls=tools, opaque=opaque)
        finish = "tool_calls" if tools and finish == "stop" else finish
        return ChatReply(message=message, reasoning=reasoning, model=model, finish_reason=finish)


def _split_reasoning(text: str, reasoning: str) -> tuple[str, str]:
    """Split off reasoning whose opening tag was part of the prompt template, so that only its end was written."""
    thought, closed, rest = text.partition("</think>")
    if not closed or reasoning or "<think>" in thought:
        return text, reasoning
    return rest.lstrip(), thought.strip()


# --- usage -----------------------------------------------------------------------------------------------------------


def parse_usage(data: Mapping[str, Any]) -> Usage:
    """Return the usage in the terms of any vendor; output tokens include reasoning tokens."""
    prompt = _count(data, "prompt_tokens", "input_tokens")
    output = _count(data, "completion_tokens", "output_tokens")
    inputs = _details(data, "prompt_tokens_details", "input_tokens_details")
    outputs = _details(data, "completion_tokens_details", "output_tokens_details")
    # DeepSeek, others, Moonshot
    cached = _count(data, "prompt_cache_hit_tokens", "num_cached_tokens", "cached_tokens")
    return Usage(
        input_tokens=prompt,
        cached_tokens=_count(inputs, "cached_tokens") or cached,
        output_tokens=max(output, _count(data, "total_tokens") - prompt),
        reasoning_tokens=_count(outputs, "reasoning_tokens") or _count(data, "reasoning_tokens"),
        cost=_cost(data),
    )


def _count(data: Mapping[str, Any], *names: str) -> int:
    values = (data.get(name) for name in names)
    return next((int(value) for value in values if isinstance(value, int | float) and 0 < value < inf), 0)


def _details(data: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    values = (data.get(name) for name in names)
    return next((value for value in values if isinstance(value, Mapping)), {})


def _cost(data: Mapping[str, Any]) -> Decimal | None:
    """Return the cost in US dollars as OpenRouter, Perplexity and xAI report it."""
    cost = data.get("cost")
    if isinstance(cost, Mapping):
        cost = cost.get("total_cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < inf:
        return Decimal(str(cost))
    ticks = data.get("cost_in_usd_ticks")  # xAI: 10^10 per dollar
    return Decimal(ticks) / 10**10 if isinstance(ticks, int) and ticks >= 0 else None
