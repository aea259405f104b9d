from __future__ import annotations

import asyncio
from typing import Any

import pytest

from leadline.contracts import Search
from leadline.errors import CallFailed, JournalError
from leadline.records import Failure, Hit, SearchPage, SearchRequest
from leadline.settings import Settings
from leadline.testing.context import FakeCall
from leadline_plugins.strategies.batch import Batch, BatchSettings
from leadline_plugins.strategies.fallback import Fallback
from leadline_plugins.strategies.hybrid import Hybrid, HybridSettings
from leadline_plugins.strategies.parallel_search import fuse
from leadline_plugins.strategies.race import Race, RaceSettings

REQUEST = SearchRequest(query="depth", limit=3)


def page(*names: str) -> SearchPage:
    return SearchPage(hits=tuple(Hit(url=f"https://example.org/{name}") for name in names))


def names(found: SearchPage) -> list[str]:
    return [hit.url.rpartition("/")[2] for hit in found.hits]


def finds(*hits: str, after: float = 0, ended: list[str] | None = None, free: bool = False) -> Search:
    async def search(request: SearchRequest) -> SearchPage:
        try:
            await asyncio.sleep(after)
        except asyncio.CancelledError:
            if ended is not None:
                ended.append("cancelled")
            raise
        return page(*hits)

    return Search(search, free)


def fails(message: str) -> Search:
    async def search(request: SearchRequest) -> SearchPage:
        raise CallFailed(Failure(kind="search", provider="x", category="NETWORK", type="Unavailable", message=message))

    return Search(search)


def call(straggler: float = 2) -> FakeCall:
    class Run:
        settings = Settings.model_validate({"search": {"straggler": straggler}})

    fake = FakeCall()
    fake.run = Run()
    return fake


def batch(**settings: Any) -> Batch:
    return Batch(BatchSettings(**settings))


def race(**settings: Any) -> Race:
    return Race(RaceSettings(**settings))


def hybrid(**settings: Any) -> Hybrid:
    return Hybrid(HybridSettings(**settings))


def test_fusion_prefers_hits_of_several_engines() -> None:
    assert names(fuse([page("a", "b", "c"), page("c", "d")], 3)) == ["c", "a", "b"]


def test_fusion_keeps_one_hit_per_address_within_the_limit() -> None:
    assert names(fuse([page("a", "b"), page("a", "b")], 1)) == ["a"]


def test_fusion_joins_addresses_of_a_page_and_fills_fields() -> None:
    one = Hit(url="https://example.org/a?utm_source=x", title="A", engine="one", citable=False)
    two = Hit(url="http://m.example.org/a/", text="Whole", engine="two", labels=frozenset({"house"}))
    three = Hit(url="https://example.org/a", published="2020", engine="three", tier=2)
    merged = fuse([SearchPage(hits=(one,)), SearchPage(hits=(two, three))], 5).hits
    assert [(hit.url, hit.engine, hit.text, hit.published) for hit in merged] == [(two.url, "two", "Whole", "2020")]
    assert merged[0].labels == {"house"}


def test_fusion_keeps_the_first_suggestion() -> None:
    pages = [page("a"), page("b").model_copy(update={"suggestion": "harbour"}), page("c")]
    assert fuse(pages, 5).suggestion == "harbour"


def test_the_better_source_breaks_ties() -> None:
    blog, registry = Hit(url="https://blog.example/"), Hit(url="https://registry.example/", tier=1)
    assert fuse([SearchPage(hits=(blog,)), SearchPage(hits=(registry,))], 2).hits == (registry, blog)
    assert fuse([SearchPage(hits=(blog, registry))], 2).hits == (blog, registry)


async def test_batch_merges_all_engines() -> None:
    found = await batch().search(REQUEST, {"one": finds("a", "b"), "two": finds("b", "c")}, call())
    assert names(found) == ["b", "a", "c"]


async def test_batch_cancels_stragglers_after_their_time() -> None:
    ended: list[str] = []
    engines = {"one": finds("a"), "slow": finds("b", after=60, ended=ended)}
    found = await batch().search(REQUEST, engines, call(straggler=0.01))
    assert (names(found), ended) == (["a"], ["cancelled"])


@pytest.mark.parametrize("strategy", [batch(), hybrid(slow=0.01, enough=1)])
async def test_batch_waits_for_free_engines_without_limit(strategy: Any) -> None:
    engines = {"local": finds("b", after=0.1, free=True), "web": finds("a"), "slow": finds("c", after=60)}
    found = await strategy.search(REQUEST, engines, call(straggler=0.01))
    assert sorted(names(found)) == ["a", "b"]


async def test_batch_reports_dropped_engines() -> None:
    found = await batch().search(REQUEST, {"slow": finds("b", after=60), "one": finds("a")}, call(straggler=0.01))
    assert [failure.text for failure in found.failures] == ["search by slow: no answer within 0.01 s after the first"]


async def test_batch_stops_waiting_for_an_engine_that_is_often_late_and_tries_it_again() -> None:
    now = 0.0
    strategy = Batch(BatchSettings(patience=2, again=60), clock=lambda: now)

    async def waited() -> bool:
        engines = {"one": finds("a"), "slow": finds("b", after=60)}
        assert names(await strategy.search(REQUEST, engines, call(straggler=0.005))) == ["a"]
        return strategy._punctual.trusted("slow")

    assert [await waited(), await waited(), await waited()] == [True, False, False]
    unwaited = await strategy.search(REQUEST, {"one": finds("a"), "slow": finds("b", after=0.02)}, call())
    assert names(unwaited) == ["a"]
    now = 60.0
    again = await strategy.search(REQUEST, {"one": finds("a"), "slow": finds("b", after=0.02)}, call())
    assert names(again) == ["a", "b"]
    assert strategy._punctual.trusted("slow")


