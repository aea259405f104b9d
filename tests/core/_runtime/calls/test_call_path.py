"""The call path: committed before delivered, the same live and replayed."""

import asyncio
import json
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.call_paths import FakeSearch, OpenCallPath, open_call_path

from leadline._runtime.calls.budget import Limits
from leadline._runtime.calls.job import Kind, ProviderIdentity, Stream
from leadline._runtime.calls.limits import Limiter
from leadline._runtime.journal.rows import Need
from leadline._settings.secrets import MASK, Secrets
from leadline.contracts import Call
from leadline.errors import (
    CallFailed,
    CallRefused,
    Denied,
    JournalMissing,
    NoEvidence,
    PluginError,
    RateLimited,
    Unavailable,
)
from leadline.records import Document, Event, Record, SearchPage, SearchRequest, Usage

SEARCH = Kind("search", SearchPage)
STRATEGY = Kind("strategy", SearchPage, composite=True)
FAKE = ProviderIdentity("fake")
KEY = "a-secret-of-twenty-characters"


async def ask(opened: OpenCallPath, engine: FakeSearch, query: str, **options: Any) -> SearchPage:
    kind = options.pop("kind", SEARCH)
    provider = options.pop("provider", FAKE)
    return await opened.calls.call(kind, SearchRequest(query=query), engine.search, provider=provider, **options)


# --- replay --------------------------------------------------------------------------------------------------------


async def test_the_same_content_is_asked_once(tmp_path: Path) -> None:
    engine = FakeSearch()
    async with open_call_path(tmp_path) as opened:
        first = await ask(opened, engine, "a")
        assert await ask(opened, engine, "a") == first
    async with open_call_path(tmp_path) as opened:
        assert await ask(opened, engine, "a") == first
    assert engine.asked == ["a"]


async def test_wanted_repetitions_have_a_sample(tmp_path: Path) -> None:
    engine = FakeSearch()
    async with open_call_path(tmp_path) as opened:
        await ask(opened, engine, "a")
        await ask(opened, engine, "a", sample=1)
    assert engine.asked == ["a", "a"]


async def test_each_caller_gets_a_record_of_its_own(tmp_path: Path) -> None:
    async with open_call_path(tmp_path) as opened:
        one, other = await asyncio.gather(*(ask(opened, FakeSearch(), "a") for _ in range(2)))
    assert one == other
    assert one is not other


async def test_a_failure_replays_as_it_was(tmp_path: Path) -> None:
    seen = []
    engine = FakeSearch(errors={"a": [Denied("no key")]})
    for _ in range(2):
        async with open_call_path(tmp_path) as opened:
            with pytest.raises(CallFailed) as caught:
                await ask(opened, engine, "a")
            seen.append((type(caught.value), str(caught.value), caught.value.record, caught.value.key))
    assert seen[0] == seen[1]
    assert seen[0][2].category == "BUSINESS"
    assert seen[0][2].type == "Denied"
    assert engine.asked == ["a"]


async def test_offline_nothing_is_asked_and_a_miss_names_the_nearest(tmp_path: Path) -> None:
    async with open_call_path(tmp_path) as opened:
        await ask(opened, FakeSearch(), "where is the lead")
    engine = FakeSearch()
    async with open_call_path(tmp_path, offline=True) as opened:
        with pytest.raises(
            JournalMissing,
            match=r"differs at request\.query: 'where is the lead' there, 'where was the lead' here",
        ):
            await ask(opened, engine, "where was the lead")
        await ask(opened, engine, "where is the lead")
    assert engine.asked == []


async def test_calls_that_are_not_journalled_are_made_again_offline(tmp_path: Path) -> None:
    engine, kind = FakeSearch(), Kind("format", SearchPage, keep=False)
    async with open_call_path(tmp_path) as opened:
        await ask(opened, engine, "a", kind=kind)
        assert opened.journal.keys() == set()
        assert [row.outcome for row in opened.calls.rows()] == ["reply"]
    async with open_call_path(tmp_path, offline=True) as opened:
        await ask(opened, engine, "a", kind=kind)
    assert engine.asked == ["a", "a"]


