"""Budgets: leased before, settled after, a part kept for the report."""

import asyncio
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.errors import Refused
from leadline.records import Usage
from leadline.runs.budget import Budget, Limits, Need, used_by

CALL = Need(model_calls=1, tokens=10)


def leases(budget: Budget, need: Need) -> int:
    """Return how many leases of this need the budget gives."""
    given = 0
    while given < 1000:
        try:
            budget.lease(need)
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
    assert leases(Budget(limits, reserve=0), Need(model_calls=1, tokens=10, money=Decimal("0.02"))) == given


def test_a_refusal_says_which_budget_and_how_to_raise_it() -> None:
    budget = Budget(Limits(model_calls=20), reserve=0.15)
    assert leases(budget, CALL) == 17
    with pytest.raises(
        Refused, match=r"model calls is spent: 17 of 20 taken, 3 kept for the report, 1 more wanted; raise"
    ):
        budget.lease(CALL)


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
        budget(limit).lease(need)
    except Refused as error:
        named = str(error).rpartition("=")[2]
        budget(float(named) if name == "money" else int(named)).lease(need)


def test_a_run_that_took_more_than_twice_its_limit_is_told_of_a_larger_one() -> None:
    budget = Budget(Limits(model_calls=3), reserve=0.0)
    budget.restore(Need(model_calls=6))
    with pytest.raises(Refused, match=r"6 of 3 taken, 1 more wanted; raise it with --set budget\.model_calls=7$"):
        budget.lease(CALL)


def test_settling_gives_back_what_was_not_used() -> None:
    budget = Budget(Limits(tokens=100), reserve=0)
    budget.settle(budget.lease(Need(tokens=100)), Need(tokens=30))
    assert budget.spent()["tokens"] == 30
    assert leases(budget, Need(tokens=35)) == 2


def test_once_over_the_limit_no_model_is_called() -> None:
    budget = Budget(Limits(tokens=100), reserve=0)
    budget.settle(budget.lease(CALL), Need(model_calls=1, tokens=150))
    with pytest.raises(Refused, match="tokens is spent: 150 of 100"):
        budget.lease(Need(model_calls=1))
    budget.lease(Need(queries=1))


def test_queries_have_no_reserve() -> None:
    assert leases(Budget(Limits(queries=20), reserve=0.5), Need(queries=1)) == 20


def test_a_small_limit_keeps_nothing_back() -> None:
    assert leases(Budget(Limits(model_calls=1), reserve=0.15), CALL) == 1


def test_closing_stages_see_their_reserve_and_others_do_not() -> None:
    budget = Budget(Limits(model_calls=100), reserve=0.2, closing_stages=("synthesize", "write"))
    assert leases(budget, CALL) == 80
    with budget.closing("synthesize"):
        assert budget.reserved
        assert leases(budget, CALL) == 10
    assert not budget.reserved
    with budget.closing("write"):
        assert leases(budget, CALL) == 10


@pytest.mark.parametrize(
    ("calls", "research", "sections", "summary", "checks"),
    [(3, 3, 3, 3, 3), (5, 4, 4, 5, 5), (15, 13, 14, 15, 15), (60, 51, 55, 58, 60)],
)
def test_the_summary_has_a_call_before_others_have_any(
    calls: int, research: int, sections: int, summary: int, checks: int
) -> None:
    budget = Budget(
        Limits(model_calls=calls),
        closing_stages=("sections", "summary", "checks", "export"),
        asking=("sections", "summary", "checks"),
    )
    seen = [budget.countable()["model_calls"]]
    for stage in ("sections", "summary", "checks"):
        with budget.closing(stage):
            seen.append(budget.countable()["model_calls"])
    assert seen == [research, sections, summary, checks]


def test_tokens_and_money_are_kept_for_those_that_ask_models() -> None:
    stages = ("sections", "summary", "checks", "export")
    limits = Limits(tokens=40_000, money=1.0, seconds=100)
    budget = Budget(limits, reserve=0.4, closing_stages=stages, asking=stages[:3], clock=lambda: 0.0)
    with budget.closing("sections"):
        assert leases(budget, Need(tokens=8_000)) == 4  # 32,000: a fifth is for those behind it
        assert budget.time_left() == pytest.approx(70)
    with budget.closing("summary"):
        assert leases(budget, Need(tokens=4_000)) == 1


