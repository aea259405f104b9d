"""What goes over the wire through the real litellm, and what comes of it; skipped where it is not installed."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from leadline.errors import BadReply, ProviderError, Unavailable
from leadline.records import ChatReply, ChatRequest, EmbedRequest, Message, Tool
from leadline.testing.context import FakeCall, fake_context
from leadline.testing.servers import ScriptedAnswer, ScriptedServer, json_answer, scripted_server
from leadline_plugins.ai.litellm.provider import Litellm, LitellmEmbedder, load
from leadline_plugins.ai.litellm.settings import LitellmSettings

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # what litellm warns of in itself is not ours to mend
    pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed: pip install leadline[litellm]"),
]
CLAUDE, GEMINI, OPENAI, OLLAMA = "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash", "openai/m", "ollama_chat/x"
TOOL = Tool(name="look", description="d", parameters={"type": "object", "properties": {"q": {"type": "string"}}})


def sse(*events: dict[str, Any]) -> tuple[bytes, ...]:
    named = ((f"event: {event['type']}\n" if "type" in event else "", json.dumps(event)) for event in events)
    return tuple(f"{name}data: {data}\n\n".encode() for name, data in named)


def streamed(*pieces: bytes, media_type: str = "text/event-stream") -> ScriptedAnswer:
    return ScriptedAnswer(pieces=pieces, headers={"content-type": media_type})


async def chat(
    server: ScriptedServer, folder: Path, model: str, call: FakeCall | None = None, **settings: Any
) -> tuple[ChatReply, FakeCall]:
    context, call = fake_context(folder, name="litellm"), call or FakeCall()
    provider = Litellm(LitellmSettings(api_base=server.url, api_key="k" * 20, **settings), context)
    try:
        request = ChatRequest(model=model, messages=(Message(role="user", text="Hello?"),))
        return await provider.chat(request, call), call
    finally:
        await context.close()


def of_openai(finish: str | None, text: str = "", **more: Any) -> dict[str, Any]:
    delta = {"role": "assistant", "content": text} if text else {}
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": choices, **more}


def of_gemini(finish: str | None, text: str) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 3, "totalTokenCount": 8}
    return {
        "candidates": [candidate | ({"finishReason": finish} if finish else {})],
        "usageMetadata": usage,
        "modelVersion": "g",
    }


def of_claude(stop: str | None, *blocks: dict[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": 100, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 2000}
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": list(blocks),
        "stop_reason": stop,
        "usage": usage | {"output_tokens": 50},
    }


CLAUDE_HALF: Sequence[dict[str, Any]] = (
    {"type": "message_start", "message": of_claude(None)},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Half a"}},
)


def claude_end(stop: str) -> Sequence[dict[str, Any]]:
    return (
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    )


def of_ollama(text: str, *, done: bool) -> bytes:
    end = {"done_reason": "stop", "prompt_eval_count": 5, "eval_count": 3} if done else {}
    said = {"model": "x", "message": {"role": "assistant", "content": text}, "done": done, **end}
    return json.dumps(said).encode() + b"\n"


NDJSON = "application/x-ndjson"
DONE = b"data: [DONE]\n\n"
HALVES = [
    (CLAUDE, streamed(*sse(*CLAUDE_HALF))),
    (GEMINI, streamed(*sse(of_gemini(None, "Half a")))),
    (OPENAI, streamed(*sse(of_openai(None, "Half a")))),
    ("mistral/m", streamed(*sse(of_openai(None, "Half a")))),
    (OLLAMA, streamed(of_ollama("Half a", done=False), media_type=NDJSON)),
]
WHOLES = [
    (CLAUDE, streamed(*sse(*CLAUDE_HALF, *claude_end("end_turn"))), "stop"),
    (CLAUDE, streamed(*sse(*CLAUDE_HALF, *claude_end("model_context_window_exceeded"))), "length"),
    (GEMINI, streamed(*sse(of_gemini(None, "Half"), of_gemini("STOP", " a"))), "stop"),
    (GEMINI, streamed(*sse(of_gemini("MAX_TOKENS", "Half a"))), "length"),
    (OPENAI, streamed(*sse(of_openai(None, "Half a"), of_openai("stop")), DONE), "stop"),
    ("mistral/m", streamed(*sse(of_openai(None, "Half a"), of_openai("stop")), DONE), "stop"),
    (OLLAMA, streamed(of_ollama("Half a", done=False), of_ollama("", done=True), media_type=NDJSON), "stop"),
]


@pytest.mark.parametrize(("model", "answer"), HALVES, ids=[model for model, _ in HALVES])
async def test_a_stream_without_an_end_is_a_bad_reply(tmp_path: Path, model: str, answer: ScriptedAnswer) -> None:
    call = FakeCall()
    async with scripted_server(answer) as server:
        with pytest.raises(BadReply, match="Stream ended before a finish_reason|cut off before its end"):
            await chat(server, tmp_path, model, call, stream=True)
    # A server of its own: litellm asks Ollama's once more by itself, and stands still for it.
    async with scripted_server(replace(answer, cut=True)) as server:
        with pytest.raises(Unavailable, match="broke"):
            await chat(server, tmp_path, model, call, stream=True)
    assert call.emitted == [("text", "Half a")] * 2  # what came, came


@pytest.mark.parametrize(("model", "answer", "finish"), WHOLES)
async def test_a_stream_with_a_finish_reason_is_a_reply(
    tmp_path: Path, model: str, answer: ScriptedAnswer, finish: str
) -> None:
    async with scripted_server(answer) as server:
        reply, _ = await chat(server, tmp_path, model, stream=True)
    assert (reply.message.text, reply.finish_reason) == ("Half a", finish)


async def test_token_counts_of_litellm_itself_are_ignored(tmp_path: Path) -> None:
    said = sse(of_openai(None, "Hello"), of_openai("stop"))
    usage = sse({**of_openai(None), "choices": [], "usage": {"prompt_tokens": 70, "completion_tokens": 8}})
    async with scripted_server(streamed(*said, DONE), streamed(*said, *usage, DONE)) as server:
        _, untold = await chat(server, tmp_path, OPENAI, stream=True)
        _, told = await chat(server, tmp_path, OPENAI, stream=True)
    assert untold.spent == []
    assert [(usage.input_tokens, usage.output_tokens) for usage in told.spent] == [(70, 8)]


@pytest.mark.parametrize("model", [GEMINI, OPENAI])
async def test_silence_of_any_vendor_is_reported(tmp_path: Path, model: str) -> None:
    async with scripted_server(ScriptedAnswer(wait=3)) as server:
        with pytest.raises(Unavailable, match=r"silent for 0.2 s \(read_timeout\)"):
            await chat(server, tmp_path, model, stream=True, read_timeout=0.2, connect_timeout=0.2)


@pytest.mark.parametrize("model", [OPENAI, "mistral/m"])
async def test_a_complete_reply_is_returned_before_the_connection_ends(tmp_path: Path, model: str) -> None:
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b"".join(sse(of_openai(None, "Half a"), of_openai("stop")))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + body)
        await gone.wait()
        writer.close()

    server = ScriptedServer()
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        reply, call = await chat(server, tmp_path, model, stream=True)
        gone.set()
    assert (reply.message.text, reply.finish_reason, call.spent) == ("Half a", "stop", [])


async def test_a_usage_of_zeros_is_ignored(tmp_path: Path) -> None:
    message = {"role": "assistant", "content": "Hi"}
    said = {"id": "c", "object": "chat.completion", "choices": [{"finish_reason": "stop", "message": message}]}
    async with scripted_server(json_answer(said)) as server:
        reply, call = await chat(server, tmp_path, OPENAI, stream=False)
    assert (reply.message.text, call.spent) == ("Hi", [])


async def test_a_tool_loop_returns_signed_thoughts_without_another_package(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "Let me.", "signature": "SIG"}
    first = of_claude("tool_use", thought, {"type": "tool_use", "id": "t1", "name": "look", "input": {"q": "x"}})
    answers = [json_answer(first), json_answer(of_claude("end_turn", {"type": "text", "text": "done"}))]
    context = fake_context(tmp_path, name="litellm")
    async with scripted_server(*answers) as server:
        settings = LitellmSettings(api_base=server.url, api_key="k" * 20, stream=False, extra={"max_tokens": 77})
        provider = Litellm(settings, context)
        asked = ChatRequest(model=CLAUDE, messages=(Message(role="user", text="Go"),), tools=(TOOL,), max_tokens=9)
        called = (await provider.chat(asked, FakeCall())).message
        told = Message(role="tool", text="RESULT", tool_call_id="t1")
        again = asked.model_copy(update={"messages": (*asked.messages, called, told)})
        reply = await provider.chat(again, FakeCall())
    await context.close()
    assert reply.message.text == "done"
    turn = server.asked[1].body["messages"][1]["content"]
    assert turn == [thought, {"type": "tool_use", "id": "t1", "name": "look", "input": {"q": "x"}}]
    assert server.asked[0].body["max_tokens"] == 77
    assert "mcp" not in json.dumps(server.asked[0].body)


async def test_cache_writes_cost_the_vendors_price(tmp_path: Path) -> None:
    async with scripted_server(json_answer(of_claude("end_turn", {"type": "text", "text": "Hi"}))) as server:
        _, call = await chat(server, tmp_path, CLAUDE, stream=False)
    assert [float(usage.cost or 0) for usage in call.spent] == [0.00882]  # of it 0.0075 for what was written


def test_litellm_fetches_and_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    load()
    assert os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"
    assert os.environ["LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS"] == "True"
    logging.getLogger("LiteLLM").warning("Unmapped finish_reason")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("model", ["openai/e", "voyage/voyage-3"])
@pytest.mark.parametrize(
    ("data", "vectors"),
    [
        ([{"index": 1, "embedding": [0.0, 1.0]}, {"index": 0, "embedding": [1.0, 0.0]}], ((1.0, 0.0), (0.0, 1.0))),
        ([{"index": 0, "embedding": [1.0, 0.0]}, {"index": 1, "embedding": [1.0]}], None),
        ([{"index": 0, "embedding": []}, {"index": 1, "embedding": []}], None),
        ([{"index": 0, "embedding": None}, {"index": 1, "embedding": [1.0]}], None),
    ],
)
async def test_vectors_belong_to_their_texts(tmp_path: Path, model: str, data: list[Any], vectors: Any) -> None:
    context, call = fake_context(tmp_path, name="litellm"), FakeCall()
    answer = {"object": "list", "model": "e", "data": data, "usage": {"prompt_tokens": 4, "total_tokens": 4}}
    async with scripted_server(json_answer(answer)) as server:
        settings = LitellmSettings(api_base=f"{server.url}/v1", api_key="k" * 20, embedding_model=model)
        embedder, request = LitellmEmbedder(settings, context), EmbedRequest(model="", texts=("a", "b"))
        if vectors is None:
            with pytest.raises(BadReply):
                await embedder.embed(request, call)
        else:
            assert (await embedder.embed(request, call)).vectors == vectors
    await context.close()


@pytest.mark.parametrize("model", ["openai/e", "mistral/e"])
async def test_embeddings_are_requested_once(tmp_path: Path, model: str) -> None:
    context = fake_context(tmp_path, name="litellm")
    async with scripted_server(json_answer({"error": {"message": "oh"}}, 500)) as server:
        settings = LitellmSettings(api_base=f"{server.url}/v1", api_key="k" * 20, embedding_model=model)
        with pytest.raises(ProviderError, match="oh"):
            await LitellmEmbedder(settings, context).embed(EmbedRequest(model="", texts=("a",)), FakeCall())
    await context.close()
    assert len(server.asked) == 1
