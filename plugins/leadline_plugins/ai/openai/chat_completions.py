"""The chat completions API: request bodies and replies."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from leadline.contracts import Call
from leadline.errors import BadReply, Unavailable
from leadline.records import ChatReply, ChatRequest, Message, ToolCall
from leadline_plugins.ai.openai.endpoint_quirks import Quirks
from leadline_plugins.ai.openai.replies import Finish, PartialToolCall, ReplyBuilder, objects_in

# Fields of an assistant message that some vendors require unchanged in the next request.
_OPAQUE = ("reasoning_details", "reasoning_content", "thinking_blocks")
# Finish reasons in lower case, up to a colon: Gemini and Zhipu pass on their own.
FINISH: dict[str, Finish] = {
    "stop": "stop",
    "eos": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",  # Anthropic: another request would continue the reply
    **dict.fromkeys(
        ("content_filter", "safety", "sensitive", "recitation", "prohibited_content", "blocklist", "spii"),
        "content_filter",
    ),
}
_FAILED = ("error", "abort", "network_error", "malformed_function_call", "function_call_filter")


# --- requests --------------------------------------------------------------------------------------------------------


def request_body(request: ChatRequest, model: str, quirks: Quirks) -> dict[str, Any]:
    """Return the JSON of a request."""
    body: dict[str, Any] = {"model": model, "messages": _messages(request, quirks)}
    if quirks.stream:
        body["stream"] = True
        if quirks.usage:
            body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [{"type": "function", "function": tool.model_dump(mode="json")} for tool in request.tools]
        if request.allowed is not None and quirks.choice:
            body["tool_choice"] = _tool_choice(request.allowed)
    if request.json_schema is not None and quirks.form != "plain":
        format_ = schema_format(request.json_schema, quirks)
        type_ = format_.pop("type")
        body["response_format"] = {"type": type_} | ({type_: format_} if format_ else {})
    if request.max_tokens is not None:
        body[quirks.limit] = request.max_tokens
    if request.temperature is not None and quirks.temperature:
        body["temperature"] = request.temperature
    if request.effort is not None and quirks.effort:
        body["reasoning_effort"] = request.effort
    return body


def _tool_choice(allowed: tuple[str, ...]) -> str | dict[str, Any]:
    """Return the restriction to some of the tools; all of them stay defined."""
    tools = [{"type": "function", "function": {"name": name}} for name in allowed]
    return {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": tools}} if tools else "none"


def _messages(request: ChatRequest, quirks: Quirks) -> list[dict[str, Any]]:
    """Return the messages; without a system role the first user message starts with the instructions."""
    messages = [_message(message) for message in with_schema(request, quirks)]
    if quirks.system:
        return messages
    instructions = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    messages = [message for message in messages if message["role"] != "system"] or [{"role": "user", "content": ""}]
    if instructions:
        messages[0] = messages[0] | {"content": f"{instructions}\n\n{messages[0]['content']}".strip()}
    return messages


def with_schema(request: ChatRequest, quirks: Quirks) -> tuple[Message, ...]:
    """Return the messages, with the schema in words if the endpoint cannot enforce it and no message contains it."""
    if request.json_schema is None or quirks.form == "schema":
        return request.messages
    schema = json.dumps(request.json_schema, ensure_ascii=False)
    if any(schema in message.text for message in request.messages):
        return request.messages
    instruction = f"Reply with one JSON object of this schema and nothing else:\n{schema}"
    first, *rest = request.messages
    if first.role == "system":
        return (first.model_copy(update={"text": f"{first.text}\n\n{instruction}"}), *rest)
    return (Message(role="system", text=instruction), *request.messages)


def _message(message: Message) -> dict[str, Any]:
    data: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.role == "tool":
        data["tool_call_id"] = message.tool_call_id
    opaque = message.opaque if isinstance(message.opaque, dict) else {}
    if message.tool_calls:
        extra = opaque.get("extra_content")
        data["tool_calls"] = [_tool_call(call, extra if isinstance(extra, dict) else {}) for call in message.tool_calls]
    return data | {name: opaque[name] for name in _OPAQUE if name in opaque}


def _tool_call(call: ToolCall, extra: Mapping[str, JsonValue]) -> dict[str, Any]:
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
    data: dict[str, Any] = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
    return data | ({"extra_content": extra[call.id]} if call.id in extra else {})


# --- schemas of replies ----------------------------------------------------------------------------------------------

_NOT_STRICT = ("prefixItems", "patternProperties", "unevaluatedProperties", "not")


def schema_format(schema: Mapping[str, Any], quirks: Quirks) -> dict[str, Any]:
    """Return the format of a structured reply; strict where the schema allows it."""
    if quirks.form == "object":
        return {"type": "json_object"}
    closed = strict_schema(schema) if quirks.strict else None
    name = re.sub(r"[^A-Za-z0-9_-]", "_", str(schema.get("title") or "reply"))[:64]
    return {"type": "json_schema", "name": name, "schema": closed or dict(schema), "strict": closed is not None}


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the schema with every property required and no other allowed, as strict decoding demands.

    None if that is impossible: an object with free keys, a tuple.
    """
    try:
        closed = _closed(schema)
    except _OpenError:
        return None
    return closed if closed.get("type") == "object" else None


