"""The text of a run while it is written, as another process receives it: through the socket in the run's folder."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline._runtime.event_bus import Bus
from leadline._runtime.runs import interprocess
from leadline._runtime.runs.event_log import follow
from leadline._runtime.runs.folder import EVENTS, LIVE
from leadline._runtime.runs.interprocess import LiveReader, LiveText
from leadline.contracts import Call
from leadline.plugin import ai_provider
from leadline.records import ChatReply, ChatRequest, Event, Message, ModelTraits
from leadline.stores import close_store, use_store
from leadline.testing.plugins import plugin
from leadline_plugins.observers.jsonl import JsonLines

WORDS = [f"word{number} " for number in range(8)]


class Writer:
    """A model that writes its answer word by word, and stops after the first until it may go on."""

    def __init__(self, go: asyncio.Event) -> None:
        self._go, self.followed = go, list[bool]()

    def traits(self, model: str, /) -> ModelTraits:
        return ModelTraits(json_schema=True, model="writer")

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        self.followed.append(call.followed)
        text = json.dumps({"text": "".join(WORDS)})
        pieces = [text[place : place + 8] for place in range(0, len(text), 8)]
        for piece in pieces:
            call.emit("text", piece)
            await asyncio.sleep(0.06)
            await self._go.wait()
        return ChatReply(message=Message(role="assistant", text=text), finish_reason="stop", model="writer")


def client(folder: Path, writer: Writer) -> leadline.Client:
    model = plugin("writer", ai_provider("For a test")(lambda: writer))
    chosen = {"pipeline": "chat", "ai.providers": ["writer"], "report.formats": ["markdown"]}
    return leadline.Client(plugins=[model], folder=folder / "runs", cache=folder / "cache", set=chosen)


async def until(events: AsyncIterator[Event], seen: list[Event], enough: Callable[[Event], bool]) -> None:
    async for event in events:
        seen.append(event)
        if enough(event):
            return


def said(events: list[Event]) -> str:
    return "".join(str(event.data["said"]) for event in events if event.kind == "call.delta")


async def test_a_reader_of_another_process_has_the_text_while_it_is_written(tmp_path: Path) -> None:
    go = asyncio.Event()
    writer = Writer(go)
    async with client(tmp_path, writer) as here, client(tmp_path, writer) as elsewhere:
        handle = await here.start("Why is the sky blue?")
        handle.publish()
        first: list[Event] = []
        events = elsewhere.events(handle.id)
        await until(events, first, lambda event: event.kind == "call.delta")
        assert not go.is_set()
        assert oct((handle.folder / LIVE).stat().st_mode)[-3:] == "600"
        again, numbered = list[Event](), list[Event]()
        late = asyncio.create_task(until(elsewhere.events(handle.id), again, lambda _: False))
        plain = asyncio.create_task(until(elsewhere.events(handle.id, deltas=False), numbered, lambda _: False))
        await asyncio.sleep(0.15)
        go.set()
        await until(events, first, lambda _: False)
        result = await handle.result()
        await asyncio.gather(late, plain)
    assert result.report
    assert said(first).strip() == said(again).strip() == result.report.sections[0].text
    assert writer.followed == [True]
    logged = [json.loads(line)["seq"] for line in (handle.folder / EVENTS).read_bytes().splitlines()]
    for seen in (first, again, numbered):
        assert [event.seq for event in seen if event.kind != "call.delta"] == logged
    assert [event.seq for event in first] == sorted(event.seq for event in first)
    assert not (handle.folder / LIVE).exists()
    assert said(numbered) == ""


async def test_nothing_is_streamed_for_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interprocess, "_EXPECTED", 0.0)
    bus = Bus("r", "t" * 32, {})
    sending = asyncio.create_task(LiveText(bus, tmp_path).send())
    await asyncio.sleep(0.05)
    assert not bus.follows_deltas
    _, connection = await asyncio.open_unix_connection(str(tmp_path / LIVE))
    await asyncio.sleep(0.05)
    assert bus.follows_deltas
    connection.close()
    await asyncio.sleep(0.05)
    assert not bus.follows_deltas
    sending.cancel()
    await asyncio.wait({sending})


async def test_a_reader_that_does_not_keep_up_is_left_and_loses_no_numbered_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interprocess, "_WAITING", 10_000)
    folder = tmp_path / ("deep" * 30)  # the path of its socket is too long for an address
    folder.mkdir()
    bus = Bus("r", "t" * 32, {"jsonl": JsonLines()})
    sending = asyncio.create_task(LiveText(bus, folder).send())
    await bus.emit("run.started", {"folder": str(folder)})
    active, seen = [True], list[Event]()
    events = follow(folder / EVENTS, -1, None, lambda: active[0])
    await until(events, seen, lambda event: event.kind == "run.started")
    await asyncio.sleep(0.15)
    for number in range(2_000):
        await bus.emit("call.delta", {"key": "k", "kind": "text", "text": "x" * 1_000, "number": number})
    await bus.emit("notice", {"message": "late"})
    await bus.emit("run.finished", {})
    await bus.close()
    active[0] = False
    began = time.monotonic()
    await until(events, seen, lambda _: False)
    assert time.monotonic() - began < 5
    pieces = [event.data["number"] for event in seen if event.kind == "call.delta"]
    assert pieces == [*range(len(pieces))]
    assert len(pieces) < 2_000
    assert [event.kind for event in seen if event.kind != "call.delta"] == ["run.started", "notice", "run.finished"]
    sending.cancel()
    await asyncio.wait({sending})


class Shared:
    """As much of a store as the text of a run needs."""

    address = ""

    def live_host(self) -> tuple[str, str]:
        return "127.0.0.1", "127.0.0.1"

    def set_live(self, _: Path, address: str) -> None:
        self.address = address

    def live(self, _: Path) -> str:
        return self.address

    def close(self) -> None: ...


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Any]:
    store: Any = Shared()
    use_store(tmp_path, store)
    yield store
    close_store(store)


async def test_only_a_reader_with_the_password_is_served(
    tmp_path: Path, shared: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(interprocess, "_EXPECTED", 0.0)
    monkeypatch.setattr(interprocess, "_GREETING", 0.2)
    bus = Bus("r", "t" * 32, {})
    sending = asyncio.create_task(LiveText(bus, tmp_path).send())
    while not shared.address:
        await asyncio.sleep(0.01)
    host, port, password = shared.address.split()
    for greeting in (b"", b"x", b"x" * len(password)):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(greeting)
        assert await reader.read() == b""
        writer.close()
    broken = socket.create_connection((host, int(port)))
    broken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    await asyncio.sleep(0.05)
    broken.close()
    await asyncio.sleep(0.05)
    assert not bus.follows_deltas
    assert not caplog.records
    sending.cancel()
    await asyncio.wait({sending})


async def test_a_reader_leaves_an_address_that_somebody_else_has_by_now(tmp_path: Path, shared: Any) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        shared.address = f"127.0.0.1 {server.sockets[0].getsockname()[1]} password"
        reader = LiveReader(tmp_path)
        for _ in range(5):
            assert [*reader.among([], 0)] == []
            await asyncio.sleep(0.02)
        assert reader._socket is None
