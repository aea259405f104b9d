"""The responses API: request bodies and replies.

It serves the models that no other API serves, and users who select it. The vendor stores nothing (`store` is false):
the reasoning between tool calls travels encrypted, and returns with the next request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import JsonValue

from leadline.contracts import Call
from leadline.errors import BadReply, Unavailable
from leadline.records import ChatReply, ChatRequest, Message
from leadline_plugins.ai.openai.chat_completions import schema_format, with_schema
from leadline_plugins.ai.openai.endpoint_quirks import Quirks
from leadline_plugins.ai.openai.replies import DeltaBuffer, Finish, Kind, PartialToolCall, ReplyBuilder, objects_in

_INCOMPLETE: dict[str, Finish] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}


def request_body(request: ChatRequest, model: str, quirks: Quirks) -> dict[str, Any]:
    """Return the JSON of a request."""
    items = [item for message in with_schema(request, quirks) for item in _items(message)]
    body: dict[str, Any] = {"model": model, "input": items, "store": False}
    if quirks.stream:
        body["stream"] = True
    if request.tools:
        body["tools"] = [
            {"type": "function", "strict": False, **tool.model_dump(mode="json")} for tool in request.tools
        ]
        if request.allowed is not None and quirks.choice:
            tools = [{"type": "function", "name": name} for name in request.allowed]
            body["tool_choice"] = {"type": "allowed_tools", "mode": "auto", "tools": tools} if tools else "none"
        if quirks.include:
            body["include"] = ["reasoning.encrypted_content"]
    if request.json_schema is not None and quirks.form != "plain":
        body["text"] = {"format": schema_format(request.json_schema, quirks)}
    if request.max_tokens is not None:
        body["max_output_tokens"] = request.max_tokens
    if request.temperature is not None and quirks.temperature:
        body["temperature"] = request.temperature
    if request.effort is not None and quirks.effort:
        body["reasoning"] = {"effort": request.effort}
    return body


def _items(message: Message) -> Iterator[dict[str, Any]]:
    if message.role == "tool":
        yield {"type": "function_call_output", "call_id": message.tool_call_id, "output": message.text}
        return
    opaque = message.opaque if isinstance(message.opaque, dict) else {}
    yield from (dict(item) for item in objects_in(opaque.get("items")))
    if message.text or not message.tool_calls:
        yield {"role": message.role, "content": message.text}
    for tool in message.tool_calls:
        arguments = json.dumps(dict(tool.arguments), ensure_ascii=False)
        yield {"type": "function_call", "call_id": tool.id, "name": tool.name, "arguments": arguments}


class ResponsesReplyReader:
    """Reads one object, or a stream of typed events, of which the last contains the whole response."""

    _DELTAS: Mapping[str, Kind] = {
        "response.output_text.delta": "text",
        "response.reasoning_text.delta": "reasoning",
        "response.reasoning_summary_text.delta": "reasoning",
    }

    def __init__(self, call: Call) -> None:
        self._call = call
        self._items: dict[str, Mapping[str, Any]] = {}
        self._response: Mapping[str, Any] | None = None
        self._streamed = False
        self._deltas = DeltaBuffer()
        self.usage: Mapping[str, Any] | None = None

    @property
    def finished(self) -> bool:
        """True if the end of the response has arrived."""
        return self._response is not None

    def read(self, data: Mapping[str, Any]) -> None:
        """Read an event, or the whole response. Raises `BadReply` if it is neither."""
        kind = str(data.get("type") or "")
        if data.get("object") == "response":
            self._finish(data)
        elif not kind:
            raise BadReply(f"the answer is not a response: it has {', '.join(map(str, data)) or 'no fields'}")
        elif kind in ("response.completed", "response.incomplete"):
            self._finish(_object(data.get("response")))
        elif kind == "response.output_item.done":
            self._items[str(data.get("output_index", len(self._items)))] = _object(data.get("item"))
        elif kind in self._DELTAS and isinstance(delta := data.get("delta"), str):
            self._streamed = True
            self._deltas.add(self._DELTAS[kind], delta)

    def pass_on(self) -> None:
        """Pass on the deltas that were read."""
        for kind, words in self._deltas.flush():
            self._call.emit(kind, words)

    def _finish(self, response: Mapping[str, Any]) -> None:
        self._response = response
        usage = response.get("usage")
        self.usage = usage if isinstance(usage, dict) else self.usage

    def reply(self) -> ChatReply:
        """Return the reply. Raises `BadReply` if it was cut off or is empty."""
        assert self._response is not None
        status = str(self._response.get("status") or "completed")
        if status not in ("completed", "incomplete"):
            raise BadReply(f"the response is not finished: its status is {status}")
        items = objects_in(self._response.get("output")) or [*self._items.values()]
        builder = ReplyBuilder(_ignore if self._streamed else self._call.emit)
        _read_items(_final(items), builder)
        sealed: list[JsonValue] = [
            dict(item) for item in items if item.get("type") == "reasoning" and item.get("encrypted_content")
        ]
        opaque: JsonValue = {"items": sealed} if sealed and builder.tools else None
        return builder.build(str(self._response.get("model") or ""), _finish_reason(status, self._response), opaque)


def _ignore(kind: Kind, words: str) -> None:
    """Drop a piece, because its deltas were passed on already."""


def _finish_reason(status: str, response: Mapping[str, Any]) -> Finish:
    if status == "completed":
        return "stop"
    reason = str(_object(response.get("incomplete_details")).get("reason"))
    if reason not in _INCOMPLETE:
        raise Unavailable(f"the response is incomplete: {reason}")
    return _INCOMPLETE[reason]


def _final(items: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the items without earlier messages, if the model marked its final answer."""
    if not any(item.get("phase") == "final_answer" for item in items):
        return items
    return [item for item in items if item.get("type") != "message" or item.get("phase") == "final_answer"]


def _read_items(items: list[Mapping[str, Any]], builder: ReplyBuilder) -> None:
    messages = 0
    for item in items:
        call_id, name = str(item.get("call_id") or ""), str(item.get("name"))
        match item.get("type"):
            case "message":
                builder.text("\n\n" if messages else "")
                messages += 1
                for part in objects_in(item.get("content")):
                    builder.text(str(part.get("text") or ""))
                    if refusal := part.get("refusal"):
                        builder.refusals.append(str(refusal))
            case "reasoning":
                parts = [*objects_in(item.get("content")), *objects_in(item.get("summary"))]
                builder.reasoning("\n\n".join(str(part.get("text") or "") for part in parts))
            case "function_call":
                builder.tools.append(PartialToolCall(call_id, name, str(item.get("arguments") or "")))
            case "custom_tool_call":
                builder.tools.append(PartialToolCall(call_id, name, parsed={"input": str(item.get("input") or "")}))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
