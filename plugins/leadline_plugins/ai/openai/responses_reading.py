"""Reads a reply of `responses`: one object, or a stream of typed events, of which the last holds the whole."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

from pydantic import JsonValue

from leadline.contracts import Call
from leadline.errors import BadReply, Unavailable
from leadline.records import ChatReply
from leadline_plugins.ai.openai.reply import Finish, Growing, ToolParts, mappings

_INCOMPLETE: dict[str, Finish] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}
_ENDS = ("response.completed", "response.incomplete")
_TEXT_DELTAS = ("response.output_text.delta",)
_REASONING_DELTAS = ("response.reasoning_text.delta", "response.reasoning_summary_text.delta")


class ResponsesReading:
    """Takes the events of a response as they come."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._done: dict[Any, Mapping[str, Any]] = {}
        self._whole: Mapping[str, Any] | None = None
        self._streamed = False
        self._fresh: list[tuple[Literal["text", "reasoning"], str]] = []
        self.usage: Mapping[str, Any] | None = None

    @property
    def finished(self) -> bool:
        """Whether the response has come to its end."""
        return self._whole is not None

    def take(self, data: Mapping[str, Any]) -> None:
        """Take an event, or the whole. Raises `BadReply` for what is neither."""
        kind = str(data.get("type") or "")
        if data.get("object") == "response":
            self._end(data)
        elif not kind.startswith("response."):
            if not kind:
                raise BadReply(f"the answer is no response: it has {', '.join(map(str, data)) or 'nothing'}")
        elif kind in _ENDS:
            self._end(_object(data.get("response")))
        elif kind == "response.output_item.done":
            self._done[str(data.get("output_index", len(self._done)))] = _object(data.get("item"))
        else:
            self._delta(kind, data.get("delta"))

    def _delta(self, kind: str, delta: Any) -> None:
        if isinstance(delta, str) and kind in (*_TEXT_DELTAS, *_REASONING_DELTAS):
            self._streamed = True
            self._fresh.append(("text" if kind in _TEXT_DELTAS else "reasoning", delta))

    def pass_on(self) -> None:
        """Pass on the deltas that were taken, those of a kind together."""
        fresh, self._fresh = self._fresh, []
        for kind, deltas in groupby(fresh, itemgetter(0)):
            self._call.emit(kind, "".join(delta for _, delta in deltas))

    def _end(self, whole: Mapping[str, Any]) -> None:
        self._whole = whole
        usage = whole.get("usage")
        self.usage = usage if isinstance(usage, dict) else self.usage

    def reply(self) -> ChatReply:
        """Return the reply. Raises `BadReply` where it was cut off, or says nothing."""
        assert self._whole is not None
        status = self._whole.get("status") or "completed"
        if status not in ("completed", "incomplete"):
            raise BadReply(f"the response is not finished: its status is {status}")
        items = mappings(self._whole.get("output")) or [*self._done.values()]
        growing = Growing(_Silent(self._call) if self._streamed else self._call)
        for item in _final(items):
            _read(item, growing)
        sealed: list[JsonValue] = [
            dict(item) for item in items if item.get("type") == "reasoning" and item.get("encrypted_content")
        ]
        opaque: JsonValue = {"items": sealed} if sealed and growing.tools else None
        return growing.made(str(self._whole.get("model") or ""), self._finish(str(status)), opaque)

    def _finish(self, status: str) -> Finish:
        assert self._whole is not None
        if status == "completed":
            return "stop"
        reason = str(_object(self._whole.get("incomplete_details")).get("reason"))
        if reason not in _INCOMPLETE:
            raise Unavailable(f"the response is incomplete: {reason}")
        return _INCOMPLETE[reason]


class _Silent:
    """A call whose deltas have been passed on already."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)

    def emit(self, kind: str, delta: str) -> None:
        """Say nothing twice."""


def _final(items: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Leave out what the model said on the way, where it marked its final answer."""
    if not any(item.get("phase") == "final_answer" for item in items):
        return items
    return [item for item in items if item.get("type") != "message" or item.get("phase") == "final_answer"]


def _read(item: Mapping[str, Any], growing: Growing) -> None:
    match item.get("type"):
        case "message":
            growing.text("\n\n" if growing.texts else "")
            for part in mappings(item.get("content")):
                growing.text(str(part.get("text") or ""))
                if words := part.get("refusal"):
                    growing.refusal(str(words))
            growing.pass_on()
        case "reasoning":
            parts = [*mappings(item.get("content")), *mappings(item.get("summary"))]
            growing.reasoning("\n\n".join(str(part.get("text") or "") for part in parts))
        case "function_call":
            growing.tools.append(
                ToolParts(str(item.get("call_id") or ""), str(item.get("name")), str(item.get("arguments") or ""))
            )
        case "custom_tool_call":
            whole = {"input": str(item.get("input") or "")}
            growing.tools.append(ToolParts(str(item.get("call_id") or ""), str(item.get("name")), whole=whole))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
