"""Turns: at once where nobody waits, else by who asked a model the longest ago, one in each turn of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import pairwise

import pytest

from leadline.concurrency.crowd import crowded, run_under_way
from leadline.concurrency.turns import Place


@pytest.fixture
def crowd() -> Iterator[None]:
    with run_under_way(), run_under_way():
        yield


async def test_a_single_run_waits_for_no_turn() -> None:
    assert not crowded()
    with run_under_way():
        assert not crowded()
    done: list[int] = []

    async def go(number: int) -> None:
        await Place().turn()
        done.append(number)

    tasks = [asyncio.create_task(go(number)) for number in range(5)]
    await asyncio.sleep(0)
    assert done == [0, 1, 2, 3, 4]
    await asyncio.gather(*tasks)


@pytest.mark.usefixtures("crowd")
async def test_the_one_that_asked_longest_ago_goes_first() -> None:
    first, second, third = Place(), Place(), Place()
    second.step_back()
    first.step_back()
    done: list[str] = []

    async def go(name: str, place: Place) -> None:
        await place.turn()
        done.append(name)

    await asyncio.gather(
        go("whoever comes first", first),
        go("asked last", first),
        go("asked before", second),
        go("never asked", third),
        go("asked last, again", first),
    )
    assert done == ["whoever comes first", "never asked", "asked before", "asked last", "asked last, again"]


@pytest.mark.usefixtures("crowd")
async def test_one_is_let_go_in_a_turn_of_the_loop() -> None:
    place, done, seen = Place(), [], []

    async def go(number: int) -> None:
        await place.turn()
        done.append(number)

    async def watch() -> None:
        while len(done) < 20:
            seen.append(len(done))
            await asyncio.sleep(0)

    await asyncio.gather(*(go(number) for number in range(20)), watch())
    assert max(after - before for before, after in pairwise(seen)) == 1
    assert done == list(range(20))


@pytest.mark.usefixtures("crowd")
async def test_whoever_is_cancelled_while_waiting_holds_nobody_up() -> None:
    place = Place()
    tasks = [asyncio.create_task(place.turn()) for _ in range(5)]
    await asyncio.sleep(0)
    tasks[2].cancel()
    ended = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
    assert [type(one) for one in ended] == [type(None), type(None), asyncio.CancelledError, type(None), type(None)]
    await asyncio.wait_for(place.turn(), 5)


@pytest.mark.usefixtures("crowd")
@pytest.mark.parametrize("_", range(2))
def test_each_event_loop_has_its_own_line(_: int) -> None:
    async def turns() -> int:
        place = Place()
        await asyncio.gather(*(place.turn() for _ in range(3)))
        return 3

    assert asyncio.run(turns()) == 3
