"""The dialect `responses`: the request.

It is used where it pays: for models that are served by nothing else, and where the settings ask for it. Nothing is
kept at the vendor (`store` is false): the reasoning of a turn with tools travels encrypted, and back with the next one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from leadline.records import ChatRequest, Message
from leadline_plugins.ai.openai.chat import with_schema
from leadline_plugins.ai.openai.manner import Manner
from leadline_plugins.ai.openai.schemas import name_of, strict


def body(request: ChatRequest, model: str, manner: Manner) -> dict[str, Any]:
    """Return the JSON of a request."""
    turns = with_schema(request, manner)
    asked: dict[str, Any] = {"model": model, "input": [item for turn in turns for item in _items(turn)], "store": False}
    if manner.stream:
        asked["stream"] = True
    if request.tools:
        asked["tools"] = [
            {"type": "function", "strict": False, **tool.model_dump(mode="json")} for tool in request.tools
        ]
        if request.allowed is not None and manner.choice:
            asked["tool_choice"] = _choice(request.allowed)
        if manner.include:
            asked["include"] = ["reasoning.encrypted_content"]
    if request.json_schema is not None and manner.form != "plain":
        asked["text"] = {"format": _format(request.json_schema, manner)}
    if request.max_tokens is not None:
        asked["max_output_tokens"] = request.max_tokens
    if request.temperature is not None and manner.temperature:
        asked["temperature"] = request.temperature
    if request.effort is not None and manner.effort:
        asked["reasoning"] = {"effort": request.effort}
    return asked


def _choice(allowed: tuple[str, ...]) -> str | dict[str, Any]:
    tools = [{"type": "function", "name": name} for name in allowed]
    return {"type": "allowed_tools", "mode": "auto", "tools": tools} if tools else "none"


def _format(schema: Mapping[str, Any], manner: Manner) -> dict[str, Any]:
    if manner.form == "object":
        return {"type": "json_object"}
    closed = strict(schema) if manner.strict else None
    return {
        "type": "json_schema",
        "name": name_of(schema),
        "schema": closed or dict(schema),
        "strict": closed is not None,
    }


def _items(message: Message) -> Iterator[dict[str, Any]]:
    if message.role == "tool":
        yield {"type": "function_call_output", "call_id": message.tool_call_id, "output": message.text}
        return
    opaque = message.opaque if isinstance(message.opaque, dict) else {}
    kept = opaque.get("items")
    yield from (item for item in (kept if isinstance(kept, list) else ()) if isinstance(item, dict))
    if message.text or not message.tool_calls:
        yield {"role": message.role, "content": message.text}
    for tool in message.tool_calls:
        arguments = json.dumps(dict(tool.arguments), ensure_ascii=False)
        yield {"type": "function_call", "call_id": tool.id, "name": tool.name, "arguments": arguments}
