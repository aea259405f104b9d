"""Single flight, cancellation and shutdown."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from tests.call_paths import FakeSearch, OpenCallPath, open_call_path

from leadline._runtime.calls import in_flight
from leadline._runtime.calls.budget import Budget, Limits
from leadline._runtime.calls.job import Kind, ProviderIdentity
from leadline._runtime.calls.limits import Limiter
from leadline._runtime.calls.retry import RetryPolicy
from leadline._runtime.journal.rows import Need
from leadline.contracts import Call
from leadline.errors import BadReply, CallFailed, CallRefused, Denied, ProviderError, Unavailable
from leadline.records import SearchPage, SearchRequest

SEARCH = Kind("search", SearchPage, need=lambda _: Need(model_calls=1, tokens=10))
FAKE = ProviderIdentity("fake")


def start(
    opened: OpenCallPath, engine: FakeSearch, query: str, kind: Kind[SearchPage] = SEARCH
) -> asyncio.Task[SearchPage]:
    return asyncio.create_task(opened.calls.call(kind, SearchRequest(query=query), engine.search, provider=FAKE))


async def held() -> FakeSearch:
    engine = FakeSearch()
    engine.gate.clear()
    return engine


async def until(engine: FakeSearch, asked: int) -> None:
    while len(engine.asked) < asked:
        await asyncio.sleep(0.001)


async def test_a_cancelled_caller_does_not_disturb_the_others(tmp_path: Path) -> None:
    engine = await held()
    async with open_call_path(tmp_path) as opened:
        first, second = start(opened, engine, "a"), start(opened, engine, "a")
        await until(engine, 1)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        engine.gate.set()
        assert (await second).hits
    assert engine.asked == ["a"]


async def test_the_last_cancelled_caller_stops_the_call_without_a_row(tmp_path: Path) -> None:
    engine = await held()
    async with open_call_path(tmp_path) as opened:
        callers = [start(opened, engine, "a") for _ in range(3)]
        await until(engine, 1)
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
        assert opened.journal.keys() == set()
        engine.gate.set()
        assert (await start(opened, engine, "a")).hits
    assert engine.asked == ["a", "a"]


async def test_a_new_caller_does_not_join_a_call_that_is_being_cancelled(tmp_path: Path) -> None:
    gone = asyncio.Event()

    async def stubborn(request: SearchRequest, call: Call) -> SearchPage:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await gone.wait()
            raise
        return SearchPage()

    async with open_call_path(tmp_path) as opened:
        request = SearchRequest(query="a")
        first = asyncio.create_task(opened.calls.call(SEARCH, request, stubborn, provider=FAKE))
        await asyncio.sleep(0.01)
        first.cancel()
        await asyncio.sleep(0.01)
        engine = FakeSearch()
        assert (await opened.calls.call(SEARCH, request, engine.search, provider=FAKE)).hits
        gone.set()
        await asyncio.gather(first, return_exceptions=True)
        assert len(opened.journal.rows()) == 1


async def test_an_error_raised_on_cancellation_is_no_failure(tmp_path: Path) -> None:
    async def converts(request: SearchRequest, call: Call) -> SearchPage:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise ValueError("interrupted") from None
        return SearchPage()

    async with open_call_path(tmp_path) as opened:
        task = asyncio.create_task(opened.calls.call(SEARCH, SearchRequest(query="a"), converts, provider=FAKE))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert opened.journal.keys() == set()


async def test_closing_cancels_calls_in_flight(tmp_path: Path) -> None:
    engine = await held()
    async with open_call_path(tmp_path) as opened:
        caller = start(opened, engine, "a")
        await until(engine, 1)
        await opened.calls.in_flight.close()
        assert {task for task in asyncio.all_tasks() if task.get_name().startswith("call ")} == set()
        await asyncio.gather(caller, return_exceptions=True)


# --- shutdown ------------------------------------------------------------------------------------------------------


async def test_a_shutdown_refuses_new_calls_and_calls_in_flight(tmp_path: Path) -> None:
    engine = await held()
    for _ in range(2):  # the second time from the journal
        async with open_call_path(tmp_path) as opened:
            under_way = start(opened, engine, "a")
            if not opened.journal.keys():
                await until(engine, 1)
                opened.calls.shutdown.begin("stopped by the user")
            with pytest.raises(CallRefused, match="stopped by the user"):
                await under_way
            with pytest.raises(CallRefused, match="stopped by the user"):
                await start(opened, engine, "b")
    assert engine.asked == ["a"]


async def test_a_shutdown_interrupts_the_wait_for_a_permit(tmp_path: Path) -> None:
    limiter = Limiter(1)
    async with open_call_path(tmp_path) as opened, limiter.permit():
        provider = ProviderIdentity("fake", limiter=limiter)
        call = opened.calls.call(SEARCH, SearchRequest(query="a"), FakeSearch().search, provider=provider)
        waiting = asyncio.create_task(call)
        await asyncio.sleep(0.01)
        opened.calls.shutdown.begin("stop")
        with pytest.raises(CallRefused, match="stop"):
            await waiting


async def test_closing_stages_go_on(tmp_path: Path) -> None:
    engine = FakeSearch()
    async with open_call_path(tmp_path) as opened:
        opened.calls.shutdown.begin("stop")
        with opened.budget.closing():
            assert (await start(opened, engine, "a")).hits
        with pytest.raises(CallRefused):
            await start(opened, engine, "b")


async def test_the_number_of_awaited_chats_is_known(tmp_path: Path) -> None:
    engine = await held()
    chat = Kind("chat", SearchPage)
    async with open_call_path(tmp_path) as opened:
        cut = start(opened, engine, "a", chat)
        with opened.budget.closing():
            awaited = [start(opened, engine, query, chat) for query in "bc"]
            awaited.append(start(opened, engine, "d"))
        await until(engine, 4)
        opened.calls.shutdown.begin("stop", writing=True)
        assert opened.calls.shutdown.awaited_chats == 2
        engine.gate.set()
        await asyncio.gather(*awaited)
        await asyncio.gather(cut, return_exceptions=True)
        assert opened.calls.shutdown.awaited_chats == 0


async def test_an_effect_under_way_is_not_cut_off(tmp_path: Path) -> None:
    engine = await held()
    kind = Kind("publish", SearchPage, effect=True)
    async with open_call_path(tmp_path) as opened:
        publishing = start(opened, engine, "a", kind)
        await until(engine, 1)
        opened.calls.shutdown.begin("stop")
        engine.gate.set()
        assert (await publishing).hits
    async with open_call_path(tmp_path) as opened:
        await start(opened, engine, "a", kind)
    assert engine.asked == ["a"]


async def test_spent_time_interrupts_calls_outside_the_closing_stages(tmp_path: Path) -> None:
    engine = await held()
    budget = Budget(Limits(seconds=1.0), reserve=0.9)
    async with open_call_path(tmp_path, budget=budget) as opened:
        with pytest.raises(CallRefused, match="the run's time is spent"):
            await start(opened, engine, "a")
        assert opened.calls.shutdown.reason
        engine.gate.set()
        with opened.budget.closing():
            assert (await start(opened, engine, "b")).hits


FREE = Kind("parse", SearchPage, free=True)


async def test_free_work_goes_on_for_a_while_when_the_time_is_spent(tmp_path: Path) -> None:
    now, engine = [60.0], FakeSearch()
    budget = Budget(Limits(seconds=1), clock=lambda: now[0] - 60)
    async with open_call_path(tmp_path, budget=budget) as opened:
        now[0] = 120.0
        assert (await start(opened, engine, "the first reply, however late", FREE)).hits
        with pytest.raises(CallRefused, match="the run's time is spent"):
            await start(opened, engine, "too late", FREE)
        now[0] = 60.0
        assert (await start(opened, engine, "in time", FREE)).hits
        now[0] = 69.0
        assert (await start(opened, engine, "in a while", replace(FREE, name="perform"))).hits
        now[0] = 72.0
        with opened.budget.closing():
            assert (await start(opened, engine, "for the report", FREE)).hits


async def test_free_work_in_flight_ends_at_its_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_flight, "FREE_SECONDS", 0.05)
    first, others = await held(), await held()
    async with open_call_path(tmp_path) as opened:
        waiting = [start(opened, others, str(number), FREE) for number in range(3)]
        served = start(opened, first, "served", FREE)
        await until(others, 3)
        await until(first, 1)
        opened.calls.shutdown.begin("stop")
        await asyncio.sleep(0.1)
        assert not any(call.done() for call in waiting)
        first.gate.set()
        assert (await served).hits
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [CallRefused] * 3


# --- reservations ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "tokens"), [(BadReply("cut off"), 10), (Unavailable("HTTP 503"), 0), (Denied("HTTP 401"), 0)]
)
async def test_an_unusable_reply_counts_at_its_reservation(error: ProviderError, tokens: int, tmp_path: Path) -> None:
    async def fail(request: SearchRequest, call: Call) -> SearchPage:
        raise error

    async def stream(request: SearchRequest, call: Call) -> SearchPage:
        call.emit("text", "half a")
        raise error

    async with open_call_path(tmp_path, retry=RetryPolicy(attempts=1)) as opened:
        with pytest.raises(CallFailed):
            await opened.calls.call(SEARCH, SearchRequest(query="a"), fail, provider=FAKE)
        assert opened.budget.spent()["tokens"] == tokens
        with pytest.raises(CallFailed):
            await opened.calls.call(SEARCH, SearchRequest(query="b"), stream, provider=FAKE)
        assert opened.budget.spent()["tokens"] == tokens + 10, "what was streamed was written"


async def test_an_interrupted_call_counts_at_its_reservation(tmp_path: Path) -> None:
    engine = await held()
    async with open_call_path(tmp_path) as opened:
        caller = start(opened, engine, "a")
        await until(engine, 1)
        caller.cancel()
        await asyncio.gather(caller, return_exceptions=True)
        assert opened.budget.spent()["tokens"] == 10
    async with open_call_path(tmp_path) as opened:
        assert opened.budget.spent()["tokens"] == 10
