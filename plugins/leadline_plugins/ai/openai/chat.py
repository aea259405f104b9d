"""The dialect `chat completions`: the request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from leadline.records import ChatRequest, Message, ToolCall
from leadline_plugins.ai.openai.manner import Manner
from leadline_plugins.ai.openai.schemas import name_of, strict

_OPAQUE = ("reasoning_details", "reasoning_content", "thinking_blocks")
"""Fields of an assistant's turn that some vendors want back unchanged in the next request."""


def body(request: ChatRequest, model: str, manner: Manner) -> dict[str, Any]:
    """Return the JSON of a request."""
    asked: dict[str, Any] = {"model": model, "messages": messages(request, manner)}
    if manner.stream:
        asked["stream"] = True
        if manner.usage:
            asked["stream_options"] = {"include_usage": True}
    if request.tools:
        asked["tools"] = [{"type": "function", "function": tool.model_dump(mode="json")} for tool in request.tools]
        if request.allowed is not None and manner.choice:
            asked["tool_choice"] = _choice(request.allowed)
    if request.json_schema is not None and manner.form != "plain":
        asked["response_format"] = _response_format(request.json_schema, manner)
    if request.max_tokens is not None:
        asked[manner.limit] = request.max_tokens
    if request.temperature is not None and manner.temperature:
        asked["temperature"] = request.temperature
    if request.effort is not None and manner.effort:
        asked["reasoning_effort"] = request.effort
    return asked


def _choice(allowed: tuple[str, ...]) -> str | dict[str, Any]:
    """Return the mask of tools: they stay defined, and only these may be called."""
    tools = [{"type": "function", "function": {"name": name}} for name in allowed]
    return {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": tools}} if tools else "none"


def _response_format(schema: Mapping[str, Any], manner: Manner) -> dict[str, Any]:
    if manner.form == "object":
        return {"type": "json_object"}
    closed = strict(schema) if manner.strict else None
    form = {"name": name_of(schema), "schema": closed or dict(schema), "strict": closed is not None}
    return {"type": "json_schema", "json_schema": form}


def messages(request: ChatRequest, manner: Manner) -> list[dict[str, Any]]:
    """Return the turns; where the endpoint has no system role, the instructions head the first turn of the user."""
    turns = [_turn(message) for message in with_schema(request, manner)]
    if manner.system:
        return turns
    instructions = "\n\n".join(turn["content"] for turn in turns if turn["role"] == "system")
    turns = [turn for turn in turns if turn["role"] != "system"] or [{"role": "user", "content": ""}]
    if instructions:
        turns[0] = turns[0] | {"content": f"{instructions}\n\n{turns[0]['content']}".strip()}
    return turns


def with_schema(request: ChatRequest, manner: Manner) -> tuple[Message, ...]:
    """Return the messages with the schema in words, where the endpoint cannot be held to it and nobody said it yet."""
    if request.json_schema is None or manner.form == "schema":
        return request.messages
    form = json.dumps(request.json_schema, ensure_ascii=False)
    if any(form in message.text for message in request.messages):
        return request.messages
    said = f"Reply with one JSON object of this schema and nothing else:\n{form}"
    first, *others = request.messages
    if first.role == "system":
        return (first.model_copy(update={"text": f"{first.text}\n\n{said}"}), *others)
    return (Message(role="system", text=said), *request.messages)


def _turn(message: Message) -> dict[str, Any]:
    turn: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.role == "tool":
        turn["tool_call_id"] = message.tool_call_id
    opaque = message.opaque if isinstance(message.opaque, dict) else {}
    if message.tool_calls:
        extra = opaque.get("extra_content")
        turn["tool_calls"] = [_asked(tool, extra if isinstance(extra, dict) else {}) for tool in message.tool_calls]
    return turn | {name: opaque[name] for name in _OPAQUE if name in opaque}


def _asked(tool: ToolCall, extra: Mapping[str, JsonValue]) -> dict[str, Any]:
    arguments = json.dumps(dict(tool.arguments), ensure_ascii=False)
    asked: dict[str, Any] = {
        "id": tool.id,
        "type": "function",
        "function": {"name": tool.name, "arguments": arguments},
    }
    return asked | ({"extra_content": extra[tool.id]} if tool.id in extra else {})
