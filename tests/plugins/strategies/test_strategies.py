from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from leadline.errors import CallFailed
from leadline.records import Failure, Hit, SearchPage, SearchRequest
from leadline.settings_model import Settings
from leadline.testing.context import FakeCall
from leadline_plugins.strategies.batch import Batch
from leadline_plugins.strategies.fallback import Fallback
from leadline_plugins.strategies.fusing import fuse

REQUEST = SearchRequest(query="depth", limit=3)
Engine = Callable[[SearchRequest], Awaitable[SearchPage]]


def page(*names: str) -> SearchPage:
    return SearchPage(hits=tuple(Hit(url=f"https://example.org/{name}") for name in names))


def names(found: SearchPage) -> list[str]:
    return [hit.url.rpartition("/")[2] for hit in found.hits]


def finds(*hits: str, after: float = 0, ended: list[str] | None = None) -> Engine:
    async def search(request: SearchRequest) -> SearchPage:
        try:
            await asyncio.sleep(after)
        except asyncio.CancelledError:
            if ended is not None:
                ended.append("cancelled")
            raise
        return page(*hits)

    return search


def fails(message: str) -> Engine:
    async def search(request: SearchRequest) -> SearchPage:
        raise CallFailed(Failure(kind="search", provider="x", category="NETWORK", type="Unavailable", message=message))

    return search


def call(straggler: float = 2) -> FakeCall:
    class Run:
        settings = Settings.model_validate({"search": {"straggler": straggler}})

    fake = FakeCall()
    fake.run = Run()
    return fake


def test_fusion_prefers_what_several_engines_found() -> None:
    assert names(fuse([page("a", "b", "c"), page("c", "d")], 3)) == ["c", "a", "b"]


def test_fusion_keeps_one_hit_an_address_and_no_more_than_the_limit() -> None:
    assert names(fuse([page("a", "b"), page("a", "b")], 1)) == ["a"]


async def test_batch_merges_all_engines() -> None:
    found = await Batch().search(REQUEST, {"one": finds("a", "b"), "two": finds("b", "c")}, call())
    assert names(found) == ["b", "a", "c"]


async def test_batch_waits_for_stragglers_only_so_long_and_ends_them() -> None:
    ended: list[str] = []
    engines = {"one": finds("a"), "slow": finds("b", after=60, ended=ended)}
    found = await Batch().search(REQUEST, engines, call(straggler=0.01))
    assert (names(found), ended) == (["a"], ["cancelled"])


async def test_batch_does_not_hurry_an_engine_while_the_others_found_nothing() -> None:
    found = await Batch().search(REQUEST, {"empty": finds(), "slow": finds("b", after=0.05)}, call(straggler=0.01))
    assert names(found) == ["b"]


@pytest.mark.parametrize("strategy", [Batch(), Fallback()])
async def test_when_all_fail_each_is_told(strategy: Any) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        await strategy.search(REQUEST, {"one": fails("HTTP 500"), "two": fails("HTTP 502")}, call())
    assert [str(error) for error in caught.value.exceptions] == ["search by x: HTTP 500", "search by x: HTTP 502"]


async def test_fallback_asks_the_next_only_when_the_first_brings_nothing() -> None:
    asked: list[str] = []

    def noting(name: str, engine: Engine) -> Engine:
        async def search(request: SearchRequest) -> SearchPage:
            asked.append(name)
            return await engine(request)

        return search

    engines = {"down": fails("x"), "empty": finds(), "good": finds("a"), "spare": finds("b")}
    wrapped = {name: noting(name, engine) for name, engine in engines.items()}
    assert names(await Fallback().search(REQUEST, wrapped, call())) == ["a"]
    assert asked == ["down", "empty", "good"]


async def test_fallback_over_empty_engines_finds_nothing_and_says_no_failure() -> None:
    assert (await Fallback().search(REQUEST, {"down": fails("x"), "empty": finds()}, call())).hits == ()
