"""Reads a reply of `chat completions`: one object, or the chunks of a stream, which have the same fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from leadline.contracts import Call
from leadline.errors import BadReply, Unavailable
from leadline.records import ChatReply
from leadline_plugins.ai.openai.reply import Finish, Growing, ToolParts, mappings
from leadline_plugins.ai.openai.thinking import ThinkingBlocks

FINISH: dict[str, Finish] = {
    "stop": "stop",
    "eos": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",  # Anthropic: it would go on if it were asked to
    **dict.fromkeys(
        ("content_filter", "safety", "sensitive", "recitation", "prohibited_content", "blocklist", "spii"),
        "content_filter",
    ),
}
"""In lower case, up to a colon: Gemini and Zhipu pass words of their own through."""
_BROKEN_OFF = ("error", "abort", "network_error", "malformed_function_call", "function_call_filter")


class ChatReading:
    """Takes the parts of a reply as they come."""

    def __init__(self, call: Call) -> None:
        self._growing = Growing(call)
        self._places: dict[Any, ToolParts] = {}
        self._details: list[dict[str, Any]] = []
        self._thoughts = ThinkingBlocks()
        self._streamed = False
        self._hands_back = False
        self._model = ""
        self._finish = ""
        self.usage: Mapping[str, Any] | None = None

    @property
    def finished(self) -> bool:
        """Whether the reply has come to its end."""
        return bool(self._finish)

    def pass_on(self) -> None:
        """Pass on the text of the chunks that were taken."""
        self._growing.pass_on()

    def take(self, data: Mapping[str, Any]) -> None:
        """Take a chunk, or the whole. Raises `BadReply` for what is neither."""
        groq = data.get("x_groq")
        usage = data.get("usage") or (groq.get("usage") if isinstance(groq, dict) else None)
        if isinstance(usage, dict):
            self.usage = usage
        self._model = str(data.get("model") or self._model)
        choices = data.get("choices")
        if not isinstance(choices, list):
            if self.usage is None and "id" not in data and not self._streamed:
                raise BadReply(f"the answer is no chat completion: it has {', '.join(map(str, data)) or 'nothing'}")
            return
        for choice in mappings(choices)[:1]:  # one is asked for, whatever its index says
            self._choice(choice)

    def _choice(self, choice: Mapping[str, Any]) -> None:
        self._finish = str(choice.get("finish_reason") or self._finish)
        if isinstance(usage := choice.get("usage"), dict):  # Moonshot
            self.usage = usage
        self._streamed = self._streamed or bool(choice.get("delta"))
        # The last chunk of MiniMax has the whole once more, as a message.
        piece = choice.get("delta") or (not self._streamed and choice.get("message")) or {}
        if not isinstance(piece, dict):
            raise BadReply("the answer is no chat completion: its message is no object")
        if isinstance(words := choice.get("text"), str):  # the older completions
            self._growing.text(words)
        self._reasoning(piece)
        self._content(piece.get("content"))
        if isinstance(words := piece.get("refusal"), str) and words:
            self._growing.refusal(words)
        for place, fragment in enumerate(mappings(piece.get("tool_calls"))):
            self._tool(fragment, place)

    def _reasoning(self, piece: Mapping[str, Any]) -> None:
        said = piece.get("reasoning_content") or piece.get("reasoning")
        for detail in mappings(piece.get("reasoning_details")):
            self._detail(dict(detail))
        self._thoughts.take(piece.get("thinking_blocks"))
        self._hands_back = self._hands_back or bool(piece.get("reasoning_content"))
        if isinstance(said, str):
            self._growing.reasoning(said)

    def _detail(self, detail: dict[str, Any]) -> None:
        """Join the fragments of one block of reasoning: it goes back to the vendor as a whole."""
        last = self._details[-1] if self._details else {}
        if not last or (last.get("type"), last.get("index")) != (detail.get("type"), detail.get("index")):
            self._details.append(detail)
            return
        for name, value in detail.items():
            joined = name in ("text", "summary", "data") and isinstance(value, str) and isinstance(last.get(name), str)
            if joined:
                last[name] += value
            elif value is not None:
                last[name] = value

    def _content(self, content: Any) -> None:
        if isinstance(content, str):
            self._growing.text(content)
        for part in content if isinstance(content, list) else ():
            self._part(part)

    def _part(self, part: Any) -> None:
        match part:
            case str():
                self._growing.text(part)
            case {"type": "thinking"}:  # Mistral
                inner = part.get("thinking")
                words = [inner] if isinstance(inner, str) else [str(one.get("text") or "") for one in mappings(inner)]
                self._growing.reasoning("".join(words))
            case {"text": str(text)}:
                self._growing.text(text)

    def _tool(self, fragment: Mapping[str, Any], place: int) -> None:
        """Join a fragment to its call: by its index; but a new id is a new call, whatever the index says.

        So is a name behind arguments that are whole: Gemini's calls side by side may all have the index 0, and no id.
        """
        index = str(fragment.get("index", place))
        given = str(fragment.get("id") or "")
        function = fragment.get("function") or {}
        if not isinstance(function, dict):
            return
        parts = self._places.get(index)
        another = parts and not given and function.get("name") and function.get("arguments") and parts.complete
        if parts is None or another or (given and parts.id and given != parts.id):
            parts = self._places[index] = ToolParts()
            self._growing.tools.append(parts)
        parts.id = parts.id or given
        parts.name = parts.name or str(function.get("name") or "")
        arguments = function.get("arguments")
        if isinstance(arguments, dict):  # Ollama
            parts.whole = arguments
        elif arguments:
            parts.arguments += str(arguments)
        parts.extra = fragment.get("extra_content") or parts.extra

    def reply(self) -> ChatReply:
        """Return the reply. Raises `BadReply` where it was cut off, or says nothing."""
        finish = self._finish.lower().partition(":")[0]
        if finish in _BROKEN_OFF:
            raise BadReply(f"the model {self._model} broke off its reply ({self._finish})")
        if finish == "insufficient_system_resource":  # DeepSeek
            raise Unavailable(f"the server of {self._model} has no capacity left")
        reply = self._growing.made(self._model, FINISH.get(finish, "stop"))
        if opaque := self._opaque(reply):
            message = reply.message.model_copy(update={"opaque": opaque})
            return reply.model_copy(update={"message": message})
        return reply

    def _opaque(self, reply: ChatReply) -> dict[str, JsonValue]:
        """Return what the vendor wants back: only where tools were called does the exchange go on."""
        calls = reply.message.tool_calls
        if not calls:
            return {}
        parts = zip(calls, self._growing.tools, strict=True)
        sealed = self._details or self._thoughts.whole
        found: dict[str, JsonValue] = {
            "reasoning_details": list(self._details),
            "thinking_blocks": self._thoughts.whole,
            "reasoning_content": reply.reasoning if self._hands_back and not sealed else "",
            "extra_content": {call.id: part.extra for call, part in parts if part.extra is not None},
        }
        return {name: value for name, value in found.items() if value}
