"""A budget that is spent ends a run with the report that what was found gives, and as partial."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def tools() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import emulator_use

        yield emulator_use


async def test_a_spent_budget_costs_the_prose_and_not_the_report(tools: Any, tmp_path: Path) -> None:
    with tools.emulator() as world:
        world.behave(first_token=0.01, tokens_per_second=5000, search=0.01, page=0.01)
        # Without the stages that are lost to a spent budget: what is told here is told by the one that does with less.
        bare = {"extends": "research", "without": ["compose", "chart"]}
        settings = {"budget.model_calls": 6, "pipelines": {"bare": bare}, "pipeline": "bare"}
        async with tools.client(world, tmp_path, settings) as runs:
            result = await runs.research(tools.question(4))
            again = await runs.replay(result.folder)
    assert result.status == again.status == "partial"
    assert result.reason == "calls were refused to synthesize: see the notices"
    assert result.report
    assert result.metadata.verification
    assert not result.metadata.verification["unknown_ids"]
    assert any("is quotes, for it was not written" in notice for notice in result.metadata.notices)
