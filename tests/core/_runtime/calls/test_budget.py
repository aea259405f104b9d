"""Budgets: leased before, settled after, a part kept for the report."""

import asyncio
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline._runtime.calls.budget import Budget, Limits, used_by
from leadline._runtime.journal.rows import Need
from leadline.errors import Refused
from leadline.records import Usage

CALL = Need(model_calls=1, tokens=10)


def calls_left(budget: Budget) -> int:
    """Return how many model calls the running code may reserve; reserves none."""
    made = []
    with suppress(Refused):
        while True:
            made.append(budget.reserve(CALL))
    for reservation in made:
        budget.settle(reservation, Need())
    return len(made)


def reservations(budget: Budget, need: Need) -> int:
    """Return how many reservations of this need the budget allows."""
    given = 0
    while given < 1000:
        try:
            budget.reserve(need)
        except Refused:
            return given
        given += 1
    return given


@pytest.mark.parametrize(
    ("limits", "given"),
    [
        (Limits(model_calls=20), 20),
        (Limits(tokens=95), 9),
        (Limits(money=0.10), 5),
        (Limits(model_calls=0), 0),
        (Limits(queries=0), 1000),
        (Limits(), 1000),
    ],
)
def test_the_tightest_limit_holds(limits: Limits, given: int) -> None:
    assert reservations(Budget(limits, reserve=0), Need(model_calls=1, tokens=10, money=Decimal("0.02"))) == given


def test_a_refusal_says_which_budget_and_how_to_raise_it() -> None:
    budget = Budget(Limits(model_calls=20), reserve=0.15)
    assert reservations(budget, CALL) == 17
    with pytest.raises(
        Refused, match=r"model calls is spent: 17 of 20 taken, 3 kept for the report, 1 more wanted; raise"
    ):
        budget.reserve(CALL)


@pytest.mark.parametrize("reserve", [0.0, 0.15, 0.5])
@pytest.mark.parametrize("name", ["model_calls", "tokens", "queries", "money"])
@given(limit=st.integers(1, 50), taken=st.integers(0, 500), more=st.integers(0, 40))
def test_the_limit_that_a_refusal_names_is_enough(name: str, reserve: float, limit: int, taken: int, more: int) -> None:
    def amounts(amount: int) -> dict[str, Any]:
        return {name: Decimal(amount) / 7 if name == "money" else amount}

    def budget(limit: Any) -> Budget:
        made = Budget(Limits(**{name: limit}), reserve=reserve)
        made.restore(Need(**amounts(taken)))
        return made

    need = Need(**{"model_calls": 1, **amounts(more)})
    try:
        budget(limit).reserve(need)
    except Refused as error:
        named = str(error).rpartition("=")[2]
        budget(float(named) if name == "money" else int(named)).reserve(need)


def test_settling_returns_the_unused_part() -> None:
    budget = Budget(Limits(tokens=100), reserve=0)
    budget.settle(budget.reserve(Need(tokens=100)), Need(tokens=30))
    assert budget.spent()["tokens"] == 30
    assert reservations(budget, Need(tokens=35)) == 2


def test_once_over_the_limit_no_model_is_called() -> None:
    budget = Budget(Limits(tokens=100), reserve=0)
    budget.settle(budget.reserve(CALL), Need(model_calls=1, tokens=150))
    with pytest.raises(Refused, match="tokens is spent: 150 of 100"):
        budget.reserve(Need(model_calls=1))
    budget.reserve(Need(queries=1))


def test_queries_have_no_reserve() -> None:
    assert reservations(Budget(Limits(queries=20), reserve=0.5), Need(queries=1)) == 20


def test_a_small_limit_keeps_nothing_back() -> None:
    assert reservations(Budget(Limits(model_calls=1), reserve=0.15), CALL) == 1


def test_closing_stages_see_the_reserve_and_others_do_not() -> None:
    budget = Budget(Limits(model_calls=100), reserve=0.2)
    assert calls_left(budget) == 80
    with budget.closing():
        assert budget.in_closing_stage
        assert calls_left(budget) == 100
    assert not budget.in_closing_stage
    assert calls_left(budget) == 80


def test_whole_amounts_are_kept_rounded_and_money_exactly() -> None:
    assert [calls_left(Budget(Limits(model_calls=calls))) for calls in (3, 5, 15, 60)] == [3, 4, 13, 51]
    budget = Budget(Limits(money=0.1))
    budget.restore(Need(money=Decimal("0.05")))
    with pytest.raises(Refused, match=r"0\.05 of 0\.1 taken, 0\.015 kept for the report, 0\.036 more wanted"):
        budget.reserve(Need(money=Decimal("0.036")))


