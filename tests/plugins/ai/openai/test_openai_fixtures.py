"""What real servers answered, served again: every one is read right, or is a clear error of the right kind.

Skipped where the recordings are not at hand: they are not ours to ship.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from leadline.errors import BadReply, ProviderError, QuotaSpent, RateLimited, Unsupported
from leadline.testing.context import FakeCall
from leadline.testing.servers import ScriptedAnswer, ScriptedServer

HERE = Path(__file__).parents[4]
DATA = Path(os.environ.get("EVAL_DATA") or HERE.parent / "shared" / "data") / "apifix" / "fixtures.jsonl"
VENDORS = ("openai", "groq", "deepseek", "mistral", "openrouter", "xai", "perplexity")
ERRORS: dict[str, tuple[type[ProviderError], str]] = {
    "test_deepseek_responses_rejects_interleaved": (Unsupported, "No tool output found"),
    "test_tool_use_failed_error_with_text": (BadReply, "Tool choice is required"),
    "test_tool_use_failed_error_streaming#0": (BadReply, "Tool call validation failed"),
    "groq/test_tool_regular_error": (Unsupported, "no model"),
    "test_openai_web_search_tool_model_not_supported": (Unsupported, "Web search options not supported"),
    "test_openai_responses_model_http_error": (Unsupported, "decimal below minimum"),
    "reasoning-model-legacy-parameter-error": (Unsupported, "max_completion_tokens"),
    "openai-error.1": (QuotaSpent, "no quota or credit left"),
    "test_openrouter_errors_raised": (RateLimited, "temporarily rate-limited upstream"),
    "openai-chat/test_invalid_response": (BadReply, "not a chat completion"),
    "test_background_mode_streaming_without_starting_after": (BadReply, "its status is queued"),
    "openai-client-tool-search.1": (BadReply, "is empty"),
}
ELSEWHERE = ("/files", "/conversations", "/vector_stores", "generateContent", "/TR/", "/compact")
"""Answers to requests that no chat makes."""


def fixtures() -> Iterator[dict[str, Any]]:
    if not DATA.exists():
        return
    for line in DATA.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        uri = (row["request"] or {}).get("uri", "")
        if row["provider"].startswith(VENDORS) and not any(part in uri for part in ELSEWHERE):
            yield row


ROWS = list(fixtures())
needs_data = pytest.mark.skipif(not ROWS, reason=f"no recordings at {DATA}; EVAL_DATA names their folder")


def served(row: dict[str, Any]) -> tuple[int, str, bytes]:
    """Return status, media type and body: the original bytes, or parsed JSON in the vendor's framing."""
    answer = row["response"]
    if answer["text"] is None:
        is_error = answer["status"] is None and set(answer["json"]) == {"error"}
        return answer["status"] or (400 if is_error else 200), "application/json", json.dumps(answer["json"]).encode()
    text = answer["text"]
    if answer["headers"]:
        return answer["status"], answer["headers"]["content-type"][0], text.encode()
    lines = text.strip().splitlines()
    responding = '"type":"response.' in lines[0].replace(" ", "")
    names = [f"event: {json.loads(line)['type']}\n" if responding else "" for line in lines]
    framed = "".join(f"{name}data: {line}\n\n" for name, line in zip(names, lines, strict=True))
    return 200, "text/event-stream", (framed + ("" if responding else "data: [DONE]\n\n")).encode()


def dialect(row: dict[str, Any], body: bytes) -> str:
    head = body[:20_000].replace(b" ", b"")
    said = b'"type":"response.' in head or b'"object":"response"' in head or b'"output":[' in head
    uri = (row["request"] or {}).get("uri", "")
    return "responses" if said or uri.endswith("/responses") else "chat"


@needs_data
@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
async def test_every_recorded_answer_is_read_or_reported(
    row: dict[str, Any], server: ScriptedServer, provider: Callable[..., Any], call: FakeCall
) -> None:
    status, media_type, body = served(row)
    server.answers = [ScriptedAnswer(body, status, {"content-type": media_type})]
    model = provider(api=dialect(row, body))
    expected = next((error for part, error in ERRORS.items() if part in row["id"]), None)
    if expected:
        with pytest.raises(expected[0], match=expected[1]):
            await model.ask()
        return
    reply = await model.ask()
    want = Oracle(body.decode())
    assert reply.message.text.strip() == want.text.strip()
    assert [(tool.name, dict(tool.arguments)) for tool in reply.message.tool_calls] == want.tools
    assert reply.model == want.model
    assert [usage.input_tokens for usage in call.spent] == want.input_tokens
    assert bool(reply.reasoning) == want.reasoned
    assert "".join(piece for kind, piece in call.emitted if kind == "reasoning") == reply.reasoning


class Oracle:
    """Reads an answer in another way than the provider: all of it at hand, by its final parts."""

    def __init__(self, body: str) -> None:
        lines = [line.removeprefix("data:").strip() for line in body.splitlines() if line.startswith("data:")]
        events = [json.loads(line) for line in lines if line != "[DONE]"] or [json.loads(body)]
        self.text, self.reasoned = "", False
        self.tools: list[tuple[str, Any]] = []
        self.model = ""
        self.input_tokens: list[int] = []
        last = events[-1].get("response", events[-1])
        if "output" in last:
            self._response(last)
        else:
            self._chat(events)

    def _response(self, whole: dict[str, Any]) -> None:
        self.model = whole["model"]
        self.input_tokens = [whole["usage"]["input_tokens"]]
        said = [item for item in whole["output"] if item["type"] == "message"]
        final = [item for item in said if item.get("phase") == "final_answer"] or said
        self.text = "\n\n".join("".join(part["text"] for part in item["content"]) for item in final)
        for item in whole["output"]:
            if item["type"] == "function_call":
                self.tools.append((item["name"], json.loads(item["arguments"])))
            elif item["type"] == "custom_tool_call":
                self.tools.append((item["name"], {"input": item["input"]}))
            elif item["type"] == "reasoning":
                parts = [*(item.get("content") or []), *item["summary"]]
                self.reasoned = self.reasoned or any(part["text"] for part in parts)

    def _chat(self, events: list[dict[str, Any]]) -> None:
        arguments: dict[int, list[str]] = {}
        for event in events:
            self.model = event.get("model") or self.model
            if event.get("usage"):
                self.input_tokens = [event["usage"]["prompt_tokens"]]
            for choice in event["choices"]:
                piece = choice.get("delta") or choice.get("message") or {"content": choice.get("text")}
                self._piece(piece, arguments)
        self.tools = [(names[0], json.loads("".join(parts) or "{}")) for names, *parts in arguments.values()]
        if self.text.lstrip().startswith("<think>"):
            self.reasoned, self.text = True, self.text.partition("</think>")[2]

    def _piece(self, piece: dict[str, Any], arguments: dict[int, Any]) -> None:
        content = piece.get("content") or ""
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        self.text += "".join(part["text"] for part in parts if part["type"] == "text")
        thought = any(part["type"] == "thinking" for part in parts)
        self.reasoned = self.reasoned or thought or bool(piece.get("reasoning") or piece.get("reasoning_content"))
        for place, tool in enumerate(piece.get("tool_calls") or []):
            entry = arguments.setdefault(tool.get("index", place), [[tool["function"].get("name")]])
            entry.append(tool["function"].get("arguments", ""))


def test_the_recordings_cover_every_vendor() -> None:
    assert not ROWS or {row["provider"].partition("-")[0] for row in ROWS} == set(VENDORS)
