"""Readers of a run's events that come late, come back, or read from another process."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline._runtime.event_bus import Bus
from leadline._runtime.runs.event_log import EventFile, follow
from leadline.records import Event
from leadline.testing.fakes import fake_web
from leadline_plugins.observers.jsonl import JsonLines

WEB = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "retry.base": 0}
QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"


def client(folder: Path, **settings: Any) -> leadline.Client:
    values = WEB | {name.replace("__", "."): value for name, value in settings.items()}
    return leadline.Client(plugins=[fake_web()], folder=folder / "runs", cache=folder / "cache", set=values)


def logged(folder: Path) -> list[int]:
    return [json.loads(line)["seq"] for line in (folder / "events.jsonl").read_bytes().splitlines()]


async def numbered(events: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in events if event.kind != "call.delta"]


async def test_a_live_reader_a_remote_one_and_a_late_one_get_the_same_events(tmp_path: Path) -> None:
    async with client(tmp_path) as here, client(tmp_path) as elsewhere:
        handle = await here.start(QUESTION)
        live, remote = await asyncio.gather(numbered(here.events(handle.id)), numbered(elsewhere.events(handle.id)))
        await handle.result()
        late = await numbered(elsewhere.events(handle.id))
        rest = await numbered(here.events(handle.id, after=live[10].seq))
    assert live == late
    assert remote == late[: len(remote)]  # it may have been asked before the run began
    assert [event.seq for event in late] == logged(handle.folder) == [*range(len(late))]
    assert rest == late[11:]


async def test_a_reader_that_is_cut_off_again_and_again_receives_the_whole_once(tmp_path: Path) -> None:
    chance, received, last = random.Random(1), list[Event](), -1
    async with client(tmp_path) as runs:
        handle = await runs.start(QUESTION)
        while not (received and received[-1].kind == "run.finished"):
            cut = chance.randrange(1, 12)
            async for event in runs.events(handle.id, after=last):
                last = event.seq
                if event.kind != "call.delta":
                    received.append(event)
                cut -= 1
                if not cut:
                    break
        await handle.result()
    assert [event.seq for event in received] == logged(handle.folder)


async def test_a_resumed_run_continues_the_numbers_and_the_stream(tmp_path: Path) -> None:
    async with client(tmp_path) as runs:
        handle = await runs.start(QUESTION)
        async for event in handle.subscribe(deltas=False):  # without the file: the run takes less than a second
            if event.kind == "run.started":
                handle.cancel_soon()
        first = await numbered(runs.events(handle.id))
        resumed = await runs.resume(handle.id)
        rest = await numbered(runs.events(handle.id, after=first[-1].seq))
        await resumed.result()
    assert [event.seq for event in first + rest] == logged(handle.folder)
    assert (first[-1].data["status"], rest[-1].data["status"]) == ("cancelled", "complete")


async def test_without_a_file_a_reader_of_the_running_session_still_gets_all(tmp_path: Path) -> None:
    async with client(tmp_path, observers=[]) as runs:
        handle = await runs.start(QUESTION)
        live = await numbered(runs.events(handle.id))
        assert [event.seq for event in live] == [*range(len(live))]
        assert live[-1].kind == "run.finished"
        assert await numbered(runs.events(handle.id)) == []


def line(seq: int, kind: str = "notice", **data: Any) -> str:
    event = Event(seq=seq, time="2026-01-31T00:00:00Z", run_id="run", kind=kind, data=data)
    return event.model_dump_json() + "\n"


async def test_lost_events_are_announced_and_damaged_lines_skipped(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(line(0) + line(1) + "{damaged\n" + line(5) + line(6)[:20])
    events = [event async for event in follow(path, 0, None, lambda: False)]
    assert [(event.seq, event.kind) for event in events] == [(1, "notice"), (4, "gap"), (5, "notice")]
    assert events[1].data == {"after": 1, "before": 5}


def test_a_reader_of_the_file_gets_whole_lines_only(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    file = EventFile(path)
    assert file.read() == []
    path.write_text(line(0) + line(1)[:30])
    assert [event.seq for event in file.read()] == [0]
    path.write_text(line(0) + line(1) + line(2))
    assert [event.seq for event in file.read()] == [1, 2]


async def test_a_long_text_is_read_back_from_its_segments(tmp_path: Path) -> None:
    text = "属性 " * 9000
    observer = JsonLines()
    bus = Bus("run", "t", {"jsonl": observer})
    await bus.emit("run.started", {"folder": str(tmp_path)})
    await bus.emit("message", {"kind": "report", "text": text, "parts": [{"text": text}]})
    await bus.emit("run.finished", {})
    await bus.close()
    _, message, _ = EventFile(tmp_path / "events.jsonl").read()
    assert message.data == {"kind": "report", "text": text, "parts": [{"text": text}]}


@pytest.mark.parametrize("end", ["call.finished", "call.restart"])
async def test_a_late_reader_gets_the_replies_in_flight_from_their_beginning(end: str) -> None:
    bus = Bus("run", "t", {})
    early = bus.subscribe(deltas=True)
    for text in ("One ", "two "):
        await bus.emit("call.delta", {"key": "a", "text": text})
    late = bus.subscribe(deltas=True)
    await bus.emit(end, {"key": "a"})
    after = bus.subscribe(deltas=True)
    await bus.close()
    assert [event.data.get("text") async for event in early] == ["One ", "two ", None]
    assert [event.data.get("text") async for event in late] == ["One ", "two ", None]
    assert [event async for event in after] == []
