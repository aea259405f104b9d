"""Charts that are done side by side: the same ones as if each had waited for the one before."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.charts.draft import Draft
from leadline_plugins.charts.tasks import PlannedChart
from leadline_plugins.stages.drafted_charts import _each

GIVEN_UP = "it was given up after others had failed"


class Side:
    """As much of a run as is asked for."""

    def __init__(self, most: int) -> None:
        self.settings = SimpleNamespace(charts=SimpleNamespace(max_failures=most))
        self.said: list[str] = []

    async def each(self, items: Any, do: Any) -> list[Any]:
        return list(await asyncio.gather(*map(do, items)))

    async def emit(self, kind: str, data: Any) -> None:
        self.said.append(data["message"])


def one_after_the_other(fail: list[bool], most: int) -> list[bool]:
    """Return which are done."""
    in_a_row = 0
    for place, failed in enumerate(fail, start=1):
        in_a_row = in_a_row + 1 if failed else 0
        if in_a_row >= most:
            return [True] * place + [False] * (len(fail) - place)
    return [True] * len(fail)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=9), st.integers(1, 4))
def test_what_is_done_and_given_up_is_the_same(charts: list[tuple[bool, bool]], most: int) -> None:
    fail = [doubtful and failed for doubtful, failed in charts]
    drafts = [Draft(PlannedChart(title=f"{n}", chart_type="bar"), n) for n in range(len(charts))]
    done: list[int] = []

    async def do(draft: Draft) -> None:
        done.append(draft.place)
        draft.problem = "wrong" if fail[draft.place] else ""

    side: Any = Side(most)
    asyncio.run(_each(side, drafts, do, fails=lambda draft: charts[draft.place][0]))
    expected = one_after_the_other(fail, most)
    assert sorted(done) == [place for place, is_done in enumerate(expected) if is_done]
    assert [draft.problem == GIVEN_UP for draft in drafts] == [not is_done for is_done in expected]
    told = [f"the chart '{place}' was not drawn: wrong" for place in sorted(done) if fail[place]]
    assert [said for said in side.said if "was not drawn" in said] == told
