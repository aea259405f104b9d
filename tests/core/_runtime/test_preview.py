"""Estimates of the cost of a run, by task."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import leadline
from leadline import hookspecs
from leadline.contracts import Call
from leadline.estimates import Estimate
from leadline.plugin import ai_provider
from leadline.records import ChatReply, ChatRequest, ModelTraits
from leadline.research_findings import QUESTION, Question, Review
from leadline.tasks import TaskKind
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin

PRICE: dict[str, Any] = {"ai.prices": {"own": {"input": 1, "output": 10}}}


class Silent:
    """Is there to be reckoned with; asked, it would fail the test."""

    def traits(self, model: str, /) -> ModelTraits:
        return ModelTraits(model="own")

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        raise AssertionError("an estimate asks nobody")


async def estimated(
    folder: Path, more: Mapping[str, Any] = MappingProxyType({}), question: str = "", extra: Any = ()
) -> Estimate:
    chat = plugin("chat", ai_provider("A chat", priced=True)(lambda: Silent()))
    values = {"ai.providers": ["chat"], "search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], **more}
    plugins = [fake_web(), chat, *extra]
    async with leadline.Client(plugins=plugins, folder=folder / "r", cache=folder / "c", set=values) as client:
        return await client.estimate(question)


def calls(found: Estimate, task: str) -> int:
    return next(one.calls for one in found.tasks if one.task == task)


async def test_a_run_without_a_model_costs_nothing(tmp_path: Path) -> None:
    found = await estimated(tmp_path, {"ai.providers": ["embedded"]})
    assert (found.calls, found.cost, found.unpriced) == (0, Decimal(0), ())
    assert {one.provider for one in found.tasks} == {"embedded"}


async def test_tokens_and_money_are_summed_over_the_tasks_of_models(tmp_path: Path) -> None:
    found = await estimated(tmp_path, PRICE | {"ai.tasks": {"plan": "chat", "query": "embedded"}})
    asked = [one for one in found.tasks if one.model]
    assert {one.model for one in asked} == {"own"}
    assert {one.task for one in found.tasks if not one.model} == {"query"}
    assert found.calls == sum(one.calls for one in asked)
    assert found.cost == Decimal(found.input_tokens + 10 * found.output_tokens) / 1_000_000
    assert any("3,300 words" in text for text in found.basis)


async def test_an_unknown_price_is_reported(tmp_path: Path) -> None:
    found = await estimated(tmp_path)
    assert found.cost is None
    assert found.unpriced == ("own",)


@pytest.mark.parametrize(
    ("key", "more"), [("report.length", 9_000), ("research.section_tokens", 5_000), ("research.first_queries", 20)]
)
async def test_more_queries_and_rounds_cost_more(tmp_path: Path, key: str, more: int) -> None:
    usual, much = await estimated(tmp_path), await estimated(tmp_path, {key: more})
    assert much.input_tokens > usual.input_tokens


async def test_a_budget_that_will_be_exceeded_is_named(tmp_path: Path) -> None:
    tight = {"budget.tokens": 20_000, "budget.model_calls": 5, "budget.money": 0.01}
    over = (await estimated(tmp_path, PRICE | tight)).over
    assert [text.partition(" ")[0] for text in over] == ["budget.model_calls", "budget.tokens", "budget.money"]
    assert (await estimated(tmp_path, PRICE)).over == ()
    without_money = await estimated(tmp_path, PRICE | {"budget.money": 0})
    assert without_money.over == ("budget.money = 0: no model will be called",)


async def test_a_task_without_an_estimate_is_named(tmp_path: Path) -> None:
    polish = TaskKind("polish", Question, Review)
    stage = hookspecs.stage("x", needs=(QUESTION,), uses=(polish,))(lambda: object())  # type: ignore[arg-type,return-value]
    pipelines = {"mine": {"extends": "research", "after": {"clarify": ["polisher"]}}}
    settings = {"pipelines": pipelines, "pipeline": "mine"}
    found = await estimated(tmp_path, settings, extra=[plugin("polisher", stage)])
    assert found.unknown == ("polish",)