async def test_batch_waits_until_an_engine_has_hits() -> None:
    found = await batch().search(REQUEST, {"empty": finds(), "slow": finds("b", after=0.05)}, call(straggler=0.01))
    assert names(found) == ["b"]


@pytest.mark.parametrize("strategy", [batch(), Fallback(), race(), hybrid()])
async def test_every_failure_is_raised_if_all_engines_fail(strategy: Any) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        await strategy.search(REQUEST, {"one": fails("HTTP 500"), "two": fails("HTTP 502")}, call())
    assert [str(error) for error in caught.value.exceptions] == ["search by x: HTTP 500", "search by x: HTTP 502"]


async def test_fallback_uses_the_next_engine_after_an_empty_one() -> None:
    asked: list[str] = []
    engines = {"down": fails("x"), "empty": finds(), "good": finds("a"), "spare": finds("b")}
    assert names(await Fallback().search(REQUEST, noting(asked, engines), call())) == ["a"]
    assert asked == ["down", "empty", "good"]


async def test_fallback_over_empty_engines_is_no_failure() -> None:
    assert (await Fallback().search(REQUEST, {"down": fails("x"), "empty": finds()}, call())).hits == ()


def noting(asked: list[str], engines: dict[str, Search]) -> dict[str, Search]:
    def noted(name: str, engine: Search) -> Search:
        async def search(request: SearchRequest) -> SearchPage:
            asked.append(name)
            return await engine(request)

        return Search(search)

    return {name: noted(name, engine) for name, engine in engines.items()}


async def test_race_cancels_the_others_after_a_good_answer() -> None:
    ended: list[str] = []
    engines = {"slow": finds("s", after=60, ended=ended), "empty": finds(), "down": fails("x"), "good": finds("a", "b")}
    assert names(await race().search(REQUEST, engines, call())) == ["a", "b"]
    assert ended == ["cancelled"]


async def test_race_merges_all_pages_if_none_has_enough() -> None:
    engines = {"little": finds("a"), "much": finds("b", "c", after=0.02)}
    assert names(await race(enough=2).search(REQUEST, engines, call())) == ["b", "c"]
    assert names(await race(enough=3).search(REQUEST, engines, call())) == ["a", "b", "c"]
    assert (await race().search(REQUEST, {"empty": finds(), "down": fails("x")}, call())).hits == ()


@pytest.mark.parametrize(
    ("first", "asked", "found"),
    [
        (finds("a", "b", "c"), ["first"], ["a", "b", "c"]),
        (finds("a", "b"), ["first", "second"], ["a", "x", "b"]),
        (finds(), ["first", "second"], ["x", "y", "z"]),
        (fails("HTTP 500"), ["first", "second"], ["x", "y", "z"]),
        (finds("a", after=60), ["first", "second"], ["x", "y", "z"]),
    ],
    ids=["enough", "too little", "empty", "failing", "hanging"],
)
async def test_hybrid_starts_the_next_engine_if_hits_are_missing(
    first: Search, asked: list[str], found: list[str]
) -> None:
    said: list[str] = []
    engines = noting(said, {"first": first, "second": finds("x", "y", "z"), "third": finds("t")})
    assert names(await hybrid(slow=0.05, enough=3).search(REQUEST, engines, call())) == found
    assert said == asked


async def test_hybrid_uses_a_slow_engine_that_finishes_first() -> None:
    engines = {"slow": finds("a", "b", "c", after=0.06), "slower": finds("x", after=60)}
    assert names(await hybrid(slow=0.01).search(REQUEST, engines, call())) == ["a", "b", "c"]


async def test_hybrid_waits_for_the_last_engine_as_for_a_straggler() -> None:
    ended: list[str] = []
    engines = {"hangs": finds("a", after=60, ended=ended), "little": finds("b")}
    assert names(await hybrid(slow=0.01).search(REQUEST, engines, call(straggler=0.01))) == ["b"]
    assert ended == ["cancelled"]


@pytest.mark.parametrize("strategy", [batch(), race(), hybrid()])
async def test_a_bug_of_an_engine_is_raised_at_once(strategy: Any) -> None:
    async def broken(request: SearchRequest) -> SearchPage:
        raise JournalError("the disk is full")

    engines = {"broken": Search(broken), "slow": finds("a", after=60)}
    with pytest.raises(JournalError, match="the disk is full"):
        await asyncio.wait_for(strategy.search(REQUEST, engines, call()), 5)


@pytest.mark.parametrize("strategy", [batch(), race(), hybrid()])
async def test_a_cancelled_search_leaves_no_engine_running(strategy: Any) -> None:
    ended: list[str] = []
    engines = {"one": finds("a", after=60, ended=ended), "two": finds("b", after=60, ended=ended)}
    search = asyncio.create_task(strategy.search(REQUEST, engines, call()))
    await asyncio.sleep(0.01)
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    assert set(ended) == {"cancelled"}
    assert asyncio.all_tasks() == {asyncio.current_task()}
