"""What a run is likely to cost, before anything is paid: calls, tokens and money, task by task."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from leadline.assemble import House
from leadline.expecting import CHARACTERS_PER_TOKEN, PAGE, Expected, Scope
from leadline.models.chains import chain_of, performs
from leadline.models.declared import Declared, declared
from leadline.models.prices import Prices, cost
from leadline.pipeline import rounds
from leadline.records import Record, Usage
from leadline.runs.opening import pipeline_of
from leadline.tasks import instructions, reply_schema


class TaskEstimate(Record):
    """The calls of one task, and their tokens and USD where as many are made as is likely.

    `model` is empty where an algorithm does it: that costs nothing. `cost` is None where no price is known.
    """

    task: str
    asked_by: str
    provider: str
    model: str = ""
    calls: int = 0
    least: int = 0
    most: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal | None = None


class Estimate(Record):
    """All of it. `cost` is None where a price is missing, `unpriced` names the models; `basis` is what it rests on."""

    tasks: tuple[TaskEstimate, ...]
    queries: int
    calls: int
    least: int
    most: int
    input_tokens: int
    output_tokens: int
    cost: Decimal | None
    unpriced: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    """Tasks of which their plugins say nothing."""
    over: tuple[str, ...] = ()
    """Budgets that are likely to be spent before the end."""
    basis: tuple[str, ...] = ()


_COUNTED = ("calls", "least", "most", "input_tokens", "output_tokens")


async def estimate(house: House, question: str = "") -> Estimate:
    """Return what a run is likely to cost. Providers are made, and none is asked."""
    pipeline = pipeline_of(house, house.settings.pipeline)
    draws = bool(house.loaded.chosen.get("charts.runner"))
    scope = Scope(house.settings, rounds(pipeline), question, draws)
    chosen = declared(house.loaded.plugins.values())
    expected = {one.task.name: one.task.expects(scope) for one in chosen if one.task.expects}
    found = [await _task(house, one, expected[one.task.name]) for one in chosen if one.task.expects]
    asked = [one for one in found if one.model]
    costs = [one.cost for one in asked if one.calls]
    counts = {name: sum(getattr(one, name) for one in asked) for name in _COUNTED}
    return Estimate(
        tasks=tuple(found),
        queries=scope.queries(scope.rounds),
        **counts,
        cost=None if None in costs else sum(filter(None, costs), Decimal(0)),
        unpriced=tuple(dict.fromkeys(one.model for one in asked if one.cost is None)),
        unknown=tuple(one.task.name for one in chosen if not one.task.expects),
        over=tuple(_over(house, counts, costs)),
        basis=tuple(_basis(scope, [one for one in expected.values() if one.most])),
    )


async def _task(house: House, one: Declared, expected: Expected) -> TaskEstimate:
    choice = next(chain_of(house, house.loaded.chosen["ai.providers"], one.task.name, one.task.role))
    provider: Any = await choice.member.get()
    base = TaskEstimate(task=one.task.name, asked_by=one.plugin.name, provider=choice.member.name)
    if performs(provider):
        return base
    traits = provider.traits(choice.model)
    instructions = _instructions(house, one, traits.json_schema)
    usage = Usage(
        input_tokens=expected.likely * (expected.inputs + instructions), output_tokens=expected.likely * expected.reply
    )
    price = Prices(house.settings.ai.prices).of(choice.model or traits.model)
    return base.model_copy(
        update={
            "model": choice.model or traits.model or choice.member.name,
            "calls": expected.likely,
            "least": expected.least,
            "most": expected.most,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cost": None if price is None else cost(usage, price),
        }
    )


def _instructions(house: House, one: Declared, beside: bool) -> int:
    """Return the tokens of what is sent beside the inputs; a schema that goes `beside` the prompt is counted too."""
    prompt = house.settings.prompts.get(one.task.name, one.task.prompt)
    schema = len(json.dumps(reply_schema(one.task), ensure_ascii=False)) if beside else 0
    return (len(instructions(one.task, prompt)) + schema) // CHARACTERS_PER_TOKEN


def _over(house: House, counts: dict[str, int], costs: list[Decimal | None]) -> Iterator[str]:
    budget = house.settings.budget
    tokens = counts["input_tokens"] + counts["output_tokens"]
    if counts["calls"] > budget.model_calls:
        yield f"budget.model_calls = {budget.model_calls}: some {counts['calls']} calls are likely"
    if tokens > budget.tokens:
        yield f"budget.tokens = {budget.tokens:,}: some {tokens:,} tokens are likely"
    if counts["calls"] and not budget.money:
        yield "budget.money = 0: no model is asked"
    elif sum(filter(None, costs), Decimal(0)) > Decimal(str(budget.money)):
        yield f"budget.money = {budget.money:g}: more is likely"


def _basis(scope: Scope, expected: list[Expected]) -> Iterator[str]:
    yield f"{scope.rounds} of at most {scope.most_rounds} rounds" if scope.most_rounds > 1 else "one round"
    yield f"{scope.queries(scope.rounds)} searches, {scope.pages} pages of some {PAGE:,} characters"
    yield from dict.fromkeys(one.basis for one in expected if one.basis)
    yield "no retries, no repairs of unusable replies, no prompt cache, no charges of search engines"