async def test_facts_keep_their_first_value(tmp_path: Path) -> None:
    facts = iter([{"now": 1}, {"now": 2}])
    for _ in range(2):
        async with open_call_path(tmp_path) as opened:
            assert await opened.calls.fact("clock", lambda: next(facts)) == {"now": 1}
            assert await opened.calls.fact("slow", lambda: asyncio.sleep(0, next(facts))) == {"now": 2}
            assert opened.calls.rows() == []


async def test_a_reply_that_would_not_come_back_is_a_failure_now(tmp_path: Path) -> None:
    async def wrong(request: SearchRequest, call: Call) -> Any:
        return Document(text="not a page")

    async with open_call_path(tmp_path) as opened:
        with pytest.raises(CallFailed, match="the reply is Document, not SearchPage"):
            await opened.calls.call(SEARCH, SearchRequest(query="a"), wrong, provider=FAKE)


async def test_a_request_without_a_key_is_the_callers_fault(tmp_path: Path) -> None:
    class Odd(Record):
        where: Any = None

    async with open_call_path(tmp_path) as opened:
        with pytest.raises(TypeError, match=r"request\.where: PosixPath"):
            await opened.calls.call(SEARCH, Odd(where=tmp_path), FakeSearch().search, provider=FAKE)  # type: ignore[arg-type]


# --- errors and retries --------------------------------------------------------------------------------------------


async def test_a_long_wait_for_a_provider_is_an_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leadline._runtime.calls.attempt._NOTICEABLE", 0.2)
    limiter, errors = Limiter(2), [RateLimited("HTTP 429", retry_after=13), RateLimited("HTTP 429", retry_after=0.1)]
    engine = FakeSearch(errors={"a": [*errors], "b": [Unavailable("down")]})
    async with open_call_path(tmp_path) as opened:
        for query in "ab":
            await ask(opened, engine, query)
        limiter.health._delay(time.monotonic() - 19.6, 20)
        await ask(opened, engine, "c", provider=ProviderIdentity("held", limiter=limiter))
        waits = opened.seen.of("call.held")
    assert [(wait["provider"], wait["seconds"]) for wait in waits] == [("fake", 13.0), ("held", 0.4)]


async def test_a_slow_call_is_cut_off_and_repeated(tmp_path: Path) -> None:
    engine = FakeSearch(pause=60)
    async with open_call_path(tmp_path) as opened:
        with pytest.raises(CallFailed, match=r"no reply within 0\.01 s \(after 3 attempts\)"):
            await ask(opened, engine, "a", provider=ProviderIdentity("fake", timeout=0.01))


async def test_a_provider_makes_no_calls_of_its_own(tmp_path: Path) -> None:
    async with open_call_path(tmp_path) as opened:

        async def greedy(request: SearchRequest, call: Call) -> SearchPage:
            with pytest.raises(PluginError, match="a provider must not make calls"):
                await ask(opened, FakeSearch(), "inner")
            return SearchPage()

        assert await opened.calls.call(SEARCH, SearchRequest(query="a"), greedy, provider=FAKE) == SearchPage()


# --- composites ----------------------------------------------------------------------------------------------------


async def strategy(opened: OpenCallPath, query: str, *engines: FakeSearch) -> SearchPage:
    async def do(request: SearchRequest, call: Call) -> SearchPage:
        failures = []
        for engine in engines:
            try:
                return await ask(opened, engine, request.query, provider=ProviderIdentity(engine.name))
            except CallFailed as failed:
                failures.append(failed)
        raise ExceptionGroup("all failed", failures)

    return await opened.calls.call(STRATEGY, SearchRequest(query=query), do, provider=ProviderIdentity("fallback"))