class _OpenError(Exception):
    """A part of the schema cannot be closed."""


def _closed(node: Any) -> Any:
    if isinstance(node, list):
        return [_closed(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    if "$ref" in node:
        return {"$ref": node["$ref"]}  # strict decoding allows no sibling of a reference
    if any(name in node for name in _NOT_STRICT):
        raise _OpenError
    copy = {name: value for name, value in node.items() if name != "default"}
    for name in copy.keys() & {"properties", "$defs"}:
        copy[name] = {key: _closed(value) for key, value in copy[name].items()}
    for name in copy.keys() & {"items", "anyOf", "allOf", "oneOf"}:
        copy[name] = _closed(copy[name])
    if copy.get("type") == "object":
        if "properties" not in copy or copy.get("additionalProperties") not in (None, False):
            raise _OpenError
        return copy | {"required": list(copy["properties"]), "additionalProperties": False}
    if not {"type", "anyOf", "allOf", "oneOf", "enum", "const"} & set(copy):  # it allows anything
        raise _OpenError
    return copy


# --- replies ---------------------------------------------------------------------------------------------------------


class ChatReplyReader:
    """Reads one object, or the chunks of a stream, which have the same fields."""

    def __init__(self, call: Call) -> None:
        self._builder = ReplyBuilder(call.emit)
        self._open_calls: dict[str, PartialToolCall] = {}
        self._reasoning_details: list[dict[str, Any]] = []
        self._thinking_blocks: list[dict[str, Any]] = []
        self._streamed = False
        # Whether the vendor wants the reasoning back in the next request.
        self._returns_reasoning = False
        self._model = ""
        self._finish = ""
        self.usage: Mapping[str, Any] | None = None

    @property
    def finished(self) -> bool:
        """True if the end of the reply has arrived."""
        return bool(self._finish)

    def pass_on(self) -> None:
        """Pass on the text and reasoning of the chunks that were read."""
        self._builder.pass_on()

    def read(self, data: Mapping[str, Any]) -> None:
        """Read a chunk, or the whole reply. Raises `BadReply` if it is neither."""
        groq = data.get("x_groq")
        usage = data.get("usage") or (groq.get("usage") if isinstance(groq, dict) else None)
        if isinstance(usage, dict):
            self.usage = usage
        self._model = str(data.get("model") or self._model)
        choices = data.get("choices")
        if not isinstance(choices, list):
            if self.usage is None and "id" not in data and not self._streamed:
                raise BadReply(
                    f"the answer is not a chat completion: it has {', '.join(map(str, data)) or 'no fields'}"
                )
            return
        for choice in objects_in(choices)[:1]:
            self._read_choice(choice)

    def _read_choice(self, choice: Mapping[str, Any]) -> None:
        self._finish = str(choice.get("finish_reason") or self._finish)
        if isinstance(usage := choice.get("usage"), dict):  # Moonshot
            self.usage = usage
        self._streamed = self._streamed or bool(choice.get("delta"))
        # The last chunk of MiniMax repeats the whole reply as a message.
        piece = choice.get("delta") or (not self._streamed and choice.get("message")) or {}
        if not isinstance(piece, dict):
            raise BadReply("the answer is not a chat completion: its message is not an object")
        if isinstance(text := choice.get("text"), str):  # the older completions API
            self._builder.text(text)
        self._read_reasoning(piece)
        content = piece.get("content")
        for part in content if isinstance(content, list) else (content,):
            self._read_part(part)
        if isinstance(refusal := piece.get("refusal"), str) and refusal:
            self._builder.refusals.append(refusal)
        for index, fragment in enumerate(objects_in(piece.get("tool_calls"))):
            self._read_tool_call(fragment, index)

    def _read_part(self, part: Any) -> None:
        match part:
            case str():
                self._builder.text(part)
            case {"type": "thinking", "thinking": str(words)}:  # Mistral
                self._builder.reasoning(words)
            case {"type": "thinking"}:
                for inner in objects_in(part.get("thinking")):
                    self._builder.reasoning(str(inner.get("text") or ""))
            case {"text": str(words)}:
                self._builder.text(words)

    def _read_reasoning(self, piece: Mapping[str, Any]) -> None:
        for detail in objects_in(piece.get("reasoning_details")):
            _join_detail(self._reasoning_details, detail)
        for block in objects_in(piece.get("thinking_blocks")):
            _join_block(self._thinking_blocks, block)
        self._returns_reasoning = self._returns_reasoning or bool(piece.get("reasoning_content"))
        words = piece.get("reasoning_content") or piece.get("reasoning")
        if isinstance(words, str):
            self._builder.reasoning(words)

    def _read_tool_call(self, fragment: Mapping[str, Any], position: int) -> None:
        """Add a fragment to the call of its index, or begin a call.

        A new id begins a call whatever the index is. So does a name after complete arguments: Gemini's parallel calls
        may all have the index 0 and no id.
        """
        index = str(fragment.get("index", position))
        call_id = str(fragment.get("id") or "")
        function = fragment.get("function") or {}
        if not isinstance(function, dict):
            return
        call = self._open_calls.get(index)
        unnumbered = call and not call_id and function.get("name") and function.get("arguments") and call.complete
        if call is None or unnumbered or (call_id and call.id and call_id != call.id):
            call = self._open_calls[index] = PartialToolCall()
            self._builder.tools.append(call)
        call.id = call.id or call_id
        call.name = call.name or str(function.get("name") or "")
        arguments = function.get("arguments")
        if isinstance(arguments, dict):  # Ollama
            call.parsed = arguments
        elif arguments:
            call.arguments += str(arguments)
        call.extra = fragment.get("extra_content") or call.extra

    def reply(self) -> ChatReply:
        """Return the reply. Raises `BadReply` if it was cut off or is empty."""
        finish = self._finish.lower().partition(":")[0]
        if finish in _FAILED:
            raise BadReply(f"the model {self._model} stopped in the middle of its reply ({self._finish})")
        if finish == "insufficient_system_resource":  # DeepSeek
            raise Unavailable(f"the server of {self._model} has no capacity left")
        reply = self._builder.build(self._model, FINISH.get(finish, "stop"))
        if opaque := self._opaque(reply):
            return reply.model_copy(update={"message": reply.message.model_copy(update={"opaque": opaque})})
        return reply

    def _opaque(self, reply: ChatReply) -> dict[str, JsonValue]:
        """Return the vendor's data for the next request, which only follows after tool calls."""
        calls = reply.message.tool_calls
        if not calls:
            return {}
        # Anthropic refuses a block without a signature.
        blocks: list[JsonValue] = [
            block for block in self._thinking_blocks if block.get("signature") or block.get("data")
        ]
        sealed = self._reasoning_details or blocks
        partial = zip(calls, self._builder.tools, strict=True)
        data: dict[str, JsonValue] = {
            "reasoning_details": list(self._reasoning_details),
            "thinking_blocks": blocks,
            "reasoning_content": reply.reasoning if self._returns_reasoning and not sealed else "",
            "extra_content": {call.id: parts.extra for call, parts in partial if parts.extra is not None},
        }
        return {name: value for name, value in data.items() if value}


def _join_detail(details: list[dict[str, Any]], piece: Mapping[str, Any]) -> None:
    """Add a fragment of OpenRouter's reasoning to its block."""
    last = details[-1] if details else {}
    if not last or (last.get("type"), last.get("index")) != (piece.get("type"), piece.get("index")):
        details.append(dict(piece))
        return
    for name, value in piece.items():
        if name in ("text", "summary", "data") and isinstance(value, str) and isinstance(last.get(name), str):
            last[name] += value
        elif value is not None:
            last[name] = value


def _join_block(blocks: list[dict[str, Any]], piece: Mapping[str, Any]) -> None:
    """Add a fragment of Anthropic's reasoning, as litellm passes it on, to its block; the signature comes last."""
    last = blocks[-1] if blocks else {}
    if not (last.get("type") == piece.get("type") == "thinking" and not last.get("signature")):
        blocks.append(dict(piece))
        return
    last["thinking"] = str(last.get("thinking") or "") + str(piece.get("thinking") or "")
    if signature := piece.get("signature"):
        last["signature"] = signature
