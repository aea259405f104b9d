"""What Anthropic, Gemini and Cohere answered, served again: litellm and we read it right, or say why not.

Slow, for litellm takes seconds to import. Skipped where it, or the recordings, are not at hand.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from leadline.errors import BadReply, ProviderError, RateLimited
from leadline.records import ChatRequest, Message
from leadline.testing.context import FakeCall, fake_context
from leadline.testing.servers import ScriptedAnswer, scripted_server
from leadline_plugins.ai.litellm.provider import Litellm
from leadline_plugins.ai.litellm.settings import LitellmSettings

HERE = Path(__file__).parents[4]
DATA = Path(os.environ.get("EVAL_DATA") or HERE.parent / "shared" / "data") / "apifix" / "fixtures.jsonl"
MODELS = {
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-2.5-flash",
    "google": "gemini/gemini-2.5-flash",
    "cohere": "cohere_chat/command-r",
}
ERRORS: dict[str, tuple[type[ProviderError], str]] = {
    "google-429-retry-info": (RateLimited, "rate limit"),
    # litellm's own limits, as of 1.110: tool calls without arguments in Gemini's streams, Cohere's streams.
    "google-stream-no-args-tool-call": (BadReply, "args"),
    "google-stream-tool-call-array-arguments": (BadReply, "args"),
    "cohere-empty-tool-call.chunks": (BadReply, "Error parsing chunk"),
    "cohere-reasoning.chunks": (BadReply, "Error parsing chunk"),
    # Of another protocol: nothing in it says that the reply is at its end.
    "tool-call-step2.chunks": (BadReply, "Stream ended before a finish_reason"),
}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # what litellm warns of in itself is not ours to mend
    pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed: pip install leadline[litellm]"),
]


def fixtures() -> Iterator[dict[str, Any]]:
    for line in DATA.read_text(encoding="utf-8").splitlines() if DATA.exists() else ():
        row = json.loads(line)
        uri = (row["request"] or {}).get("uri", "")
        chats = not uri or uri.split("?")[0].endswith(("/messages", ":generateContent", ":streamGenerateContent"))
        if vendor(row) in MODELS and chats and "anthropic.com" not in (uri if vendor(row) == "gemini" else ""):
            yield row


def vendor(row: dict[str, Any]) -> str:
    return str(row["provider"]).partition("-")[0]


ROWS = list(fixtures())


def served(row: dict[str, Any]) -> tuple[int, str, bytes]:
    """Return status, media type and body: the original bytes, or parsed JSON in the vendor's framing."""
    answer = row["response"]
    if answer["text"] is None:
        status = answer["status"] or answer["json"].get("error", {}).get("code") or 200
        return status, "application/json", json.dumps(answer["json"]).encode()
    if row["request"] or answer["text"].startswith("event:"):
        return 200, "text/event-stream", answer["text"].encode()
    events = [json.loads(line) for line in answer["text"].strip().splitlines()]
    named = [f"event: {event['type']}\n" if "type" in event else "" for event in events]
    lines = (f"{name}data: {json.dumps(event)}\n\n" for name, event in zip(named, events, strict=True))
    return 200, "text/event-stream", "".join(lines).encode()


def text_of(body: bytes) -> str:
    """Read the text of an answer in another way: by the vendor's own format, all of it at hand."""
    lines = [line.removeprefix("data:") for line in body.decode().splitlines() if line.startswith("data:")]
    found = ""
    for part in [json.loads(line) for line in lines] or [json.loads(body)]:
        if part.get("type") == "message_stop":
            return found
        found += "".join(block.get("text", "") for block in part.get("content", ()) if block["type"] == "text")
        delta = part.get("delta") or {}
        found += delta.get("text", "") if delta.get("type") == "text_delta" else ""
        for candidate in part.get("candidates", ()):
            parts = candidate.get("content", {}).get("parts", ())
            found += "".join(piece.get("text", "") for piece in parts if not piece.get("thought"))
        if part.get("message", {}).get("content") and part["message"].get("role") == "assistant":
            found += "".join(block.get("text", "") for block in part["message"]["content"])
    return found


@pytest.mark.skipif(not ROWS, reason=f"no recordings at {DATA}; EVAL_DATA names their folder")
@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
async def test_every_recorded_answer_is_read_or_reported(row: dict[str, Any], tmp_path: Path) -> None:
    status, media_type, body = served(row)
    context, call = fake_context(tmp_path, name="litellm"), FakeCall()
    request = ChatRequest(model=MODELS[vendor(row)], messages=(Message(role="user", text="Hello?"),))
    async with scripted_server(ScriptedAnswer(body, status, {"content-type": media_type})) as server:
        settings = LitellmSettings(api_base=server.url, api_key="k" * 20, stream="event" in media_type)
        model = Litellm(settings, context)
        expected = next((error for part, error in ERRORS.items() if part in row["id"]), None)
        if expected:
            with pytest.raises(expected[0], match=expected[1]) as caught:
                await model.chat(request, call)
            assert "Traceback" not in str(caught.value)
        else:
            reply = await model.chat(request, call)
            said = re.sub(r"^<thinking>.*?</thinking>", "", text_of(body), flags=re.DOTALL)
            if reply.finish_reason != "content_filter":  # litellm adds a text of its own
                assert reply.message.text.split() == said.split()
            assert reply.message.text or reply.message.tool_calls or reply.finish_reason == "content_filter"
            assert call.spent or reply.finish_reason == "content_filter"  # of a prompt that was blocked none is told
    await context.close()