async def test_a_composite_is_replayed_without_its_leaves(tmp_path: Path) -> None:
    one, other = FakeSearch("one", errors={"a": [Denied("no")]}), FakeSearch("other")
    async with open_call_path(tmp_path) as opened:
        page = await strategy(opened, "a", one, other)
        rows = {row.provider: row for row in opened.journal.rows()}
        assert rows["one"].parent == rows["other"].parent == rows["fallback"].key
    async with open_call_path(tmp_path) as opened:
        assert await strategy(opened, "a") == page
    spans = {event.data["provider"]: event for event in opened.seen.events if event.kind == "call.finished"}
    assert list(spans) == ["fallback"]


async def test_a_composite_failure_names_each_call_and_has_the_curable_category(tmp_path: Path) -> None:
    one = FakeSearch("one", errors={"a": [Denied("no")]})
    other = FakeSearch("other", errors={"a": [Unavailable("down")] * 3})
    async with open_call_path(tmp_path) as opened:
        with pytest.raises(CallFailed) as caught:
            await strategy(opened, "a", one, other)
    record = caught.value.record
    assert (record.category, record.type, record.provider) == ("NETWORK", "AllFailed", "fallback")
    assert "search by one: no" in record.message
    assert "search by other: down (after 3 attempts)" in record.message


async def test_forgetting_a_failure_forgets_its_causes(tmp_path: Path) -> None:
    one = FakeSearch("one", errors={"a": [Denied("no")]})
    async with open_call_path(tmp_path) as opened:
        with pytest.raises(CallFailed):
            await ask(
                opened, one, "a", provider=ProviderIdentity("one")
            )  # the leaf is there before: its parent is another
        with pytest.raises(CallFailed) as caught:
            await strategy(opened, "a", one)
        keys = opened.calls.failed_keys(caught.value)
        assert len(keys) == 2
        await opened.journal.mark_escaped(keys)
    async with open_call_path(tmp_path) as opened:
        assert await strategy(opened, "a", one) == SearchPage(hits=(await ask(opened, FakeSearch(), "a")).hits)
    assert one.asked == ["a", "a"]


async def test_an_error_of_a_strategy_is_a_failure_and_errors_of_the_core_pass(tmp_path: Path) -> None:
    async def broken(request: SearchRequest, call: Call) -> SearchPage:
        raise ZeroDivisionError("in the strategy")

    async def honest(request: SearchRequest, call: Call) -> SearchPage:
        raise NoEvidence("nothing")

    async with open_call_path(tmp_path) as opened:
        with pytest.raises(CallFailed, match="ZeroDivisionError: in the strategy"):
            await opened.calls.call(STRATEGY, SearchRequest(query="a"), broken, provider=FAKE)
        with pytest.raises(NoEvidence):
            await opened.calls.call(STRATEGY, SearchRequest(query="b"), honest, provider=FAKE)
        assert len(opened.journal.keys()) == 1


async def test_two_composites_that_wait_for_each_other_are_an_error(tmp_path: Path) -> None:
    async with open_call_path(tmp_path) as opened:

        async def do(request: SearchRequest, call: Call) -> SearchPage:
            await asyncio.sleep(0.01)
            return await other(request.query[::-1])

        async def other(query: str) -> SearchPage:
            return await opened.calls.call(STRATEGY, SearchRequest(query=query), do, provider=FAKE)

        with pytest.raises(PluginError, match="waits for itself"):
            await asyncio.gather(other("ab"), other("ba"))


# --- middleware ----------------------------------------------------------------------------------------------------


class Shout:
    """Changes requests on the way out, and replies on the way in."""

    def __init__(self, mark: str, live: bool = True) -> None:
        self.mark = mark
        self.live = live

    async def around(self, request: Any, call: Call, proceed: Any, /) -> Any:
        page = await proceed(request.model_copy(update={"query": request.query + self.mark}))
        return page.model_copy(update={"cursor": (page.cursor or "") + self.mark})


