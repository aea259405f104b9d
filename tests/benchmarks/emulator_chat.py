"""The emulator's model: chat completions as OpenAI serves them, streamed or whole, and its book of what it served."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

from emulator_manners import Fault, Manners
from emulator_says import say
from emulator_tools import calls

CHARACTERS = 4
"""Of a token."""
_TICK = 0.01
_DATA = re.compile(r"<data>\n(.*)\n</data>", re.DOTALL)
_SCHEMA = re.compile(r"schema(?: and nothing else)?:\n(\{.*\})", re.DOTALL)
_NONSENSE = (
    "I am sorry, but as requested I have thought about it.",
    '{"title": "unfinished", "text": "and so',
    "[1, 2",
)


def content_of(messages: list[tuple[str, str]]) -> str:
    """Return the digest by which the same conversation is known again."""
    return blake2b(json.dumps(messages).encode(), digest_size=8).hexdigest()


class Chat:
    """Answers chats. `whole` counts by content the replies that left to their end: those a vendor is paid for."""

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()
        self._whole: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()
        self._tasks: Counter[str] = Counter()
        self._seconds: dict[str, float] = {}
        self._parts: dict[str, list[float]] = {}
        self._spans: dict[str, str] = {}

    def tally(self) -> dict[str, Any]:
        """Return the book.

        By span of the caller: `seconds` are what a reply took as meant, `parts` what each JSON object in it took, and
        `spans` their contents.
        """
        return {
            "asked": self._asked,
            "whole": self._whole,
            "faults": self._faults,
            "tasks": self._tasks,
            "seconds": self._seconds,
            "parts": self._parts,
            "spans": self._spans,
        }

    async def answer(
        self, asked: Mapping[str, Any], headers: Mapping[str, str], writer: asyncio.StreamWriter, manners: Manners
    ) -> bool:
        """Answer one request; returns whether the connection may go on."""
        content = content_of([(turn["role"], turn["content"]) for turn in asked["messages"]])
        self._asked[content] += 1
        span = headers.get("traceparent", "--").split("-")[2]
        self._spans[span] = content
        fault = manners.fault("chat", content, self._asked[content])
        self._faults[fault or "none"] += 1
        if fault in ("error", "limit"):
            await asyncio.sleep(manners.first_token)
            return await _refuse(writer, fault, manners)
        name, text, wanted = _reply(asked)
        if fault == "malformed":
            text, wanted = _NONSENSE[len(text) % len(_NONSENSE)], []
        self._tasks[name] += 1
        rate = manners.tokens_per_second
        self._seconds[span] = manners.first_token + (tokens(text) / rate if rate else 0.0)
        ends = (place for place, sign in enumerate(text, start=1) if sign == "}")
        self._parts[span] = [manners.first_token + tokens(text[:end]) / rate for end in ends] if rate else []
        send = _stream if asked.get("stream") else _at_once
        if fault == "cut":
            await send(writer, asked, text[: len(text) // 2], wanted, manners, whole=False)
            return False
        await send(writer, asked, text, wanted, manners, whole=True)
        self._whole[content] += 1
        return True


def tokens(text: str) -> int:
    """Return how many tokens a text is."""
    return -(-len(text) // CHARACTERS)


Wanted = list[dict[str, Any]]
"""Calls of tools in a reply; its text is then what they are paced and counted by."""


def _reply(asked: Mapping[str, Any]) -> tuple[str, str, Wanted]:
    """Return the name of the reply's schema, the reply, its calls; the schema is in the request or in words."""
    turns = asked["messages"]
    if asked.get("tools"):
        wanted = calls(turns)
        return "tools", json.dumps(wanted), wanted
    said = _SCHEMA.search(turns[0]["content"])
    form = asked.get("response_format", {}).get("json_schema", {}).get("schema")
    schema = json.loads(said[1]) if said else form or {}
    data = next((found for turn in turns if turn["role"] == "user" and (found := _DATA.search(turn["content"]))), None)
    return *say(schema, data[1] if data else ""), []


async def _refuse(writer: asyncio.StreamWriter, fault: Fault, manners: Manners) -> bool:
    status, words = (500, "the server had an error") if fault == "error" else (429, "rate limit reached")
    body = json.dumps({"error": {"message": words, "type": "server_error" if status == 500 else "requests"}}).encode()
    extra = f"Retry-After: {manners.retry_after}\r\n" if status == 429 else ""
    head = f"HTTP/1.1 {status} {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
    return True


async def _at_once(
    writer: asyncio.StreamWriter, asked: Mapping[str, Any], text: str, wanted: Wanted, manners: Manners, *, whole: bool
) -> None:
    """Send a reply whole, when its last token is written; one that is cut off breaks off in its midst."""
    rate = manners.tokens_per_second
    await asyncio.sleep(manners.first_token + (tokens(text) / rate if rate else 0.0))
    message: dict[str, Any] = {"role": "assistant", "content": None if wanted else text, "tool_calls": wanted}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if wanted else "stop"}
    answer = {"id": "c", "model": "emulated", "choices": [choice], "usage": _usage(asked, text)}
    body = json.dumps(answer).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + (body if whole else body[: len(body) // 2]))
    await writer.drain()


async def _stream(
    writer: asyncio.StreamWriter, asked: Mapping[str, Any], text: str, wanted: Wanted, manners: Manners, *, whole: bool
) -> None:
    """Send a reply token by token, an event each, at its pace."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    await writer.drain()
    loop = asyncio.get_running_loop()
    began, rate, sent = loop.time() + manners.first_token, manners.tokens_per_second, 0
    pieces = [text[place : place + CHARACTERS] for place in range(0, len(text), CHARACTERS)]
    deltas: list[dict[str, Any]] = [{} for _ in pieces[1:]] if wanted else [{"content": piece} for piece in pieces]
    deltas += [{"tool_calls": [{"index": n, **one} for n, one in enumerate(wanted)]}] if wanted and whole else []
    events = [_event(_delta(delta)) for delta in deltas]
    await asyncio.sleep(manners.first_token)
    while sent < len(events):
        due = int((loop.time() - began) * rate) + 1 if rate else len(events)
        writer.write(b"".join(events[sent:due]))
        sent = max(sent, min(due, len(events)))
        await writer.drain()
        await asyncio.sleep(max(_TICK, 1 / rate) if rate else 0)
    if whole:
        end = _end(asked, text, "tool_calls" if wanted else "stop")
        writer.write(b"".join(map(_event, end)) + b"0\r\n\r\n")
        await writer.drain()


def _delta(delta: Mapping[str, Any], finish: str | None = None) -> str:
    return json.dumps(
        {"id": "c", "model": "emulated", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    )


def _end(asked: Mapping[str, Any], text: str, finish: str) -> Iterator[str]:
    yield _delta({}, finish)
    yield json.dumps({"id": "c", "model": "emulated", "choices": [], "usage": _usage(asked, text)})
    yield "[DONE]"


def _usage(asked: Mapping[str, Any], text: str) -> dict[str, int]:
    prompt = sum(tokens(turn["content"]) for turn in asked["messages"])
    return {"prompt_tokens": prompt, "completion_tokens": tokens(text), "total_tokens": prompt + tokens(text)}


def _event(data: str) -> bytes:
    body = f"data: {data}\n\n".encode()
    return f"{len(body):x}\r\n".encode() + body + b"\r\n"