async def test_a_call_over_the_limit_waits_until_others_settle() -> None:
    budget = Budget(Limits(tokens=100), reserve=0)
    one, other = [await budget.reserve_in_turn(Need(tokens=50)) for _ in range(2)]
    third = asyncio.create_task(budget.reserve_in_turn(Need(tokens=50)))
    await asyncio.sleep(0)
    assert not third.done()
    budget.settle(one, Need(tokens=30))
    await asyncio.sleep(0.01)
    assert not third.done()
    budget.settle(other, Need(tokens=20))
    assert (await third).need == Need(tokens=50)
    assert budget.spent()["tokens"] == 100


async def test_a_first_call_is_let_through_whatever_it_may_cost() -> None:
    budget = Budget(Limits(money=0.04), reserve=0.15)
    lease = budget.reserve(Need(model_calls=1, money=Decimal("0.0425")))
    with pytest.raises(Refused, match="USD is spent"):
        budget.reserve(Need(model_calls=1, money=Decimal("0.001")))
    budget.settle(lease, Need(model_calls=1, money=Decimal("0.006")))
    budget.reserve(Need(model_calls=1, money=Decimal("0.02")))
    with pytest.raises(Refused, match=r"spent: budget.money = 0 allows nothing; raise it with --set budget.money=N$"):
        Budget(Limits(money=0.0)).reserve(Need(model_calls=1))


def test_only_time_is_reserved_if_no_closing_stage_asks_a_model() -> None:
    budget = Budget(Limits(model_calls=10, seconds=10), reserve=0.5, ask_models=False)
    assert calls_left(budget) == 10
    assert budget.time_left() == pytest.approx(5, abs=0.1)


async def test_a_call_does_not_wait_if_settling_cannot_free_enough() -> None:
    budget = Budget(Limits(tokens=100, model_calls=2), reserve=0)
    with pytest.raises(Refused, match="tokens"):
        await budget.reserve_in_turn(Need(tokens=101))
    budget.reserve(Need(tokens=60))  # of a call that calls others: it may wait for this one
    with pytest.raises(Refused, match="tokens"):
        await budget.reserve_in_turn(Need(tokens=50))
    await budget.reserve_in_turn(Need(tokens=20, model_calls=2))
    async with asyncio.timeout(1):
        with pytest.raises(Refused, match="model calls"):  # which no call under way gives back
            await budget.reserve_in_turn(Need(tokens=10, model_calls=1))


def test_a_budget_that_continues_another_has_its_time() -> None:
    now = 100.0
    earlier = Budget(Limits(seconds=10), clock=lambda: now)
    now = 104.0
    budget = Budget(Limits(seconds=10), reserve=0.0, clock=lambda: now)
    budget.keep_time(earlier)
    assert (budget.seconds(), budget.time_left()) == (4, 6)


def test_time_runs_by_the_clock_and_has_a_reserve() -> None:
    now = 100.0
    budget = Budget(Limits(seconds=10), reserve=0.2, clock=lambda: now)
    now = 107.0
    assert budget.time_left() == pytest.approx(1)
    with budget.closing():
        assert budget.time_left() == pytest.approx(3)
    assert Budget(Limits()).time_left() is None


def test_earlier_sessions_count() -> None:
    budget = Budget(Limits(model_calls=5), reserve=0)
    budget.restore(Need(model_calls=3))
    assert reservations(budget, CALL) == 2


@pytest.mark.parametrize(
    ("usage", "ended", "counted"),
    [
        (None, "reply", Need(1, 50, 0, Decimal("0.5"))),
        (None, "error", Need(1)),
        (None, "cut", Need(1, 50, 0, Decimal("0.5"))),
        (Usage(input_tokens=10, output_tokens=5), "reply", Need(1, 15, 0, Decimal("0.5"))),
        (Usage(input_tokens=10, cost=Decimal("0.1")), "reply", Need(1, 10, 0, Decimal("0.1"))),
        (Usage(input_tokens=10, cost=Decimal("0.1")), "cut", Need(1, 50, 0, Decimal("0.5"))),
        (Usage(input_tokens=90), "cut", Need(1, 90, 0, Decimal("0.5"))),
    ],
)
def test_an_attempt_counts_for_its_usage_or_its_reservation(usage: Usage | None, ended: Any, counted: Need) -> None:
    assert used_by(Need(1, 50, 0, Decimal("0.5")), usage, ended=ended) == counted


def test_needs_travel_as_json() -> None:
    need = Need(1, 2, 3, Decimal("0.04"))
    assert Need.load(need.dump()) == need
    assert Need.load({}) == Need()
