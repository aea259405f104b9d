"""A budget that is spent ends a run with the report that what was found gives, and as partial."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

QUICK = {"first_token": 0.01, "tokens_per_second": 20_000, "search": 0.01, "page": 0.01}


def unwritten(result: Any) -> list[str]:
    """Return the notices on sections that are passages because no model wrote them."""
    return [notice for notice in result.metadata.notices if "' was not written: " in notice]


@pytest.mark.slow
async def test_a_resume_with_a_larger_budget_finishes_the_report(tools: Any, tmp_path: Path) -> None:
    with tools.emulator() as world:
        world.behave(**QUICK)
        async with tools.client(world, tmp_path, {"budget.model_calls": 5}) as runs:
            first = await runs.research(tools.question(4))
        async with tools.client(world, tmp_path, {"budget.model_calls": 60}) as runs:
            second = await (await runs.resume(first.folder)).result()
        assert max(world.tally()["whole"].values()) == 1  # nothing that returned was paid for twice
    assert (first.status, second.status) == ("partial", "complete")
    assert unwritten(first)
    assert not unwritten(second)


@pytest.mark.slow
async def test_a_resumed_run_is_written_anew_where_the_prompt_of_writing_changed(tools: Any, tmp_path: Path) -> None:
    with tools.emulator() as world:
        world.behave(**QUICK)
        async with tools.client(world, tmp_path) as runs:
            first = await runs.research(tools.question(4))
        written = world.tally()["tasks"]
        world.behave(**QUICK)
        async with tools.client(world, tmp_path, {"prompts.synthesize": "Write like a pirate."}) as runs:
            second = await (await runs.resume(first.folder)).result()
        again = world.tally()["tasks"]
    assert (first.status, second.status) == ("complete", "complete")
    assert again["Written"] == written["Written"]
    assert "Plan" in written
    assert "Plan" not in again


@pytest.mark.parametrize("spent", [{"budget.model_calls": 0}, {"budget.tokens": 2000}])
async def test_a_budget_that_the_plan_alone_is_over_costs_the_model_and_not_the_report(
    tools: Any, tmp_path: Path, spent: dict[str, int]
) -> None:
    with tools.emulator() as world:
        world.behave(**QUICK)
        async with tools.client(world, tmp_path, spent) as runs:
            result = await runs.research(tools.question(4))
    assert result.status == "partial"
    assert result.report
    assert result.report.sources
    assert any(notice.startswith("no usable plan") for notice in result.metadata.notices)


async def test_a_small_budget_of_tokens_is_told_once_for_each_section_with_the_next_larger_one(
    tools: Any, tmp_path: Path
) -> None:
    with tools.emulator() as world:
        world.behave(**QUICK)
        async with tools.client(world, tmp_path, {"budget.tokens": 10_000}) as runs:
            result = await runs.research(tools.question(4))
            again = await runs.replay(result.folder)
    told = unwritten(result)
    assert told
    assert len({notice.partition(" was not written")[0] for notice in told}) == len(told)
    assert all(notice.endswith("raise it with --set budget.tokens=20000") for notice in told)
    assert result.report == again.report


@pytest.mark.parametrize("money", [0.08, pytest.param(0.12, marks=pytest.mark.slow)])
async def test_calls_side_by_side_do_not_spend_more_money_than_there_is(
    tools: Any, tmp_path: Path, money: float
) -> None:
    prices = {"emulated": {"input": 1, "output": 4}}
    with tools.emulator() as world:
        world.behave(**QUICK)
        async with tools.client(world, tmp_path, {"budget.money": money, "ai.prices": prices}) as runs:
            result = await runs.research(tools.question(4))
    assert result.status == "partial"
    assert money / 2 < result.metadata.usage["cost"] <= money


SLOW_PLAN = {"first_token": 0.01, "tokens_per_second": 30, "search": 0.01, "page": 0.01}


@pytest.mark.slow
async def test_time_that_is_spent_on_the_plan_costs_no_page_that_was_read_ahead_of_it(
    tools: Any, tmp_path: Path
) -> None:
    with tools.emulator() as world:
        world.behave(**SLOW_PLAN)
        async with tools.client(world, tmp_path, {"budget.seconds": 5}) as runs:
            first = await runs.research(tools.question(4))
            again = await runs.replay(first.folder)
        world.behave(**QUICK)
        async with tools.client(world, tmp_path, {"budget.seconds": 60}) as runs:
            resumed = await (await runs.resume(first.folder)).result()
    assert first.status == again.status == "partial"
    assert first.reason.startswith("the run's time is spent; more with --set budget.seconds=10; without digest")
    assert first.report == again.report
    assert first.report
    assert first.report.sources
    assert resumed.status == "complete"
    assert resumed.metadata.sessions == 2


async def test_a_run_whose_time_was_spent_before_it_found_anything_says_so(tools: Any, tmp_path: Path) -> None:
    with tools.emulator() as world:
        world.behave(**SLOW_PLAN, hanging=("alpha",))
        async with tools.client(world, tmp_path, {"budget.seconds": 1}) as runs:
            result = await runs.research(tools.question(4))
    assert (result.status, result.exit_code) == ("failed", 1)
    assert result.reason.startswith("the run's time is spent; more with --set budget.seconds=2; until then nothing was")


async def test_a_stop_while_the_report_is_written_asks_no_model_anew(tools: Any, tmp_path: Path) -> None:
    with tools.emulator() as world:
        world.behave(**QUICK)
        async with tools.client(world, tmp_path) as runs:
            handle = await runs.start(tools.question(4))
            async for event in handle.events():
                if event.kind == "progress" and (event.data["step"], event.data["status"]) == ("synthesize", "started"):
                    handle.stop("stopped by the test")
            first = await handle.result()
            assert world.tally()["tasks"].get("Written", 0) <= 5
            second = await (await runs.resume(first.folder)).result()
        assert max(world.tally()["whole"].values()) == 1  # nothing that returned was paid for twice
    assert (first.status, first.exit_code, second.status) == ("partial", 130, "complete")
    assert first.report
    assert not unwritten(second)


@pytest.mark.slow
async def test_a_stop_binds_no_other_session_though_this_one_was_cancelled_after_it(tools: Any, tmp_path: Path) -> None:
    def at(event: Any) -> tuple[Any, Any]:
        return event.kind, event.data.get("kind") or event.data.get("step")

    with tools.emulator() as world:
        world.behave(**SLOW_PLAN)
        async with tools.client(world, tmp_path) as runs:
            handle = await runs.start(tools.question(4))
            async for event in handle.events():
                if at(event) == ("call.finished", "read"):
                    handle.stop("stopped by the test")
                elif at(event) == ("progress", "synthesize"):
                    break
            await handle.cancel()
            world.behave(**QUICK)
            second = await (await runs.resume(handle.folder)).result()
    assert (second.status, second.reason) == ("complete", "")
    assert not second.metadata.notices