async def test_middleware_wraps_leaves_the_first_one_outermost(tmp_path: Path) -> None:
    engine = FakeSearch()
    async with open_call_path(tmp_path, middleware={"a": Shout("1"), "b": Shout("2")}) as opened:
        page = await strategy(opened, "q", engine)
    assert engine.asked == ["q12"]
    assert page.cursor == "21"


async def test_deltas_are_held_back_from_a_middleware_that_must_see_the_reply(tmp_path: Path) -> None:
    async def stream(request: SearchRequest, call: Call) -> SearchPage:
        call.emit("text", "raw")
        return SearchPage()

    kind = Kind("search", SearchPage, text=lambda page: f"seen {page.cursor}")
    for live, texts in ((True, ["raw"]), (False, ["seen !"])):
        async with open_call_path(tmp_path / str(live), middleware={"redact": Shout("!", live)}) as opened:
            await opened.calls.call(kind, SearchRequest(query="a"), stream, provider=FAKE)
        assert [delta["text"] for delta in opened.seen.of("call.delta")] == texts


# --- streaming and events ------------------------------------------------------------------------------------------


async def test_a_retry_voids_streamed_text_and_a_replay_sends_the_whole(tmp_path: Path) -> None:
    attempts = iter([Unavailable("cut"), None])

    async def stream(request: SearchRequest, call: Call) -> SearchPage:
        call.emit("text", "ab")
        if error := next(attempts):
            raise error
        call.emit("text", "c")
        return SearchPage(cursor="abc")

    kind = Kind("search", SearchPage, text=lambda page: str(page.cursor))
    async with open_call_path(tmp_path) as opened:
        await opened.calls.call(kind, SearchRequest(query="a"), stream, provider=FAKE)
    told = [event for event in opened.seen.events if event.kind in ("call.delta", "call.restart")]
    assert [event.data.get("text", "restart") for event in told] == ["ab", "restart", "ab", "c"]
    async with open_call_path(tmp_path) as opened:
        await opened.calls.call(kind, SearchRequest(query="a"), stream, provider=FAKE)
    assert [delta["text"] for delta in opened.seen.of("call.delta")] == ["abc"]


async def test_deltas_of_a_json_reply_carry_its_readable_text(tmp_path: Path) -> None:
    attempts = iter([Unavailable("cut"), None])

    async def stream(request: SearchRequest, call: Call) -> SearchPage:
        call.emit("reasoning", "hm")
        call.emit("text", '{"id": "1", "text": "The b')
        call.emit("reasoning", "hm")
        if error := next(attempts):
            raise error
        call.emit("text", 'ay\\u0021"}')
        return SearchPage(cursor='{"text": "The bay!"}')

    kind = Kind("search", SearchPage, text=lambda page: str(page.cursor), stream=Stream(shows=("text",), drafts=True))
    for said in ([None, "The b", None, None, "The b", None, "ay!"], ["The bay!"]):  # live, and from the journal
        async with open_call_path(tmp_path) as opened:
            await opened.calls.call(kind, SearchRequest(query="a"), stream, provider=FAKE)
        deltas = opened.seen.of("call.delta")
        assert [delta.get("said") for delta in deltas] == said
        drafts = [delta["draft"][0]["text"] if "draft" in delta else None for delta in deltas]
        assert drafts == said


async def test_a_reader_that_comes_late_receives_the_readable_text_from_its_beginning(tmp_path: Path) -> None:
    kind = Kind("search", SearchPage, stream=Stream(shows=("text",), drafts=True))
    async with open_call_path(tmp_path) as opened:
        opened.bus._watchers.clear()  # nobody follows

        async def stream(request: SearchRequest, call: Call) -> SearchPage:
            call.emit("text", '{"id": "1", "text": "The b')
            reader = opened.bus.subscribe(deltas=True)
            await asyncio.sleep(0.06)
            call.emit("text", 'ay"}')
            pieces.extend([await anext(reader), await anext(reader)])
            return SearchPage()

        pieces: list[Event] = []
        await opened.calls.call(kind, SearchRequest(query="a"), stream, provider=FAKE)
    assert [piece.data["draft"] for piece in pieces] == [
        [{"section": "1", "text": "The b"}],
        [{"section": "1", "text": "ay"}],
    ]


