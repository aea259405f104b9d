"""Sharing, cancellation and winding down: whoever leaves takes nobody else along, and nothing goes on unseen."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from leadline.contracts import Call
from leadline.door.flights import Flight, Flights
from leadline.door.kinds import Kind, Maker
from leadline.door.limits import Limiter
from leadline.door.retry import RetryPolicy
from leadline.errors import BadReply, CallFailed, CallRefused, Denied, ProviderError, Unavailable
from leadline.records import SearchPage, SearchRequest
from leadline.runs.budget import Budget, Limits, Need
from leadline.testing.fakes import FakeSearch, OpenDoor, open_door

SEARCH = Kind("search", SearchPage, need=lambda _: Need(model_calls=1, tokens=10))
FAKE = Maker("fake")


def start(
    opened: OpenDoor, engine: FakeSearch, query: str, kind: Kind[SearchPage] = SEARCH
) -> asyncio.Task[SearchPage]:
    return asyncio.create_task(opened.door.call(kind, SearchRequest(query=query), engine.search, maker=FAKE))


async def held() -> FakeSearch:
    engine = FakeSearch()
    engine.gate.clear()
    return engine


async def until(engine: FakeSearch, asked: int) -> None:
    while len(engine.asked) < asked:
        await asyncio.sleep(0.001)


async def test_a_caller_that_leaves_does_not_disturb_the_others(tmp_path: Path) -> None:
    engine = await held()
    async with open_door(tmp_path) as opened:
        first, second = start(opened, engine, "a"), start(opened, engine, "a")
        await until(engine, 1)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        engine.gate.set()
        assert (await second).hits
    assert engine.asked == ["a"]


async def test_the_last_one_to_leave_stops_the_call_and_no_row_is_left(tmp_path: Path) -> None:
    engine = await held()
    async with open_door(tmp_path) as opened:
        callers = [start(opened, engine, "a") for _ in range(3)]
        await until(engine, 1)
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
        assert opened.journal.keys() == set()
        engine.gate.set()
        assert (await start(opened, engine, "a")).hits
    assert engine.asked == ["a", "a"]


async def test_a_newcomer_does_not_board_a_dying_flight(tmp_path: Path) -> None:
    gone = asyncio.Event()

    async def stubborn(request: SearchRequest, call: Call) -> SearchPage:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await gone.wait()
            raise
        return SearchPage()

    async with open_door(tmp_path) as opened:
        request = SearchRequest(query="a")
        first = asyncio.create_task(opened.door.call(SEARCH, request, stubborn, maker=FAKE))
        await asyncio.sleep(0.01)
        first.cancel()
        await asyncio.sleep(0.01)
        engine = FakeSearch()
        assert (await opened.door.call(SEARCH, request, engine.search, maker=FAKE)).hits
        gone.set()
        await asyncio.gather(first, return_exceptions=True)
        assert len(opened.journal.rows()) == 1


async def test_what_a_provider_makes_of_its_cancellation_is_no_failure(tmp_path: Path) -> None:
    async def converts(request: SearchRequest, call: Call) -> SearchPage:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise ValueError("interrupted") from None
        return SearchPage()

    async with open_door(tmp_path) as opened:
        task = asyncio.create_task(opened.door.call(SEARCH, SearchRequest(query="a"), converts, maker=FAKE))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert opened.journal.keys() == set()


async def test_a_flight_that_ignores_its_cancellation_is_named() -> None:
    late: list[str] = []
    flights: Flights[int] = Flights(late.append, grace=0.01)
    end = asyncio.Event()

    async def deaf(_: Flight[int]) -> int:
        while not end.is_set():
            try:
                await end.wait()
            except asyncio.CancelledError:
                continue
        return 1

    caller = asyncio.create_task(flights.board("key", "search by deaf", deaf))
    await asyncio.sleep(0.01)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert late == ["search by deaf goes on 0.01 s after it was cancelled"]
    end.set()


async def test_closing_stops_what_is_under_way(tmp_path: Path) -> None:
    engine = await held()
    async with open_door(tmp_path) as opened:
        caller = start(opened, engine, "a")
        await until(engine, 1)
        await opened.door.close()
        assert {task for task in asyncio.all_tasks() if task.get_name().startswith("call ")} == set()
        await asyncio.gather(caller, return_exceptions=True)


# --- winding down --------------------------------------------------------------------------------------------------


async def test_winding_down_refuses_what_comes_and_what_is_under_way(tmp_path: Path) -> None:
    engine = await held()
    for _ in range(2):  # the second time from the journal
        async with open_door(tmp_path) as opened:
            under_way = start(opened, engine, "a")
            if not opened.journal.keys():
                await until(engine, 1)
                opened.door.wind_down("stopped by the user")
            with pytest.raises(CallRefused, match="stopped by the user"):
                await under_way
            with pytest.raises(CallRefused, match="stopped by the user"):
                await start(opened, engine, "b")
    assert engine.asked == ["a"]


async def test_waiting_for_a_permit_and_for_the_next_attempt_is_cut_too(tmp_path: Path) -> None:
    limiter = Limiter(1)
    async with open_door(tmp_path) as opened, limiter.permit():
        maker = Maker("fake", limiter=limiter)
        call = opened.door.call(SEARCH, SearchRequest(query="a"), FakeSearch().search, maker=maker)
        waiting = asyncio.create_task(call)
        await asyncio.sleep(0.01)
        opened.door.wind_down("stop")
        with pytest.raises(CallRefused, match="stop"):
            await waiting


async def test_closing_stages_go_on(tmp_path: Path) -> None:
    engine = FakeSearch()
    async with open_door(tmp_path) as opened:
        opened.door.wind_down("stop")
        with opened.budget.closing("write"):
            assert (await start(opened, engine, "a")).hits
        with pytest.raises(CallRefused):
            await start(opened, engine, "b")


async def test_it_is_told_for_how_many_replies_of_models_a_run_waits(tmp_path: Path) -> None:
    engine = await held()
    chat = Kind("chat", SearchPage)
    async with open_door(tmp_path) as opened:
        cut = start(opened, engine, "a", chat)
        with opened.budget.closing("write"):
            waited_for = [start(opened, engine, query, chat) for query in "bc"]
            waited_for.append(start(opened, engine, "d"))
        await until(engine, 4)
        opened.door.wind_down("stop", writing=True)
        assert opened.door.waited_for() == 2
        engine.gate.set()
        await asyncio.gather(*waited_for)
        await asyncio.gather(cut, return_exceptions=True)
        assert opened.door.waited_for() == 0


async def test_an_effect_under_way_is_not_cut_off(tmp_path: Path) -> None:
    engine = await held()
    kind = Kind("publish", SearchPage, effect=True)
    async with open_door(tmp_path) as opened:
        publishing = start(opened, engine, "a", kind)
        await until(engine, 1)
        opened.door.wind_down("stop")
        engine.gate.set()
        assert (await publishing).hits
    async with open_door(tmp_path) as opened:
        await start(opened, engine, "a", kind)
    assert engine.asked == ["a"]


async def test_when_the_time_is_spent_calls_are_cut_and_the_report_can_be_written(tmp_path: Path) -> None:
    engine = await held()
    budget = Budget(Limits(seconds=0.1), reserve=0.9)
    async with open_door(tmp_path, budget=budget) as opened:
        with pytest.raises(CallRefused, match="the run's time is spent"):
            await start(opened, engine, "a")
        assert opened.door.winding_down
        engine.gate.set()
        with opened.budget.closing("write"):
            assert (await start(opened, engine, "b")).hits


FREE = Kind("parse", SearchPage, free=True)


async def test_free_work_goes_on_for_a_while_when_the_time_is_spent(tmp_path: Path) -> None:
    now, engine = [0.0], FakeSearch()
    budget = Budget(Limits(seconds=1), closing_stages=["write"], clock=lambda: now[0])
    async with open_door(tmp_path, budget=budget) as opened:
        assert (await start(opened, engine, "in time", FREE)).hits
        now[0] = 2.5
        assert (await start(opened, engine, "in a while", FREE)).hits
        now[0] = 3.5
        with pytest.raises(CallRefused, match="the run's time is spent"):
            await start(opened, engine, "too late", FREE)
        other = replace(FREE, name="perform")
        assert (await start(opened, engine, "the first of its kind", other)).hits
        with pytest.raises(CallRefused, match="the run's time is spent"):
            await start(opened, engine, "the second", other)
        with opened.budget.closing("write"):
            assert (await start(opened, engine, "for the report", FREE)).hits


async def test_free_work_that_waits_longer_is_left_once_there_is_something(tmp_path: Path) -> None:
    now, first, others = [0.0], await held(), await held()
    budget = Budget(Limits(seconds=1), clock=lambda: now[0])
    async with open_door(tmp_path, budget=budget) as opened:
        waiting = [start(opened, others, str(number), FREE) for number in range(3)]
        served = start(opened, first, "served", FREE)
        await until(others, 3)
        await until(first, 1)
        now[0] = 60.0
        opened.door.wind_down("stop")
        first.gate.set()
        assert (await served).hits
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [CallRefused] * 3


# --- leases --------------------------------------------------------------------------------------------------------


async def test_calls_side_by_side_do_not_overrun_the_budget(tmp_path: Path) -> None:
    engine = await held()
    async with open_door(tmp_path, budget=Budget(Limits(tokens=30), reserve=0)) as opened:
        callers = [start(opened, engine, str(number)) for number in range(10)]
        await until(engine, 3)
        engine.gate.set()
        ended = await asyncio.gather(*callers, return_exceptions=True)
    assert len(engine.asked) == 3
    assert sum(isinstance(end, CallRefused) for end in ended) == 7


@pytest.mark.parametrize(
    ("error", "tokens"), [(BadReply("cut off"), 10), (Unavailable("HTTP 503"), 0), (Denied("HTTP 401"), 0)]
)
async def test_a_reply_that_cannot_be_used_counts_at_its_lease(
    error: ProviderError, tokens: int, tmp_path: Path
) -> None:
    async def fail(request: SearchRequest, call: Call) -> SearchPage:
        raise error

    async def stream(request: SearchRequest, call: Call) -> SearchPage:
        call.emit("text", "half a")
        raise error

    async with open_door(tmp_path, retry=RetryPolicy(attempts=1)) as opened:
        with pytest.raises(CallFailed):
            await opened.door.call(SEARCH, SearchRequest(query="a"), fail, maker=FAKE)
        assert opened.budget.spent()["tokens"] == tokens
        with pytest.raises(CallFailed):
            await opened.door.call(SEARCH, SearchRequest(query="b"), stream, maker=FAKE)
        assert opened.budget.spent()["tokens"] == tokens + 10, "what was streamed was written"


async def test_a_call_cut_off_counts_at_its_lease(tmp_path: Path) -> None:
    engine = await held()
    async with open_door(tmp_path) as opened:
        caller = start(opened, engine, "a")
        await until(engine, 1)
        caller.cancel()
        await asyncio.gather(caller, return_exceptions=True)
        assert opened.budget.spent()["tokens"] == 10
    async with open_door(tmp_path) as opened:
        assert opened.budget.spent()["tokens"] == 10
