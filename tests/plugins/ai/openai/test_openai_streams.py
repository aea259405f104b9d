"""Streams by the book: whatever pieces the bytes come in, the same reply comes out, or a clear error."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import groupby
from operator import itemgetter
from typing import Any, AnyStr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.errors import BadReply, ProviderError, QuotaSpent, TooLong
from leadline.records import Usage
from leadline.testing.context import FakeCall
from leadline.testing.servers import ScriptedAnswer, ScriptedServer
from leadline_plugins.ai.openai.chat_completions import ChatReplyReader
from leadline_plugins.ai.openai.endpoint import EventParser
from leadline_plugins.ai.openai.replies import ThinkingTags, parse_usage

Make = Callable[..., Any]

EVENTS = {"content-type": "text/event-stream; charset=utf-8"}
TEXTS = st.text(alphabet=st.sampled_from("ab 海Ü\u2028\r\n:<>/thinkdata"), max_size=30)


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"id": "1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def frames(*chunks: dict[str, Any], done: bool = True) -> bytes:
    lines = "".join(f"data: {json.dumps(one, ensure_ascii=False)}\n\n" for one in chunks)
    return (lines + "data: [DONE]\n\n" * done).encode()


def cut_up(data: AnyStr, cuts: list[int]) -> list[AnyStr]:
    places: list[int] = sorted({cut % (len(data) + 1) for cut in cuts})
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


def parsed(pieces: list[bytes]) -> list[str]:
    parser = EventParser()
    found = [event for piece in pieces for event in parser.feed(piece)]
    return [*found, *parser.close()]


def test_events_are_read_by_the_specification() -> None:
    stream = "\ufeff: a comment\r\nevent: add\rdata: 1\ndata:2\ndata:  3\n\n"
    stream += "id: 7\nretry: 5\nnonsense\ndata\n\n\nevent: x\n\n"
    assert parsed([stream.encode()]) == ["1\n2\n 3", ""]


@given(
    st.lists(st.tuples(st.sampled_from(["", "add"]), st.lists(st.text("ab海\u2028: ", max_size=8), min_size=1))),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(min_value=0, max_value=10_000)),
)
def test_events_do_not_depend_on_the_pieces_of_bytes(
    events: list[tuple[str, list[str]]], end: str, cuts: list[int]
) -> None:
    text = "".join(
        (f"event: {name}{end}" if name else "") + "".join(f"data: {line}{end}" for line in lines) + end
        for name, lines in events
    )
    wanted = ["\n".join(lines) for _, lines in events]
    assert parsed(cut_up(text.encode(), cuts)) == wanted


@given(st.lists(TEXTS, min_size=1), st.lists(st.integers(min_value=0, max_value=10_000)))
def test_replies_do_not_depend_on_the_pieces_of_text(words: list[str], cuts: list[int]) -> None:
    text = "<think>why</think>" + "".join(words) + "."
    pieces = cut_up(text, cuts)
    whole, parts = ChatReplyReader(FakeCall()), ChatReplyReader(FakeCall())
    whole.read({"id": "1", "choices": [{"message": {"content": text}, "finish_reason": "stop"}]})
    for piece in pieces:
        parts.read(chunk(content=piece))
    parts.read(chunk(finish="stop"))
    assert parts.reply().message == whole.reply().message
    assert parts.reply().reasoning == whole.reply().reasoning == "why"


def test_only_a_tag_at_the_beginning_opens_reasoning() -> None:
    def split(text: str) -> dict[str, str]:
        thinking, found = ThinkingTags(), {"text": "", "reasoning": ""}
        for kind, words in [*thinking.feed(text), *thinking.end()]:
            found[kind] += words
        return found

    assert split("\n<Think>a</Think>\n\nb") == {"text": "b", "reasoning": "a"}
    assert split("Use <think> and </think> as tags.")["reasoning"] == ""
    assert split("<thin") == {"text": "<thin", "reasoning": ""}
    assert split("<think>İİ never closed") == {"text": "", "reasoning": "İİ never closed"}


async def test_text_and_reasoning_are_passed_on_separately(
    server: ScriptedServer, provider: Make, call: FakeCall
) -> None:
    usage = {"id": "1", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}
    body = frames(chunk(reasoning_content="Hm."), chunk(content="Hel"), chunk(content="lo"), chunk("stop"), usage)
    server.answers = [ScriptedAnswer(headers=EVENTS, pieces=cut_up(body, [5, 90, 91, 200]))]
    reply = await provider().ask()
    assert (reply.message.text, reply.reasoning, reply.finish_reason) == ("Hello", "Hm.", "stop")
    # What came together is passed on together, and how the network cut it is not known.
    pieces = ((kind, "".join(words for _, words in said)) for kind, said in groupby(call.emitted, itemgetter(0)))
    assert list(pieces) == [("reasoning", "Hm."), ("text", "Hello")]
    assert [(used.input_tokens, used.output_tokens) for used in call.spent] == [(9, 4)]
    assert server.asked[0].body["stream_options"] == {"include_usage": True}


async def test_fragments_of_tool_calls_are_joined(server: ScriptedServer, provider: Make) -> None:
    def tool(index: int, **parts: Any) -> dict[str, Any]:
        identity = {name: parts.pop(name) for name in ("id",) if name in parts}
        return chunk(tool_calls=[{"index": index, **identity, "function": parts}])

    body = frames(
        tool(0, id="a", name="find", arguments='{"q": '),
        tool(1, id="b", name="read", arguments=""),
        tool(0, arguments='"x"}'),
        tool(1, id="c", name="read", arguments='{"n": 2}'),  # Gemini: another call at the same index
        chunk("tool_calls"),
    )
    server.answers = [ScriptedAnswer(body, headers=EVENTS)]
    reply = await provider().ask()
    made = [(one.id, one.name, dict(one.arguments)) for one in reply.message.tool_calls]
    assert made == [("a", "find", {"q": "x"}), ("b", "read", {}), ("c", "read", {"n": 2})]
    assert reply.finish_reason == "tool_calls"
    broken = (tool(0, id="a", name="find", arguments='{"q": "x'), tool(1, id="b", name="read", arguments="[1]"))
    body = frames(*broken, chunk("tool_calls"))
    server.answers = [ScriptedAnswer(body, headers=EVENTS)]
    reply = await provider().ask()
    unread = [(one.name, dict(one.arguments), one.unread) for one in reply.message.tool_calls]
    assert unread == [("find", {}, '{"q": "x'), ("read", {}, "[1]")]


async def test_parallel_calls_without_ids_are_separated(server: ScriptedServer, provider: Make) -> None:
    def tool(name: str, arguments: str) -> dict[str, Any]:
        return chunk(tool_calls=[{"index": 0, "id": "", "function": {"name": name, "arguments": arguments}}])

    body = frames(tool("find", '{"a": '), tool("find", "1}"), tool("find", '{"b": 2}'), tool("", " "), chunk("stop"))
    server.answers = [ScriptedAnswer(body, headers=EVENTS)]
    reply = await provider().ask()
    assert [dict(one.arguments) for one in reply.message.tool_calls] == [{"a": 1}, {"b": 2}]


WHOLE = {"id": "1", "choices": [{"delta": {}, "message": {"content": "Hello"}, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("body", "text", "finish"),
    [
        (b"data: \n\ndata:\n\n" + frames(chunk(content="Hello"), chunk("stop")), "Hello", "stop"),
        (frames(chunk(content="Hel"), {"type": "ping"}, chunk("stop", content="lo")), "Hello", "stop"),
        (frames(chunk(content="Hel"), chunk(content="lo"), WHOLE), "Hello", "stop"),  # MiniMax
        (frames(WHOLE), "Hello", "stop"),
        (frames(chunk(content=["Hel", None, {"type": "text", "text": "lo"}]), chunk("stop")), "Hello", "stop"),
        (frames(chunk(content="[THI"), chunk(content="NK]Hm[/THINK]\nHello"), chunk("stop")), "Hello", "stop"),
        (frames(chunk(content='<think>Hm {"a": 1}'), chunk("stop")), 'Hm {"a": 1}', "stop"),
        (frames(chunk(content='<think>Hm {"a": 1}'), chunk("length")), "", "length"),
        (frames({"code": 0, "msg": "success", **chunk("stop", content="Hello")}), "Hello", "stop"),
        (frames(chunk(content="Hello"), chunk("SPII")), "Hello", "content_filter"),
        (frames(chunk("content_filter: PROHIBITED_CONTENT")), "", "content_filter"),
        (frames(chunk(content="Hel"), chunk("model_context_window_exceeded")), "Hel", "length"),
    ],
)
async def test_habits_of_vendors_are_read(
    server: ScriptedServer, provider: Make, body: bytes, text: str, finish: str
) -> None:
    server.answers = [ScriptedAnswer(body, headers=EVENTS)]
    reply = await provider().ask()
    assert (reply.message.text, reply.finish_reason) == (text, finish)


async def test_usage_inside_a_choice_counts(server: ScriptedServer, provider: Make, call: FakeCall) -> None:
    last = chunk("stop")
    last["choices"][0]["usage"] = {"prompt_tokens": 9, "completion_tokens": 1, "cached_tokens": 4}  # Moonshot
    server.answers = [ScriptedAnswer(frames(chunk(content="Hello"), last), headers=EVENTS)]
    await provider().ask()
    assert [(used.input_tokens, used.cached_tokens) for used in call.spent] == [(9, 4)]


LONG = {"code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error"}


@pytest.mark.parametrize(
    ("body", "api", "error"),
    [
        (f"error: {json.dumps(LONG)}\n\n".encode(), "chat", TooLong),  # llama.cpp of yore
        (frames(chunk(content="Hel"), done=False) + json.dumps({"error": LONG}).encode(), "chat", TooLong),
        (b"error: down\n\n", "chat", BadReply),
        (frames({"type": "error", "code": "context_length_exceeded", "message": "x"}), "responses", TooLong),
        (frames({"type": "error", "code": "insufficient_quota", "message": "x"}), "responses", QuotaSpent),
        (frames(chunk("ERROR", content="Hel")), "chat", BadReply),
        (frames(chunk("network_error", content="Hel")), "chat", BadReply),
        (frames(chunk("function_call_filter: MALFORMED_FUNCTION_CALL", content="Hel")), "chat", BadReply),
    ],
)
async def test_errors_inside_a_stream_are_raised(
    server: ScriptedServer, provider: Make, body: bytes, api: str, error: type[Exception]
) -> None:
    server.answers = [ScriptedAnswer(body, headers=EVENTS)]
    with pytest.raises(ProviderError) as caught:
        await provider(api=api).ask()
    assert type(caught.value) is error


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (ScriptedAnswer(frames(chunk(content="Hel"), done=False), headers=EVENTS), BadReply, "cut off before its end"),
        (ScriptedAnswer(frames(chunk(content="Hel")), headers=EVENTS), BadReply, "cut off before its end"),
        (ScriptedAnswer(frames(chunk(content="Hel"), done=False)[:-20], headers=EVENTS), BadReply, "was cut off"),
        (ScriptedAnswer(frames(chunk(content="x")), headers=EVENTS, cut=True), BadReply, "cut off"),
        (
            ScriptedAnswer(frames(chunk(content="x"), done=False), headers=EVENTS, cut=True),
            BadReply,
            "connection broke",
        ),
        (ScriptedAnswer(b"", headers=EVENTS), BadReply, "cut off before its end"),
        (ScriptedAnswer(b"data: {broken\n\n", headers=EVENTS), BadReply, "not JSON"),
        (ScriptedAnswer(b"data: [1]\n\n", headers=EVENTS), BadReply, "not a JSON object"),
        (ScriptedAnswer(frames(chunk("stop")), headers=EVENTS), BadReply, "is empty"),
        (ScriptedAnswer(frames(chunk(reasoning="Hm"), chunk("stop")), headers=EVENTS), BadReply, "only reasoning"),
        (
            ScriptedAnswer(frames(chunk(content='<think>Like {"a": 1}?'), chunk("stop")), headers=EVENTS),
            BadReply,
            "is only reasoning",
        ),
        (ScriptedAnswer(frames(chunk("error")), headers=EVENTS), BadReply, "stopped in the middle"),
    ],
)
async def test_cut_and_malformed_streams_are_bad_replies(
    server: ScriptedServer, provider: Make, answer: ScriptedAnswer, error: type[Exception], words: str
) -> None:
    server.answers = [answer]
    with pytest.raises(error, match=words):
        await provider().ask()


@asynccontextmanager
async def holding(body: bytes, more: bytes = b"") -> AsyncIterator[str]:
    """Serve a stream, and leave the connection open behind it; `more` comes after a moment."""
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + body)
        await asyncio.sleep(0.3)
        writer.write(more)
        await gone.wait()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        gone.set()
        server.close()
        await server.wait_closed()


SAID = {"type": "message", "content": [{"type": "output_text", "text": "Hello"}]}
RESPONSE = {"object": "response", "status": "completed", "output": [SAID], "usage": {"input_tokens": 7}}
USAGE = frames({"id": "1", "choices": [], "usage": {"prompt_tokens": 7}}, done=False)


@pytest.mark.parametrize(
    ("api", "body", "more"),
    [
        ("chat", frames(chunk(content="Hello"), chunk("stop"), done=False), USAGE),
        ("responses", frames({"type": "response.completed", "response": RESPONSE}, done=False), b""),
    ],
)
async def test_a_complete_reply_is_returned_before_the_connection_ends(
    provider: Make, call: FakeCall, api: str, body: bytes, more: bytes
) -> None:
    async with holding(body, more) as url:
        reply = await provider(base_url=url, api=api, read_timeout=5).ask()
    assert reply.message.text == "Hello"
    assert [used.input_tokens for used in call.spent] == [7]


@pytest.mark.parametrize("media_type", ["text/plain", "application/json", ""])
async def test_a_stream_is_recognized_by_its_content(server: ScriptedServer, provider: Make, media_type: str) -> None:
    server.answers = [
        ScriptedAnswer(frames(chunk(content="Hello"), chunk("stop")), headers={"content-type": media_type})
    ]
    assert (await provider().ask()).message.text == "Hello"


@pytest.mark.parametrize(
    "odd",
    [
        {"tool_calls": [None]},
        {"tool_calls": ["web_search"]},
        {"tool_calls": {"name": "web_search"}},
        {"tool_calls": 3},
        {"tool_calls": [{"index": 0, "id": "a", "function": "web_search"}]},
        {"tool_calls": [{"index": [0], "function": None}]},
        {"reasoning_details": ["hm"]},
        {"content": [{"type": "thinking", "thinking": ["hm"]}, {"type": "text", "text": "Hello"}]},
        {"content": [{"type": "thinking", "thinking": 3}, "Hello"]},
    ],
)
@pytest.mark.parametrize("streamed", [True, False])
async def test_unknown_shapes_are_ignored(odd: dict[str, Any], streamed: bool, call: FakeCall) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 1e999, "cost": -1}
    reading = ChatReplyReader(call)
    reading.read({"choices": [{("delta" if streamed else "message"): {"content": "Hello", **odd}}], "usage": usage})
    reading.read({"choices": [None, {"finish_reason": "stop"}]})
    reply = reading.reply()
    assert (reply.message.text, [tool for tool in reply.message.tool_calls if tool.name]) == ("Hello", [])
    assert parse_usage(usage) == Usage(input_tokens=9)


async def test_usage_of_a_cut_reply_still_counts(server: ScriptedServer, provider: Make, call: FakeCall) -> None:
    told = chunk(content="Hel") | {"usage": {"prompt_tokens": 9, "completion_tokens": 1}}
    server.answers = [ScriptedAnswer(frames(told, done=False), headers=EVENTS, cut=True)]
    with pytest.raises(BadReply, match=r"^127\.0\.0\.1:\d+: the connection broke: peer closed connection"):
        await provider().ask()
    assert [used.input_tokens for used in call.spent] == [9]


async def test_an_endless_line_is_a_bad_reply() -> None:
    with pytest.raises(BadReply, match="a line of more than"):
        parsed([b"x" * 1_000_000] * 9)