async def test_a_thread_of_an_attempt_given_up_is_not_heard(tmp_path: Path) -> None:
    calls: list[Call] = []

    async def remember(request: SearchRequest, call: Call) -> SearchPage:
        calls.append(call)
        return SearchPage()

    async with open_call_path(tmp_path) as opened:
        await opened.calls.call(SEARCH, SearchRequest(query="a"), remember, provider=FAKE)
        await asyncio.to_thread(calls[0].emit, "text", "late")
    assert opened.seen.of("call.delta") == []


async def test_a_call_has_task_key_trace_and_remaining_time(tmp_path: Path) -> None:
    calls: list[tuple[str, str, str, float]] = []

    async def do(request: SearchRequest, call: Call) -> SearchPage:
        calls.append((call.task, call.key, call.traceparent, call.remaining()))
        if len(calls) == 1:
            raise Unavailable("again")
        return SearchPage()

    async with open_call_path(tmp_path) as opened:
        await opened.calls.call(
            SEARCH, SearchRequest(query="a"), do, provider=ProviderIdentity("fake", timeout=9), task="search"
        )
        (row,) = opened.journal.rows()
    (task, key, trace, left), (_, again, _, _) = calls
    assert (task, key, again) == ("search", row.key, row.key)
    assert trace.startswith("00-" + "0" * 32 + "-")
    assert trace.endswith("-01")
    assert 8 < left <= 9


async def test_events_tell_where_an_answer_came_from(tmp_path: Path) -> None:
    engine = FakeSearch()
    async with open_call_path(tmp_path) as opened:
        await asyncio.gather(*(ask(opened, engine, "a") for _ in range(2)))
    finished = opened.seen.of("call.finished")
    assert [call["from"] for call in finished] == ["live", "shared"]
    assert len(opened.seen.of("call.started")) == 1
    async with open_call_path(tmp_path) as opened:
        await ask(opened, engine, "a")
    assert [call["from"] for call in opened.seen.of("call.finished")] == ["journal"]


# --- secrets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("secret", [KEY, 'p\xe4ss"word\\with-signs-of-all-kinds'])
async def test_a_request_with_a_secret_is_refused_and_leaves_no_trace_of_it(tmp_path: Path, secret: str) -> None:
    engine, written = FakeSearch(), json.dumps({"key": secret})
    async with open_call_path(tmp_path, secrets=Secrets([secret])) as opened:
        with pytest.raises(CallRefused, match=r"request\.query holds a configured secret"):
            await ask(opened, engine, f"what is {written}")
        (row,) = opened.journal.rows()
        request: Any = await opened.journal.request(row)
        assert request["request"]["query"] == f'what is {{"key": "{MASK}"}}'
    assert engine.asked == []
    assert all(form not in str(opened.seen.events) for form in (secret, written[9:-2]))


async def test_errors_are_scrubbed_and_a_reply_with_a_secret_is_a_bad_one(tmp_path: Path) -> None:
    async def echo(request: SearchRequest, call: Call) -> SearchPage:
        if request.query == "bad":
            raise Denied(f"bad key {KEY}\ud800")
        return SearchPage(cursor=KEY)

    async with open_call_path(tmp_path, secrets=Secrets([KEY])) as opened:
        with pytest.raises(CallFailed) as caught:
            await opened.calls.call(SEARCH, SearchRequest(query="bad"), echo, provider=FAKE)
        assert str(caught.value) == f"search by fake: bad key {MASK}\ufffd"
        with pytest.raises(CallFailed, match="search by fake: the reply holds a configured secret") as caught:
            await opened.calls.call(SEARCH, SearchRequest(query="good"), echo, provider=FAKE)
        assert (caught.value.record.type, caught.value.record.category) == ("BadReply", "LLM")
    assert KEY not in str(opened.seen.events)