async def test_who_would_be_over_waits_for_what_others_leave() -> None:
    budget = Budget(Limits(tokens=100), reserve=0)
    one, other = [await budget.lease_in_turn(Need(tokens=50)) for _ in range(2)]
    third = asyncio.create_task(budget.lease_in_turn(Need(tokens=50)))
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
    lease = budget.lease(Need(model_calls=1, money=Decimal("0.0425")))
    with pytest.raises(Refused, match="USD is spent"):
        budget.lease(Need(model_calls=1, money=Decimal("0.001")))
    budget.settle(lease, Need(model_calls=1, money=Decimal("0.006")))
    budget.lease(Need(model_calls=1, money=Decimal("0.02")))
    with pytest.raises(Refused, match=r"spent: budget.money = 0 allows nothing; raise it with --set budget.money=N$"):
        Budget(Limits(money=0.0)).lease(Need(model_calls=1))


def test_where_no_closing_stage_asks_a_model_nothing_but_time_is_kept() -> None:
    budget = Budget(Limits(model_calls=10, seconds=10), reserve=0.5, closing_stages=("write",), asking=())
    assert budget.countable() == {"model_calls": 10}
    assert budget.time_left() == pytest.approx(5, abs=0.1)


async def test_nobody_waits_for_what_cannot_come() -> None:
    budget = Budget(Limits(tokens=100, model_calls=2), reserve=0)
    with pytest.raises(Refused, match="tokens"):
        await budget.lease_in_turn(Need(tokens=101))
    budget.lease(Need(tokens=60))  # of a call that calls others: it may wait for this one
    with pytest.raises(Refused, match="tokens"):
        await budget.lease_in_turn(Need(tokens=50))
    await budget.lease_in_turn(Need(tokens=20, model_calls=2))
    async with asyncio.timeout(1):
        with pytest.raises(Refused, match="model calls"):  # which no call under way gives back
            await budget.lease_in_turn(Need(tokens=10, model_calls=1))


def test_what_a_closing_stage_leaves_is_everybodys() -> None:
    budget = Budget(Limits(model_calls=100), reserve=0.2, closing_stages=("synthesize", "write"))
    with budget.closing("synthesize"):
        pass
    assert leases(budget, CALL) == 90


def test_time_runs_by_the_clock_and_has_a_reserve() -> None:
    now = 100.0
    budget = Budget(Limits(seconds=10), reserve=0.2, clock=lambda: now)
    now = 107.0
    assert budget.time_left() == pytest.approx(1)
    with budget.closing("write"):
        assert budget.time_left() == pytest.approx(3)
    assert Budget(Limits()).time_left() is None


def test_earlier_sessions_count() -> None:
    budget = Budget(Limits(model_calls=5), reserve=0)
    budget.restore(Need(model_calls=3))
    assert leases(budget, CALL) == 2


def test_shares_go_by_the_order_of_the_items_and_not_of_arrival() -> None:
    budget = Budget(Limits(model_calls=7), reserve=0)
    shares = budget.share(3)
    given = []
    for share in reversed(shares):
        with share:
            given.append(leases(budget, CALL))
    assert given == [2, 2, 3]


def test_without_a_limit_shares_are_endless() -> None:
    budget = Budget(Limits(tokens=10**9))
    with budget.share(2)[0]:
        assert leases(budget, CALL) == 1000


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
def test_what_a_call_counts_for(usage: Usage | None, ended: Any, counted: Need) -> None:
    assert used_by(Need(1, 50, 0, Decimal("0.5")), usage, ended=ended) == counted


def test_needs_travel_as_json() -> None:
    need = Need(1, 2, 3, Decimal("0.04"))
    assert Need.load(need.dump()) == need
    assert Need.load({}) == Need()
