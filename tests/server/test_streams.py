"""The stream of events: whole, whatever happens to the connection or the server."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.conftest import PATIENCE, QUESTION, Served, events, finish, order, running

from leadline.events import utc_now
from leadline.records import Event
from leadline_server import streams
from leadline_server.limits import Slots


def numbers(frames: list[dict[str, str]]) -> list[int]:
    return [int(frame["id"]) for frame in frames if "id" in frame]


def test_a_stream_has_every_event_once_and_ends_with_the_run(http: httpx.Client, served: Served) -> None:
    run = order(http)
    seen = events(http, run)
    lines = (served.folder / "runs" / run / "events.jsonl").read_text().splitlines()
    assert numbers(seen) == [json.loads(line)["seq"] for line in lines] == [*range(len(lines))]
    assert [frame["event"] for frame in seen] == [json.loads(frame["data"])["kind"] for frame in seen]
    assert seen[-1]["event"] == "run.finished"
    assert "folder" not in json.loads(seen[0]["data"])["data"]


def test_a_reader_that_loses_its_connection_misses_nothing(http: httpx.Client, done: str) -> None:
    """Cut at random places; the numbers of all pieces together are the whole."""
    whole = numbers(events(http, done))
    chance = random.Random(7)
    for _ in range(10):
        got: list[int] = []
        while not got or got[-1] < whole[-1]:
            most = chance.randint(1, len(whole))
            with http.stream(
                "GET", f"/v1/runs/{done}/events", headers={"Last-Event-ID": str(got[-1] if got else -1)}
            ) as reply:
                for line in reply.iter_lines():
                    if line.startswith("id: "):
                        got.append(int(line[4:]))
                        most -= 1
                        if not most:
                            break
        assert got == whole


def test_after_in_the_address_is_the_same_as_last_event_id(http: httpx.Client, done: str) -> None:
    whole = numbers(events(http, done))
    reply = http.get(f"/v1/runs/{done}/events", params={"after": whole[-2]})
    assert reply.headers["content-type"] == "text/event-stream"
    assert reply.text.startswith(f"retry: 2000\n\nid: {whole[-1]}\nevent: run.finished\n")
    assert http.get(f"/v1/runs/{done}/events", params={"after": "x"}).status_code == 422


def test_a_quiet_stream_has_heartbeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT", 0.05)
    with running(tmp_path) as server, server.gate.closed():
        http = server.client()
        run = order(http)
        with http.stream("GET", f"/v1/runs/{run}/events") as reply:
            beats = 0
            for line in reply.iter_lines():
                beats += line == ": alive"
                if beats == 3:
                    break
        http.post(f"/v1/runs/{run}/cancel")


def test_a_piece_of_a_reply_has_no_number() -> None:
    event = Event(seq=5, time=utc_now(), run_id="r", kind="call.delta", data={"text": "a\nb"})
    assert streams.frame(event).startswith(b"event: call.delta\ndata: {")
    gap = event.model_copy(update={"kind": "gap"})
    assert streams.frame(gap).startswith(b"id: 5\nevent: gap\n")
    assert streams.frame(gap).count(b"\n") == 4


async def test_a_client_that_does_not_read_its_stream_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[bool] = []

    async def endless() -> AsyncIterator[Event]:
        try:
            while True:
                yield Event(seq=0, time=utc_now(), run_id="r", kind="notice")
        finally:
            closed.append(True)

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        if message.get("body", b"").startswith(b"id"):
            await asyncio.Event().wait()  # the buffers are full

    monkeypatch.setattr(streams, "SEND_TIMEOUT", 0.05)
    async with asyncio.timeout(PATIENCE):
        frames, places = streams.event_frames(endless()), Slots(1, "one stream is open")
        await streams.Stream(frames, asyncio.Event(), places, None)({}, receive, send)
    assert closed


def test_a_run_that_was_cancelled_before_its_first_event_has_an_end(http: httpx.Client, served: Served) -> None:
    run = order(http)
    finish(http, run)
    (served.folder / "runs" / run / "events.jsonl").unlink()
    [end] = events(http, run)
    assert (end["event"], json.loads(end["data"])["data"]["status"], "id" in end) == ("run.finished", "complete", False)


def test_an_orderly_end_of_the_server_loses_nothing(tmp_path: Path) -> None:
    with running(tmp_path, "alice") as server:
        server.gate.is_open.clear()
        http = server.client("alice")
        run = order(http, QUESTION)
        first = events(http, run, until="call.started")
        token = server.tokens["alice"]
    with running(tmp_path) as server:
        server.tokens["alice"] = token
        http = server.client("alice")
        rest = events(http, run, after=numbers(first)[-1])
        together = numbers([*first, *rest])
        assert together == [*range(len(together))]
        kinds = [frame["event"] for frame in rest]
        assert (kinds.count("session.finished"), kinds.count("run.finished"), kinds[-1]) == (1, 1, "run.finished")
        view = finish(http, run)
        assert (view["status"], view["sessions"]) == ("complete", 2)
    with running(tmp_path) as server:
        server.tokens["alice"] = token
        assert finish(server.client("alice"), run)["sessions"] == 2
