"""Events: one stream for everybody, and nobody who listens can slow or break a run."""

import asyncio
import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from leadline._runtime.event_bus import MAX_FAILURES, Bus
from leadline._settings.secrets import MASK, Secrets
from leadline.events import use_clock, utc_now
from leadline.records import Event
from leadline.testing.runs import Recorder


class Raises:
    def __init__(self, error: BaseException) -> None:
        self.error, self.calls = error, 0

    async def observe(self, event: Event, /) -> None:
        self.calls += 1
        raise self.error


class Hangs:
    async def observe(self, event: Event, /) -> None:
        await asyncio.Event().wait()


def bus(*observers: Any, **options: Any) -> Bus:
    return Bus("run", "t" * 32, {f"watcher{number}": one for number, one in enumerate(observers)}, **options)


async def test_every_observer_gets_every_event_in_order() -> None:
    one, other = Recorder(), Recorder()
    stream = bus(one, other, first_seq=7)
    for number in range(100):
        await stream.emit("notice", {"message": number}, span_id="s", parent_id="p")
    assert await stream.close() == ()
    assert [event.seq for event in one.events] == list(range(7, 107))
    assert one.events == other.events
    assert (one.events[0].run_id, one.events[0].trace_id) == ("run", "t" * 32)
    assert (one.events[0].span_id, one.events[0].parent_id) == ("s", "p")
    assert stream.next_seq == 107


async def test_an_observer_that_is_left_out_follows_no_replies() -> None:
    stream = bus(Raises(ValueError("broken")))
    assert stream.follows_deltas
    for _ in range(MAX_FAILURES):
        await stream.emit("source", {})
    await stream.close()
    assert not stream.follows_deltas


@pytest.mark.parametrize("kind", [ValueError, SystemExit, asyncio.CancelledError])
async def test_the_error_of_an_observer_is_reported_once_and_the_observer_left_out(kind: type[BaseException]) -> None:
    broken, well = Raises(kind("broken")), Recorder()
    stream = bus(broken, well)
    for _ in range(10):
        await stream.emit("source", {})
        await asyncio.sleep(0)
    await stream.close()
    assert broken.calls == MAX_FAILURES
    assert [error["message"] for error in well.of("error")] == [f"observer watcher0: {kind.__name__}: broken"]
    assert [notice["message"] for notice in well.of("notice")] == ["observer watcher0 failed 3 times and is disabled"]
    assert len(well.of("source")) == 10


async def test_an_observer_that_hangs_is_named_to_the_others() -> None:
    well = Recorder()
    stream = bus(Hangs(), well)
    await stream.emit("source", {})
    assert await stream.close(grace=0.01) == ("watcher0",)
    assert "watcher0" in well.of("error")[0]["message"]
    assert [task for task in asyncio.all_tasks() if task.get_name().startswith("observer")] == []


async def test_threads_may_send_and_keep_their_order() -> None:
    seen = Recorder()
    stream = bus(seen)

    def send() -> None:
        for number in range(50):
            stream.emit_soon("call.delta", {"text": str(number)})

    await asyncio.to_thread(send)
    await stream.close()
    assert [delta["text"] for delta in seen.of("call.delta")] == [str(number) for number in range(50)]


def test_a_thread_that_outlives_the_run_is_ignored() -> None:
    async def make() -> Bus:
        stream = bus()
        await stream.close()
        return stream

    stream = asyncio.run(make())
    thread = threading.Thread(target=stream.emit_soon, args=("notice", {}))
    thread.start()
    thread.join()
    assert stream.next_seq == 0


async def test_subscribers_get_what_comes_until_the_end() -> None:
    stream = bus()
    await stream.emit("notice", {"message": "before"})
    subscription = stream.subscribe()
    await stream.emit("notice", {"message": "one"})
    await stream.emit("notice", {"message": "two"})
    await stream.close()
    assert [event.data["message"] async for event in subscription] == ["one", "two"]
    assert [event async for event in subscription] == []


async def test_a_subscriber_that_waits_is_ended_by_closing_it() -> None:
    stream = bus()
    subscription = stream.subscribe()
    waiting = asyncio.create_task(anext(subscription, None))
    await asyncio.sleep(0)
    subscription.close()
    assert await waiting is None
    await stream.emit("notice", {})
    assert await anext(subscription, None) is None
    await stream.close()


async def test_a_subscription_to_a_closed_bus_is_at_its_end() -> None:
    stream = bus()
    await stream.close()
    assert [event async for event in stream.subscribe()] == []


async def test_secrets_are_masked_in_every_text() -> None:
    seen, key = Recorder(), "a-secret-of-twenty-characters"
    stream = bus(seen, secrets=Secrets([key]))
    await stream.emit("notice", {"message": f"with {key}", "deep": [{"x": key}]})
    await stream.close()
    assert seen.of("notice") == [{"message": f"with {MASK}", "deep": [{"x": MASK}]}]


def test_machines_with_different_clocks_take_times_from_one() -> None:
    try:
        use_clock(60.0)
        assert 59 < (utc_now() - datetime.now(UTC)).total_seconds() < 61
    finally:
        use_clock(0.0)