# --- usage and counts ----------------------------------------------------------------------------------------------


async def test_failed_attempts_count(tmp_path: Path) -> None:
    attempts = iter([Unavailable("down"), None])

    async def do(request: SearchRequest, call: Call) -> SearchPage:
        call.spend(Usage(input_tokens=10, output_tokens=1))
        if error := next(attempts):
            raise error
        return SearchPage()

    kind = Kind("chat", SearchPage, need=lambda _: Need(model_calls=1, tokens=100))
    async with open_call_path(tmp_path, limits=Limits(model_calls=5, tokens=1000)) as opened:
        await opened.calls.call(kind, SearchRequest(query="a"), do, provider=FAKE)
        (row,) = opened.calls.rows()
        assert (row.attempts, row.usage.input_tokens) == (2, 20)
        spent = opened.budget.spent()
        assert (spent["model_calls"], spent["tokens"]) == (2, 22)
    async with open_call_path(tmp_path) as opened:
        assert opened.budget.spent()["tokens"] == 22
        await opened.calls.call(kind, SearchRequest(query="a"), do, provider=FAKE)
        assert opened.budget.spent()["tokens"] == 22
        assert opened.calls.store.replayed == {row.key}


async def test_calls_in_flight_at_a_kill_are_told_and_counted_once_but_cost_what_they_reserved(tmp_path: Path) -> None:
    killed, engine = tmp_path / "killed", FakeSearch()
    kind = Kind("chat", SearchPage, need=lambda _: Need(model_calls=1, queries=1, tokens=100))
    limits = Limits(model_calls=3, queries=3)
    async with open_call_path(tmp_path / "run", limits=limits) as opened:
        await ask(opened, engine, "a", kind=kind)
        engine.gate.clear()
        calls = [asyncio.create_task(ask(opened, engine, query, kind=kind)) for query in "bc"]
        while len(engine.asked) < 3:
            await asyncio.sleep(0)
        await opened.journal.set_meta("order", {})  # written after everything before it
        shutil.copytree(tmp_path / "run", killed)
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
    engine.gate.set()
    async with open_call_path(killed, limits=limits) as opened:
        assert [session.interrupted for session in opened.journal.sessions()] == [2, 0]
        assert opened.journal.spent() == Need(model_calls=1, queries=1, tokens=300)
        for query in "abc":
            await ask(opened, engine, query, kind=kind)
        with pytest.raises(CallRefused, match="model calls is spent: 3 of 3"):
            await ask(opened, engine, "d", kind=kind)
    async with open_call_path(tmp_path / "run") as opened:
        assert [session.interrupted for session in opened.journal.sessions()] == [0, 0], "nobody waited for them"


async def test_an_error_of_a_listener_does_not_fail_the_call(tmp_path: Path) -> None:
    heard: list[str] = []

    def listen(attempt: int, piece: str) -> None:
        heard.append(piece)
        raise ValueError("a plan that nests without end")

    async def answer(request: SearchRequest, call: Call) -> SearchPage:
        call.emit("text", "one")
        call.emit("text", "two")
        return SearchPage()

    async with open_call_path(tmp_path) as opened:
        kind = replace(SEARCH, stream=Stream(listen))
        reply = await opened.calls.call(kind, SearchRequest(query="a"), answer, provider=FAKE)
    assert reply == SearchPage()
    assert heard == ["one"]


async def test_only_calls_of_earlier_sessions_count_as_replayed(tmp_path: Path) -> None:
    engine = FakeSearch(errors={"bad": [Denied("no")]})
    async with open_call_path(tmp_path) as opened:
        for query in ("a", "a"):
            await ask(opened, engine, query)
        for _ in range(2):
            with pytest.raises(CallFailed):
                await ask(opened, engine, "bad")
        assert opened.calls.store.replayed == set()
    async with open_call_path(tmp_path) as opened:
        await ask(opened, engine, "a")
        assert len(opened.calls.store.replayed) == 1
